/**
 * The beam: a row a depth, the contexts that live there side by side, joined by lines to what they grew from.
 *
 * Rows are a grid for the keyboard: left and right move within a depth, up to the parent, down to the best child, Enter
 * or a click opens the context for a change.  New levels are added without touching those that stand.
 */

import { partMarks, showTokens, spoken } from "./context.js";
import { h, number, refill } from "./dom.js";
import { loser, unlisted, why } from "./inspect.js";
import { drawLines } from "./lines.js";
import { markedWay, parentOf } from "./state.js";

/**
 * @typedef {{branch: import("./state.js").Branch, level: number, place: number, lost?: boolean}} Spot
 *   level -1: the start; `lost`: the place is one of what lost at that level.
 */

export class BeamView {
  /**
   * @param {HTMLElement} root
   * @param {{open: (spot: Spot) => void, look: (spot: Spot|null, label: number|null) => void,
   *   start: () => import("./state.js").Token[]}} calls
   */
  constructor(root, calls) {
    this.root = root;
    this.calls = calls;
    this.shown = { branch: null, levels: 0, ends: null };
    this.lostOpen = false;
    this.focus = { level: -1, place: 0 };
    new ResizeObserver(() => this.lines()).observe(root);
    root.addEventListener("click", (event) => this.onClick(event));
    root.addEventListener("keydown", (event) => this.onKey(event));
    root.addEventListener("focusin", (event) => this.onLook(event));
    root.addEventListener("pointerover", (event) => this.onLook(event));
    root.addEventListener("pointerleave", () => this.light(null));
  }

  /** Show the store's active branch: add new levels, or draw anew. @param {import("./state.js").Store} store */
  draw(store) {
    const { branch } = store;
    this.settings = store.settings ?? {};
    this.rewritten = false; // a context of the user's need not have the template's shape
    for (let ancestor = branch; ancestor; ancestor = store.find(ancestor.parent))
      this.rewritten ||= (ancestor.edit?.context ?? null) !== null;
    if (!branch) {
      this.root.replaceChildren();
      this.shown = { branch: null, levels: 0 };
      return;
    }
    if (this.shown.branch !== branch || this.shown.levels > branch.levels.length) {
      this.branch = branch;
      this.focus = { level: -1, place: 0 };
      this.svg = null;
      this.calls.look(null, null);
      refill(this.root, this.startRow());
      this.shown = { branch, levels: 0 };
    }
    for (let level = this.shown.levels; level < branch.levels.length; level += 1) this.root.append(this.row(level));
    this.shown.levels = branch.levels.length;
    this.way = markedWay(branch, store.view.chosen);
    this.mark();
    this.lines();
  }

  startRow() {
    const { branch } = this;
    const tokens = this.calls.start();
    const changed = branch.start !== undefined;
    const tags = changed ? [tag("edited", "edited by you")] : [];
    const card = h(
      "div",
      {
        class: `card start${changed ? " is-edited" : ""}`,
        role: "gridcell",
        tabindex: "0",
        "data-level": -1,
        "data-place": 0,
      },
      h("p", { class: "context", dir: "auto" }, showTokens(tokens)),
      tags.length ? h("p", { class: "tags" }, tags) : null,
    );
    card.setAttribute("aria-label", `Depth 1, the start: ${spoken(tokens)}`);
    return h(
      "div",
      { class: "level", role: "row" },
      header(1),
      h("div", { class: "cards" }, card),
      h("div", { class: "lost", role: "gridcell" }),
    );
  }

  row(level) {
    const { branch } = this;
    const { beam, lost } = branch.levels[level];
    const depth = branch.levels[0].depth + level; // also where only finished contexts stayed, and none is so deep
    const best = Math.max(...beam.map((node) => node.score));
    const sent = level === branch.fixed - 1 ? branch.sent : null;
    const cards = beam.map((node, place) => this.card(node, level, place, best, sent && !sent.includes(place)));
    const row = h("div", { class: "level", role: "row", "data-row": level }, header(depth));
    if (level >= branch.fixed) row.classList.add("arriving");
    row.append(h("div", { class: "cards" }, cards));
    row.append(h("div", { class: "lost", role: "gridcell" }, lost.length > 0 && this.lostBox(level, best)));
    return row;
  }

