/** A tree in a pane: it fits the width as long as it can be read, is made larger and smaller, and opens at its root. */

import { h, refill } from "./dom.js";
import { drawTree } from "./tree.js";

const STEP = 1.25;
const [LEAST, MOST] = [0.3, 3];

export class TreePane {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.zoom = null; // null: it fits
    this.scroller = h("div", { class: "tree-scroll", tabindex: "0", role: "region", "aria-label": "The tree" });
    const tool = (name, label, change) =>
      h("button", { type: "button", "aria-label": label, title: label, onclick: () => this.scale(change) }, name);
    this.tools = h(
      "p",
      { class: "tree-tools", role: "group", "aria-label": "Size of the tree" },
      tool("−", "Smaller", (now) => now / STEP),
      tool("Fit", "Fit to the width", () => null),
      tool("+", "Larger", (now) => now * STEP),
    );
    refill(root, this.tools, this.scroller);
    new ResizeObserver(() => {
      if (this.drawing && this.zoom === null) this.look(Number(this.drawing.dataset.root));
    }).observe(this.scroller);
  }

  /** Show a tree, or say that there is none. @param {import("./brackets.js").Tree|null} tree */
  show(tree, title) {
    this.tools.hidden = !tree;
    if (!tree) {
      this.drawing = null;
      refill(this.scroller, h("p", { class: "faint" }, "This model grows no tree."));
      return;
    }
    this.drawing = drawTree(tree, { title });
    this.natural = Number(this.drawing.getAttribute("width"));
    refill(this.scroller, this.drawing);
    this.resize();
    this.look(Number(this.drawing.dataset.root));
  }

  scale(change) {
    const { scroller, drawing } = this;
    if (!drawing) return;
    const { width } = drawing.getBoundingClientRect();
    const middle = (scroller.scrollLeft + scroller.clientWidth / 2) / Math.max(width, scroller.clientWidth);
    const wanted = change(width / this.natural);
    this.zoom = wanted === null ? null : Math.min(MOST, Math.max(LEAST, wanted));
    this.resize();
    this.look(wanted === null ? Number(drawing.dataset.root) : middle);
  }

  resize() {
    const { style } = this.drawing;
    const free = this.zoom !== null;
    style.setProperty("width", free ? `${Math.round(this.natural * this.zoom)}px` : null);
    style.setProperty("max-width", free ? "none" : null);
    if (free) style.setProperty("min-width", "0");
    else style.setProperty("min-width", this.drawing.dataset.least);
  }

  /** Bring a place of the drawing, as a share of its width, into the middle. */
  look(share) {
    const { scroller, drawing } = this;
    scroller.scrollLeft = drawing.getBoundingClientRect().width * share - scroller.clientWidth / 2;
  }
}
