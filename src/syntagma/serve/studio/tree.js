/**
 * Trees as SVG: a parent stands in the middle over its children, words stand right below their constituent.
 * The same drawing serves the page (colours from the style sheet) and a file (colours written into it).
 */

import { s } from "./dom.js";

const STEP = 46; // from one depth to the next
const GAP = 16; // between neighbours
const SMALLEST = 0.55; // how far a wide tree may shrink on the page before it scrolls
const FONT = "Charter, 'Bitstream Charter', 'Iowan Old Style', Georgia, 'Liberation Serif', serif";
const INKS = { S: "#7a4d00", NP: "#1d4f91", VP: "#1b6438", PP: "#7b2d7b" };

let pen = null;

/** How wide a text is when drawn. */
function widthOf(text, bold) {
  pen ??= document.createElement("canvas").getContext("2d");
  if (!pen) return text.length * 8;
  pen.font = `${bold ? "600 13px" : "16px"} ${FONT}`;
  return pen.measureText(text).width;
}

/**
 * Places for every node: `x` is the middle.
 * @param {import("./brackets.js").Tree} tree
 */
function layout(tree) {
  const texts = [];
  const lines = [];
  let deepest = 0;
  /** Lay a node out with its left edge at `left`; returns its middle and the right edge. */
  const place = (node, left, depth) => {
    deepest = Math.max(deepest, depth);
    const word = typeof node === "string";
    const text = word ? node : (node.label === "TOP" ? "T" : node.label) + (node.free ? " *" : "");
    const own = widthOf(text, !word) + (word ? 0 : 12);
    const children = word ? [] : node.children;
    if (!children.length) {
      texts.push({ text, word, x: left + own / 2, depth, open: !word && node.open, label: word ? "" : node.label });
      return { x: left + own / 2, right: left + own };
    }
    let edge = left;
    const placed = children.map((child) => {
      const box = place(child, edge, depth + 1);
      edge = box.right + GAP;
      return box;
    });
    let x = (placed[0].x + placed.at(-1).x) / 2;
    let right = edge - GAP;
    const lack = left - (x - own / 2);
    if (lack > 0) x += lack;
    right = Math.max(right, x + own / 2);
    texts.push({ text, word, x, depth, open: node.open, label: node.label });
    for (const child of placed) lines.push({ x1: x, x2: child.x, depth });
    return { x, right };
  };
  const { right } = place(tree, 0, 0);
  return { texts, lines, width: Math.ceil(right), height: deepest * STEP + 30 };
}

/**
 * Draw a tree.
 * @param {import("./brackets.js").Tree} tree
 * @param {{title: string, standalone?: boolean, fresh?: boolean}} options `standalone`: colours and fonts in the file
 * @returns {SVGElement}
 */
export function drawTree(tree, { title, standalone = false }) {
  const { texts, lines, width, height } = layout(tree);
  const ink = (attributes) => (standalone ? attributes : {});
  const box = `-4 -4 ${width + 8} ${height + 4}`;
  const size = { width: width + 8, height: height + 4, viewBox: box };
  const drawing = s("svg", {
    xmlns: "http://www.w3.org/2000/svg",
    class: "tree",
    role: "img",
    "aria-label": title,
    ...size,
  });
  drawing.append(s("title", {}, title));
  for (const { x1, x2, depth } of lines) {
    const y = depth * STEP;
    const d = `M${round(x1)} ${y + 23}L${round(x2)} ${y + STEP + 1}`;
    drawing.append(s("path", { class: "branch", d, ...ink({ stroke: "#8a857a", fill: "none" }) }));
  }
  for (const { text, word, x, depth, open, label } of texts) {
    const kind = word ? "leaf" : `node node-${label in INKS ? label : "other"}${open ? " node-open" : ""}`;
    const look = word
      ? { "font-family": FONT, "font-size": 16, fill: "#22201c" }
      : { "font-family": FONT, "font-size": 13, "font-weight": 600, fill: INKS[label] ?? "#5c574e" };
    const place = { x: round(x), y: depth * STEP + 17, "text-anchor": "middle", direction: word ? null : "ltr" };
    drawing.append(s("text", { class: kind, ...place, ...ink(look) }, text));
  }
  if (!standalone) {
    drawing.dataset.least = `${Math.round(width * SMALLEST)}px`;
    drawing.dataset.root = String(texts.at(-1).x / width); // the root is laid out last
    drawing.style.setProperty("min-width", drawing.dataset.least);
  }
  return drawing;
}

const round = (value) => Math.round(value * 10) / 10;

/** The drawing as a file. */
export function treeFile(tree, title) {
  return `${new XMLSerializer().serializeToString(drawTree(tree, { title, standalone: true }))}\n`;
}
