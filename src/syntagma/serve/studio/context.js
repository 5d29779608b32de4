/**
 * Contexts: words and open labels mixed.  `<NP> ate an apple .` in text, chips and words on the page.
 * A word that looks like a label is written `\<NP>`.
 */

import { h } from "./dom.js";

/** The labels that a context may hold; the model says which. */
export const known = { labels: ["S", "NP", "VP", "PP"] };

const CLOSING = /^[.,;:!?…%)\]}»”’。，、；：！？]+$/u;

const LONGEST = 24;

/** Text to tokens, as the service reads it. @returns {import("./state.js").Token[]} */
export function readContext(text) {
  return text
    .split(/\s+/u)
    .filter(Boolean)
    .map((word) => {
      const label = /^<([^<>\s]+)>$/u.exec(word)?.[1];
      if (label !== undefined && (label === "T" || known.labels.includes(label)))
        return { text: label, label: true, new: false };
      return { text: word.replace(/^\\(?=\\*<)/u, ""), label: false, new: false };
    });
}

/** The name of a label without the brackets that it may carry. */
export const bare = (text) => text.replace(/^<(.*)>$/u, "$1");

/** A label as a coloured chip. */
export function chip(label, attributes = {}) {
  const name = bare(label);
  const kind = ["T", "S", "NP", "VP", "PP"].includes(name) ? name : "other";
  const { class: more = "", ...rest } = attributes;
  return h("span", { class: `chip chip-${kind} ${more}`, ...rest }, name);
}

/**
 * Tokens as chips and words with spaces between.  `marks` gives each token's part of the parent (-1: none), so that
 * a constituent and what it became can light up together.
 * @param {import("./state.js").Token[]} tokens
 * @param {number[]} [marks]
 */
export function showTokens(tokens, marks = []) {
  const line = document.createDocumentFragment();
  let label = 0;
  let group = null; // a token with the signs that follow it, which no line begins with
  tokens.forEach((token, index) => {
    if (group && !token.label && CLOSING.test(token.text)) {
      group.append(" ");
      group.classList.toggle("together", group.textContent.length < LONGEST); // a longer one may be broken anywhere
    } else {
      if (index) line.append(" ");
      group = h("span");
      line.append(group);
    }
    const part = marks[index] ?? -1;
    const attributes = { "data-part": part >= 0 ? part : null, class: token.new ? "new" : "" };
    if (token.label) {
      group.append(chip(token.text, { ...attributes, "data-label": label }));
      label += 1;
    } else {
      group.append(h("span", { ...attributes, class: `word ${attributes.class}` }, token.text));
    }
  });
  return line;
}

/** A short text such as `had <NP>` with its labels as chips. */
export const showText = (text) => showTokens(readContext(text));

/**
 * For each token of a node, which part of its parent's infill it belongs to, or -1.
 * @param {import("./state.js").Token[]} parent the parent's tokens
 * @param {import("./state.js").BeamNode} node
 * @returns {number[]}
 */
export function partMarks(parent, node) {
  if (!node.parts.length || node.was !== undefined) return node.tokens.map(() => -1);
  const marks = [];
  let part = 0;
  for (const token of parent) {
    if (!token.label) {
      marks.push(-1);
      continue;
    }
    const size = node.parts[part]?.became.split(" ").length ?? 1;
    marks.push(...Array(size).fill(part));
    part += 1;
  }
  return marks.length === node.tokens.length ? marks : node.tokens.map(() => -1);
}

/** A context for a screen reader: labels by name. */
export const spoken = (tokens) => tokens.map((token) => (token.label ? `[${bare(token.text)}]` : token.text)).join(" ");