  card(node, level, place, best, leftOut) {
    const { branch } = this;
    const from = parentOf(branch, level, node);
    const parent = level ? branch.levels[level - 1].beam[from]?.tokens : this.calls.start();
    const marks = parent ? partMarks(parent, node) : [];
    const carried = level > 0 && from !== null && branch.levels[level - 1].beam[from].finished;
    const hard = this.settings.template && this.settings.control === "hard" && !this.rewritten;
    const tags = [
      node.was !== undefined && tag("edited", "edited by you"),
      node.pins?.length > 0 && tag("edited", "pinned by you"),
      node.was === undefined && !node.pins?.length && node.edited && level > 0 && tag("edited", "from your edit"),
      (node.rewarded || hard) && tag("match", "fits the template"),
      node.finished && tag("end", "finished"),
      leftOut && tag("end", "not grown on"),
    ];
    const kinds = [
      leftOut && "left-out",
      carried && "carried",
      node.was !== undefined && "is-edited",
      node.finished && "is-finished",
    ];
    const origin = level && from !== null ? `from ${branch.levels[level - 1].depth}.${from + 1}` : "";
    const card = h(
      "div",
      {
        class: ["card", ...kinds.filter(Boolean)].join(" "),
        role: "gridcell",
        tabindex: "-1",
        "data-level": level,
        "data-place": place,
      },
      h("p", { class: "context", dir: "auto" }, showTokens(node.tokens, marks)),
      bar(node.score, best),
      h("p", { class: "tags" }, h("span", { class: "origin" }, origin), tags),
    );
    const words = tags.filter(Boolean).map((element) => element.textContent);
    const rank = `Depth ${branch.levels[level].depth}, ${place + 1} of ${branch.levels[level].beam.length}`;
    const said = [`${rank}: ${spoken(node.tokens)}`, `score ${number(node.score)}`, ...words];
    card.setAttribute("aria-label", said.join("; "));
    return card;
  }

  lostBox(level, best) {
    const { lost, beam, more_lost: more } = this.branch.levels[level];
    const items = lost.map((node, place) =>
      h(
        "li",
        { "data-parent": node.parent },
        loser(node, why(node, best), () => this.calls.open({ branch: this.branch, level, place, lost: true })),
      ),
    );
    const summary = h(
      "summary",
      {},
      `${lost.length + more} lost`,
      h("span", { class: "unseen" }, ` at depth ${beam[0]?.depth}`),
    );
    return h("details", { ontoggle: () => this.lines() }, summary, h("ul", {}, items, unlisted(more)));
  }

  /** Mark the way to the chosen output. */
  mark() {
    for (const card of this.cards()) {
      const { level, place } = spotOf(card);
      const on = level < 0 || this.way[level] === place;
      card.classList.toggle("on-way", on);
      if (on && level >= 0 && level === this.branch.levels.length - 1) card.setAttribute("aria-current", "true");
      else card.removeAttribute("aria-current");
      const node = this.branch.levels[level]?.beam[place];
      if (node?.reason && !card.querySelector(".tag-out")) card.querySelector(".tags").append(tag("out", "left out"));
    }
  }

  lines() {
    if (this.branch && this.shown.branch) this.svg = drawLines(this.root, this.svg, this.branch, this.way ?? []);
  }

  /** Put the focus on the marked context of a level, without moving the page. */
  focusWay(level) {
    this.at(level, this.way?.[level] ?? 0)?.focus({ preventScroll: true });
  }

  cards() {
    return [...this.root.querySelectorAll(".card")];
  }

