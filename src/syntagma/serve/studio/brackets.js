/**
 * Trees and templates from brackets, and the tree of a context that is still growing.
 *
 * @typedef {{label: string, children: (Tree|string)[], open?: boolean, free?: boolean}} Tree
 *   `open`: nothing has filled it yet; `free`: a template's `(NP *)`.
 */

import { bare } from "./context.js";
import { parentOf } from "./state.js";

const ESCAPES = { "-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}" };
const unescaped = (word) => word.replace(/-[LR][RSC]B-/gu, (escape) => ESCAPES[escape] ?? escape);

/** The tree that brackets spell, or null where they spell none. @returns {Tree|null} */
export function readTree(text) {
  const items = text.replace(/\(\s+/gu, "(").match(/\([^\s()]*|\)|[^\s()]+/gu) ?? [];
  /** @type {Tree} */
  const top = { label: "", children: [] };
  const stack = [top];
  for (const item of items) {
    if (item === ")") {
      stack.pop();
      if (!stack.length) return null;
    } else if (item.startsWith("(")) {
      const node = { label: item.slice(1), children: [] };
      stack.at(-1).children.push(node);
      stack.push(node);
    } else stack.at(-1).children.push(unescaped(item));
  }
  return stack.length === 1 && top.children.length === 1 && typeof top.children[0] !== "string"
    ? top.children[0]
    : null;
}

/**
 * A template, also in its short form `S(NP VP(NP))`, for drawing; null where it cannot be read yet.
 * The service has the last word on what is a template.
 * @returns {Tree|null}
 */
export function readTemplate(text) {
  /** @type {Tree} */
  const top = { label: "T", children: [] };
  const stack = [top];
  let head = false; // just after an opening bracket
  for (const [item, label, bracket] of text.matchAll(/([^\s(),*.…]+)(\()?|\(|\)|\.\.\.|…|\*/gu)) {
    if (label !== undefined) {
      push(stack, label);
      if (!head && !bracket) stack.pop();
      head = head && Boolean(bracket); // "(S(NP)": the bracket after a head opens its first child
    } else if (head) return null;
    else if (item === "(") head = true;
    else if (item === ")") {
      stack.pop();
      if (!stack.length) return null;
    } else if (item === "*") stack.at(-1).free = true;
    else stack.at(-1).children.push("…");
  }
  if (head || stack.length !== 1 || !top.children.length) return null;
  const only = top.children[0];
  return top.children.length === 1 && typeof only !== "string" ? only : top;
}

function push(stack, label) {
  const node = { label: bare(label), children: [] };
  stack.at(-1).children.push(node);
  stack.push(node);
}

/**
 * The tree of a context on its way down: what each open label became, level by level.  Where the user wrote a context
 * the tree begins anew, as in the finished output.
 * @param {import("./state.js").Branch} branch
 * @param {number[]} way the context's place in each level
 * @param {import("./state.js").Token[]} start the first context
 * @returns {Tree}
 */
export function growingTree(branch, way, start) {
  let { root, open } = planted(start);
  way.forEach((place, level) => {
    const node = branch.levels[level]?.beam[place];
    if (!node) return;
    if (node.was !== undefined) {
      ({ root, open } = planted(node.tokens));
      return;
    }
    const carried = parentOf(branch, level, node) !== null && !node.parts.length;
    if (carried) return;
    const next = [];
    node.parts.forEach((part, number) => {
      const target = open[number];
      if (!target) return;
      target.open = false;
      for (const word of part.became.split(" ")) {
        const label = /^<([^<>\s]+)>$/u.exec(word)?.[1];
        if (label === undefined) target.children.push(word.replace(/^\\(?=\\*<)/u, ""));
        else {
          const child = { label, children: [], open: true };
          target.children.push(child);
          next.push(child);
        }
      }
    });
    open = next;
  });
  return root;
}

/** A root over a context, and its open labels from left to right. */
function planted(tokens) {
  if (tokens.length === 1 && tokens[0].label && bare(tokens[0].text) === "T") {
    const root = { label: "TOP", children: [], open: true };
    return { root, open: [root] };
  }
  const children = tokens.map((token) =>
    token.label ? { label: bare(token.text), children: [], open: true } : token.text,
  );
  return { root: { label: "TOP", children }, open: children.filter((child) => typeof child !== "string") };
}
