/** The lines of the beam: from each context to those that grew out of it, behind the cards. */

import { s } from "./dom.js";
import { parentOf } from "./state.js";

/**
 * Draw all lines of a branch into `svg` (made where there is none) and return it.
 * @param {HTMLElement} root the beam's element, whose cards carry data-level and data-place
 * @param {SVGElement|null} svg
 * @param {import("./state.js").Branch} branch
 * @param {number[]} way the marked context's place in each level
 */
export function drawLines(root, svg, branch, way) {
  const drawing = svg ?? s("svg", { class: "lines", "aria-hidden": "true" });
  if (drawing.parentNode !== root) root.prepend(drawing);
  const width = root.scrollWidth;
  const height = root.scrollHeight;
  drawing.setAttribute("width", "0"); // so that the drawing itself does not keep the beam wide
  const origin = root.getBoundingClientRect();
  const boxes = new Map();
  for (const card of root.querySelectorAll(".card")) {
    const box = card.getBoundingClientRect();
    const middle = box.left - origin.left + root.scrollLeft + box.width / 2;
    boxes.set(`${card.dataset.level}.${card.dataset.place}`, {
      x: middle,
      top: box.top - origin.top,
      bottom: box.bottom - origin.top,
    });
  }
  const plain = [];
  const marked = [];
  branch.levels.forEach(({ beam }, level) => {
    beam.forEach((node, place) => {
      const from = level ? parentOf(branch, level, node) : 0;
      const above = boxes.get(`${level - 1}.${from}`);
      const below = boxes.get(`${level}.${place}`);
      if (!above || !below || from === null) return;
      const on = way[level] === place && (level === 0 || way[level - 1] === from);
      (on ? marked : plain).push(path(above, below, on));
    });
  });
  drawing.setAttribute("width", String(Math.max(width, root.clientWidth)));
  drawing.setAttribute("height", String(height));
  drawing.replaceChildren(...plain, ...marked);
  return drawing;
}

function path(above, below, on) {
  const middle = (above.bottom + below.top) / 2;
  const d = `M${above.x} ${above.bottom}C${above.x} ${middle} ${below.x} ${middle} ${below.x} ${below.top}`;
  return s("path", { d, class: on ? "line on-way" : "line" });
}
