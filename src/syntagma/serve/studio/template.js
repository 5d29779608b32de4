/**
 * The template panel: typed or pasted, drawn by clicks, or taken from an exemplar sentence; favoured or guaranteed.
 *
 * Drawing: pick a node of the template's tree, then a label; it becomes the node's last child.  The text field is the
 * truth; what is drawn is read from it and written back to it.
 */

import { templateOf } from "./api.js";
import { readTemplate } from "./brackets.js";
import { chip, known } from "./context.js";
import { byId, h, number, refill } from "./dom.js";
import { drawTree } from "./tree.js";

export class TemplatePanel {
  /** @param {() => string} model @param {(error: Error) => void} fail */
  constructor(model, fail) {
    this.model = model;
    this.fail = fail;
    this.picked = null;
    byId("template").addEventListener("input", () => this.draw());
    byId("reward").addEventListener("input", () => this.draw());
    byId("take-shape").addEventListener("click", () => this.takeShape());
    byId("exemplar").addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      this.takeShape();
    });
    for (const radio of this.radios()) radio.addEventListener("change", () => this.draw());
  }

  radios() {
    return [...document.querySelectorAll('input[name="control"]')];
  }

  get control() {
    return this.radios().find((radio) => radio.checked)?.value ?? "soft";
  }

  reset(model) {
    byId("reward").value = model.defaults?.reward ?? 0.32;
    this.draw();
  }

  read() {
    const template = byId("template").value.trim();
    if (!template) return {};
    const reward = this.control === "soft" ? { reward: Number(byId("reward").value) } : {};
    return { template, control: this.control, ...reward };
  }

  write(settings) {
    byId("template").value = settings.template ?? "";
    for (const radio of this.radios()) radio.checked = radio.value === (settings.control ?? "soft");
    if (settings.reward !== undefined) byId("reward").value = settings.reward;
    this.draw();
  }

  async takeShape() {
    const text = byId("exemplar").value.trim();
    if (!text) return;
    byId("take-shape").disabled = true;
    try {
      const { template } = await templateOf(text, this.model());
      byId("template").value = template;
      byId("template").dispatchEvent(new Event("input", { bubbles: true }));
    } catch (error) {
      this.fail(error);
    } finally {
      byId("take-shape").disabled = false;
    }
  }

  /** Draw the template, the buttons that extend it, and the reward. */
  draw() {
    byId("reward").disabled = this.control === "hard";
    byId("reward-value").textContent =
      this.control === "hard" ? "every level fits" : number(Number(byId("reward").value), 2);
    const text = byId("template").value.trim();
    const tree = text ? readTemplate(text) : null;
    const nodes = tree ? inOrder(tree) : [];
    if (this.picked !== null && this.picked >= nodes.length) this.picked = null;
    const figure = byId("template-tree");
    figure.classList.toggle("empty", !tree);
    if (tree) refill(figure, drawTree(tree, { title: `Template ${text}` }));
    else refill(figure, text && h("p", { class: "faint" }, "These brackets cannot be read yet."));
    this.builder(tree, nodes);
  }

  builder(tree, nodes) {
    const place = this.picked ?? nodes.length - 1;
    const names = nodes.map((node, index) =>
      h("option", { value: index }, `${node.label}${nodes.length > 1 ? ` (${index + 1})` : ""}`),
    );
    const select = h(
      "select",
      {
        "aria-label": "Where to add",
        onchange: (event) => {
          this.picked = Number(event.target.value);
        },
      },
      names,
    );
    if (nodes.length) select.value = String(place);
    const buttons = [...known.labels, "…"].map((label) =>
      h(
        "button",
        {
          type: "button",
          class: "plain",
          "aria-label": label === "…" ? "add any constituents" : `add ${label}`,
          onclick: () => this.extend(tree, label),
        },
        label === "…" ? "…" : chip(label),
      ),
    );
    const clear = h("button", { type: "button", class: "plain", onclick: () => this.put("") }, "clear");
    refill(
      byId("builder"),
      nodes.length ? [h("span", {}, "add below "), select] : h("span", {}, "begin with "),
      buttons,
      nodes.length ? clear : null,
    );
  }

  extend(tree, label) {
    if (tree === null && byId("template").value.trim()) return;
    const node = label === "…" ? "…" : { label, children: [] };
    if (tree === null) return label === "…" ? undefined : this.put(writeTemplate(node), 0);
    const nodes = inOrder(tree);
    const index = this.picked ?? nodes.length - 1;
    nodes[index].free = false;
    nodes[index].children.push(node);
    return this.put(writeTemplate(tree), index);
  }

  put(text, picked = null) {
    this.picked = picked;
    byId("template").value = text;
    byId("template").dispatchEvent(new Event("input", { bubbles: true }));
  }
}

/** The nodes of a template from the top, left to right. */
function inOrder(tree) {
  return [tree, ...tree.children.filter((child) => typeof child !== "string").flatMap(inOrder)];
}

/** A template in brackets. @param {import("./brackets.js").Tree|string} node */
export function writeTemplate(node) {
  if (typeof node === "string") return "...";
  const inside = node.free ? ["*"] : node.children.map(writeTemplate);
  return `(${[node.label, ...inside].join(" ")})`;
}