  at(level, place) {
    return this.root.querySelector(`.card[data-level="${level}"][data-place="${place}"]`);
  }

  onClick(event) {
    const card = event.target.closest(".card");
    if (card) this.calls.open({ branch: this.branch, ...spotOf(card) });
  }

  onKey(event) {
    const card = event.target.closest(".card");
    if (!card || event.altKey || event.ctrlKey || event.metaKey) return;
    const { level, place } = spotOf(card);
    const { levels } = this.branch;
    const moves = {
      ArrowRight: () => this.at(level, place + 1),
      ArrowLeft: () => this.at(level, place - 1),
      ArrowUp: () => this.at(level - 1, level > 0 ? (parentOf(this.branch, level, levels[level].beam[place]) ?? 0) : 0),
      ArrowDown: () => this.at(level + 1, this.bestChild(level, place)),
      Home: () => this.at(level, 0),
      End: () => this.at(level, (levels[level]?.beam.length ?? 1) - 1),
    };
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.calls.open({ branch: this.branch, level, place });
    } else if (moves[event.key]) {
      event.preventDefault();
      moves[event.key]()?.focus();
    }
  }

  bestChild(level, place) {
    const next = this.branch.levels[level + 1]?.beam ?? [];
    const child = next.findIndex((node) => level < 0 || parentOf(this.branch, level + 1, node) === place);
    return Math.max(0, child);
  }

  onLook(event) {
    const card = event.target.closest(".card");
    if (!card) return;
    if (event.type === "focusin") {
      this.root.querySelector('.card[tabindex="0"]')?.setAttribute("tabindex", "-1");
      card.setAttribute("tabindex", "0");
    }
    const chip = event.target.closest("[data-label]");
    const part = event.target.closest("[data-part]");
    const spot = { branch: this.branch, ...spotOf(card) };
    this.light(spot, chip && Number(chip.dataset.label), !chip && part ? Number(part.dataset.part) : null);
    this.calls.look(spot, chip ? Number(chip.dataset.label) : null);
  }

  /** Light up a label and what it became, or a part and the label that it was. */
  light(spot, label = null, part = null) {
    for (const lit of this.root.querySelectorAll(".lit")) lit.classList.remove("lit");
    if (!spot) return;
    if (label !== null) {
      this.at(spot.level, spot.place)?.querySelector(`[data-label="${label}"]`)?.classList.add("lit");
      this.branch.levels[spot.level + 1]?.beam.forEach((node, place) => {
        if (spot.level >= 0 && parentOf(this.branch, spot.level + 1, node) !== spot.place) return;
        for (const token of this.at(spot.level + 1, place).querySelectorAll(`[data-part="${label}"]`))
          token.classList.add("lit");
      });
    }
    if (part !== null && spot.level >= 0) {
      const from = parentOf(this.branch, spot.level, this.branch.levels[spot.level].beam[spot.place]) ?? 0;
      for (const token of this.at(spot.level, spot.place).querySelectorAll(`[data-part="${part}"]`))
        token.classList.add("lit");
      this.at(spot.level - 1, from)
        ?.querySelector(`[data-label="${part}"]`)
        ?.classList.add("lit");
    }
  }
}

const spotOf = (card) => ({ level: Number(card.dataset.level), place: Number(card.dataset.place) });

const tag = (kind, text) => h("span", { class: `tag tag-${kind}` }, text);

function header(depth) {
  return h("div", { class: "depth", role: "rowheader" }, h("span", { class: "unseen" }, "depth "), depth);
}

/** The score, and how likely the context is beside the best one of its depth. */
function bar(score, best) {
  const inside = h("span", { class: "bar-fill" });
  inside.style.setProperty("--share", String(Math.min(1, Math.exp(score - best))));
  return h(
    "p",
    { class: "score" },
    h("span", { class: "bar", "aria-hidden": "true" }, inside),
    h("span", {}, number(score)),
  );
}
