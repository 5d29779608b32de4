/** What one context became and what lost beside it, in words and numbers. */

import { chip, showText, showTokens } from "./context.js";
import { h, number, refill } from "./dom.js";
import { parentOf } from "./state.js";

const MOST = 6;

/**
 * Fill a panel with what is known about a context.
 * @param {HTMLElement} panel
 * @param {import("./beam.js").Spot} spot
 * @param {number|null} label the open label that is pointed at, if one is
 * @param {import("./state.js").Token[]} start
 * @param {(spot: import("./beam.js").Spot, pin?: {label: number, words: string}) => void} open opens a context for a
 *   change, with a label pinned to what it became here
 */
export function inspect(panel, spot, label, start, open) {
  const { branch, level, place, lost = false } = spot;
  const node = lost ? branch.levels[level].lost[place] : branch.levels[level]?.beam[place];
  const tokens = node ? node.tokens : start;
  const labels = tokens.filter((token) => token.label).map((token) => token.text);
  const next = lost ? undefined : branch.levels[level + 1];
  const mine = (other) => (level < 0 ? true : parentOf(branch, level + 1, other) === place);
  const depth = node ? branch.levels[level].depth : 1;
  /** What can be done with an alternative: fix it in this context, or go on from the context that it stands in. */
  const acts = (other, label, words) => {
    const kept = next.beam.indexOf(other);
    const there = { branch, level: level + 1, place: kept < 0 ? next.lost.indexOf(other) : kept, lost: kept < 0 };
    return h(
      "span",
      { class: "acts" },
      act("Pin", `Pin “${words}” here`, () => open(spot, { label: label + 1, words })),
      act("Grow", `Grow on from the context with “${words}”`, () => open(there)),
    );
  };
  refill(
    panel,
    h(
      "h3",
      {},
      `Depth ${depth}`,
      node &&
        h("span", { class: "faint" }, lost ? ", lost" : `, ${place + 1} of ${branch.levels[level].beam.length}`),
    ),
    h("p", { class: "context", dir: "auto" }, showTokens(tokens.map((token) => ({ ...token, new: false })))),
    node?.was !== undefined && h("p", { class: "faint" }, "It was: ", h("span", { dir: "auto" }, showText(node.was))),
    node && node.was === undefined && origin(node),
    node && !labels.length && h("p", { class: "faint" }, "No label is open: this is a finished text."),
    node?.reason && !lost && h("p", { class: "faint" }, `Left out of the texts: ${node.reason}.`),
    next && labels.length ? becoming(labels, next, mine, label, acts) : null,
    node && losers(branch.levels[level], (lostPlace) => open({ branch, level, place: lostPlace, lost: true })),
  );
}

/** How the context came about. */
function origin(node) {
  if (!node.parts.length) return null;
  const rows = node.parts.map((part) => pair(part.label, part.became, number(part.score)));
  return section(
    `Grown by an infill that scores ${number(node.infill_score)}; its parts (log-probability)`,
    h("ul", { class: "pairs" }, rows),
  );
}

/** What each open label became, in what stayed and in what lost. */
function becoming(labels, next, mine, pointed, acts) {
  const best = Math.max(...next.beam.map((node) => node.score));
  const stayed = next.beam.filter((node) => mine(node) && node.parts.length);
  const lost = next.lost.filter((node) => mine(node) && node.parts.length);
  if (!stayed.length && !lost.length) return h("p", { class: "faint" }, "Nothing that grew from it stayed.");
  const wanted = labels.map((_, index) => index).filter((index) => pointed === null || index === pointed);
  return section(
    "Its labels became (log-probability)",
    wanted.map((index) => {
      const rows = distinct(stayed, index).map(({ part, node }) =>
        pair(labels[index], part.became, number(part.score), "stayed", "", acts(node, index, part.became)),
      );
      const seen = new Set(stayed.map((node) => node.parts[index]?.became));
      const others = distinct(lost, index)
        .filter(({ part }) => !seen.has(part.became))
        .slice(0, MOST);
      const gone = others.map(({ part, node }) =>
        pair(labels[index], part.became, number(part.score), "gone", why(node, best), acts(node, index, part.became)),
      );
      return h("ul", { class: "pairs" }, rows, gone);
    }),
  );
}

/** Each thing that a label became, once, best first. */
function distinct(nodes, index) {
  const parts = new Map();
  for (const node of nodes) {
    const part = node.parts[index];
    if (part && !parts.has(part.became)) parts.set(part.became, { part, node });
  }
  return [...parts.values()];
}

/** What competed at the same depth and lost. */
function losers({ beam, lost, more_lost: more }, open) {
  if (!lost.length) return null;
  const best = Math.max(...beam.map((node) => node.score));
  const rows = lost.map((node, index) => h("li", {}, loser(node, why(node, best), () => open(index))));
  return section("Lost at this depth", h("ul", { class: "losers" }, rows, unlisted(more)));
}

/** What is said of those that lost and are not listed. */
export const unlisted = (count) => count > 0 && h("li", { class: "faint" }, `and ${count} more, further behind`);

/** Something that lost, and why; a click opens it, to grow on from there. */
export function loser(node, reason, open) {
  return h(
    "button",
    { type: "button", class: "plain loser", title: "Grow on from this one", onclick: open },
    h("span", { class: "context", dir: "auto" }, showTokens(node.tokens.map((token) => ({ ...token, new: false })))),
    h("span", { class: "behind" }, reason),
  );
}

/** Why a context left the beam: what refused it, or how far it was behind. */
export function why(node, best) {
  if (node.reason && node.reason !== "outscored") return node.reason;
  return best > node.score ? `${number(best - node.score)} behind` : "outscored";
}

function pair(label, became, figure, kind = "", note = "", acts = null) {
  return h(
    "li",
    { class: kind },
    chip(label),
    h("span", { class: "became", dir: "auto" }, showText(became), note && h("span", { class: "why" }, note)),
    h("span", { class: "figure" }, figure),
    acts,
  );
}

const act = (name, title, onclick) => h("button", { type: "button", title, "aria-label": title, onclick }, name);

const section = (title, ...children) => h("section", {}, h("h4", {}, title), children);
