/**
 * What the page knows: the settings of the growth, its branches, which one is looked at, and the way back.
 *
 * A branch is one search: the levels that arrived, and the outputs.  A branch that grew from an edit shares its
 * parent's levels up to the edited one and goes on from there; the parent stays as it was.
 *
 * @typedef {{text: string, label: boolean, new: boolean}} Token
 * @typedef {{label: string, became: string, score: number}} Part
 * @typedef {{state: string, context: string, tokens: Token[], score: number, depth: number, parent: number|null,
 *   finished: boolean, edited: boolean, rewarded: boolean, reason: string|null, infill_score: number, parts: Part[],
 *   was?: string, pins?: {label: number, words: string}[]}} BeamNode
 *   `was` and `pins`: what the user changed here, and what it was before.
 * @typedef {{depth: number, beam: BeamNode[], lost: BeamNode[], more_lost: number, sent?: number[]}} Level
 *   `more_lost`: how many lost that are not listed.
 *   `sent`: at the first level after an edit, the branch's `sent`, in which parents count.
 * @typedef {{text: string, score: number, rank_score: number|null, note: string|null, tree: string|null, levels: string[], trace: object[]}} Output
 * @typedef {{words: string[], labels: string[]}} Wish
 * @typedef {{level: number, node: number, context: string|null, pins: {label: number, words: string}[],
 *   require: Wish, forbid: Wish, keep: boolean, lost?: boolean}} Edit
 *   `level` is an index into the branch's levels, -1 for the start; `context` is null where only wishes were made;
 *   `lost`: the node is one of what lost at that level, and is taken into the beam.
 * @typedef {{id: number, parent: number|null, edit: Edit|null, start?: string, fixed: number, levels: Level[],
 *   sent?: number[], rerank?: string, outputs: Output[], ends: number[], status: "growing"|"done"|"stopped"}} Branch
 *   `start`: the first context, where the user changed it here or in a branch before; `fixed`: how many levels are the parent's; `sent`: which nodes of the last of those were grown on;
 *   `ends`: for each output the place of its context in the last beam.
 */

import { readContext } from "./context.js";

/** @typedef {{branches: Branch[], active: number, beside: number|null, chosen: number}} View */

const EMPTY = { branches: [], active: 0, beside: null, chosen: 0 };

export class Store {
  constructor() {
    /** The settings that the branches were grown with, as the request carries them. @type {object|null} */
    this.settings = null;
    /** @type {View} */
    this.view = EMPTY;
    this.past = [];
    this.future = [];
    this.listeners = [];
    this.nextId = 1;
  }

  /** Call `listener` after each change. */
  watch(listener) {
    this.listeners.push(listener);
  }

  changed() {
    for (const listener of this.listeners) listener(this);
  }

  /** @returns {Branch|undefined} */
  get branch() {
    return this.find(this.view.active);
  }

  /** @returns {Branch|undefined} */
  find(id) {
    return this.view.branches.find((branch) => branch.id === id);
  }

  /** Begin anew with those settings. @returns {Branch} */
  begin(settings) {
    this.remember();
    const branch = this.make(null, null, []);
    this.settings = settings;
    this.view = { branches: [branch], active: branch.id, beside: null, chosen: 0 };
    this.changed();
    return branch;
  }

  /** A branch from an edit of the active one. @param {Edit} edit @returns {Branch} */
  fork(edit) {
    this.remember();
    const parent = this.branch;
    const branch = this.make(parent.id, edit, parent.levels.slice(0, edit.level + 1));
    branch.start = edit.level < 0 ? (edit.context ?? parent.start) : parent.start;
    const last = branch.levels.at(-1);
    if (last) {
      const taken = edit.lost ? last.lost[edit.node] : last.beam[edit.node];
      const beam = edit.lost ? [...last.beam, taken] : last.beam;
      const place = edit.lost ? last.beam.length : edit.node;
      branch.sent = edit.keep ? beam.map((_, index) => index) : [place];
      branch.levels[branch.fixed - 1] = {
        ...last,
        beam: beam.with(place, edited(taken, edit)),
        lost: last.lost.filter((node) => node !== taken),
      };
    }
    this.view = { branches: [...this.view.branches, branch], active: branch.id, beside: null, chosen: 0 };
    this.changed();
    return branch;
  }

  make(parent, edit, levels) {
    const id = this.nextId;
    this.nextId += 1;
    return { id, parent, edit, fixed: levels.length, levels, outputs: [], ends: [], status: "growing" };
  }

  /** Take back a branch that did not grow at all. */
  drop(branch) {
    if (!this.view.branches.includes(branch)) return;
    if (this.view.active === branch.id) [this.settings, this.view] = this.past.pop() ?? [null, EMPTY];
    else this.view = { ...this.view, branches: this.view.branches.filter((other) => other !== branch) };
  }

  /** Look at another branch, another output, or two branches beside each other; not a step to undo. */
  look(change) {
    this.view = { ...this.view, ...change };
    this.changed();
  }

  remember() {
    if (this.view.branches.length) this.past.push([this.settings, this.view]);
    this.future = [];
  }

  undo() {
    this.travel(this.past, this.future);
  }

  redo() {
    this.travel(this.future, this.past);
  }

  travel(from, to) {
    if (!from.length) return;
    to.push([this.settings, this.view]);
    [this.settings, this.view] = from.pop();
    this.changed();
  }
}

/** A node as the edit left it; what it was stays beside it. */
function edited(node, edit) {
  const marked = { ...node, edited: true, pins: edit.pins };
  if (edit.context === null) return marked;
  return { ...marked, was: node.was ?? node.context, context: edit.context, tokens: readContext(edit.context) };
}

/** The parent of a node in the level before it, or null at the start. @param {Branch} branch */
export function parentOf(branch, level, node) {
  if (level === 0 || node.parent === null) return null;
  const { sent } = branch.levels[level];
  const place = sent ? (sent[node.parent] ?? null) : node.parent;
  return place !== null && place < branch.levels[level - 1].beam.length ? place : null;
}

/**
 * The way to a place in the last beam: its index in each level's beam, from the first level on.
 * @param {Branch} branch @param {number} end @returns {number[]}
 */
export function wayTo(branch, end) {
  const way = [];
  let place = end;
  for (let level = branch.levels.length - 1; level >= 0 && place !== null; level -= 1) {
    way.unshift(place);
    const node = branch.levels[level].beam[place];
    place = node ? parentOf(branch, level, node) : null;
  }
  while (way.length < branch.levels.length) way.unshift(-1);
  return way;
}

/** The way that is marked: to the chosen output, or to the best context while it grows. @param {Branch} branch */
export function markedWay(branch, chosen) {
  return branch.levels.length ? wayTo(branch, branch.ends[chosen] ?? 0) : [];
}

/** A branch's name for people: A, B, C... in the order they were made. */
export function nameOf(view, id) {
  const place = view.branches.findIndex((branch) => branch.id === id);
  return place < 26 ? String.fromCharCode(65 + place) : `A${place - 25}`;
}

/** Whether an edit changes nothing at all. @param {Edit} edit */
export function isEmpty(edit) {
  const wishes = [edit.require, edit.forbid].every((wish) => !wish.words.length && !wish.labels.length);
  return edit.context === null && !edit.pins.length && wishes;
}
