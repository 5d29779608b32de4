/** The text as it grows and when it is finished: large, with its tree, its rivals and ways to copy it. */

import { growingTree, readTree } from "./brackets.js";
import { showTokens } from "./context.js";
import { byId, copy, h, number, refill } from "./dom.js";
import { markedWay, nameOf } from "./state.js";
import { drawTree, treeFile } from "./tree.js";

export class ResultView {
  /** @param {{start: () => import("./state.js").Token[]}} calls */
  constructor(calls) {
    this.calls = calls;
  }

  /** @param {import("./state.js").Store} store */
  draw(store) {
    const { branch, view } = store;
    byId("result").hidden = !branch;
    if (!branch) return;
    const output = branch.outputs[view.chosen];
    const way = markedWay(branch, view.chosen);
    const leading = branch.levels.at(-1)?.beam[way.at(-1) ?? 0];
    const tokens = leading ? leading.tokens : this.calls.start();
    const sentence = byId("sentence");
    sentence.classList.toggle("growing", !output);
    refill(sentence, output ? output.text : showTokens(tokens));
    const tree = output ? output.tree && readTree(output.tree) : growingTree(branch, way, this.calls.start());
    const title = output ? `The tree of: ${output.text}` : "The tree so far";
    refill(byId("tree"), tree ? drawTree(tree, { title }) : h("p", { class: "faint" }, "This model grows no tree."));
    byId("status").textContent = this.status(branch, output, leading);
    this.before(store, branch);
    this.copies(output, tree, store);
    this.others(store, branch);
  }

  status(branch, output, leading) {
    if (output) return `score ${number(output.score)}, ${branch.levels.length} levels`;
    if (branch.status === "stopped") return "stopped; change a context to go on from it, or grow again";
    return leading ? `growing, depth ${leading.depth}` : "growing";
  }

  /** What the branch it came from says. */
  before({ view }, branch) {
    const parent = view.branches.find((other) => other.id === branch.parent);
    const text = parent?.outputs[0]?.text;
    byId("before").hidden = !text;
    if (text)
      refill(byId("before"), `${nameOf(view, parent.id)}, before your edit: `, h("span", { dir: "auto" }, text));
  }

  copies(output, tree, store) {
    byId("copies").hidden = !output;
    if (!output) return;
    const all = () => ({
      settings: store.settings,
      edits: store.view.branches.map((branch) => branch.edit).filter(Boolean),
      hypotheses: store.branch.outputs,
    });
    const kinds = [
      ["text", () => output.text],
      ["brackets", () => output.tree, output.tree],
      ["SVG", () => treeFile(tree, output.text), tree],
      ["JSON", () => JSON.stringify(all(), null, 2)],
    ];
    const buttons = kinds.filter(([, , there = true]) => there).map(([name, text]) => copier(name, text));
    refill(byId("copies"), h("span", {}, "Copy as "), buttons);
  }

  others(store, branch) {
    byId("others").hidden = branch.outputs.length < 2;
    const items = branch.outputs.map((output, at) => {
      const choose = () => store.look({ chosen: at });
      // Not how far behind: a second opinion may have put a text with a lower score first.
      const figure = at ? `score ${number(output.score)}` : "best";
      const button = h(
        "button",
        { type: "button", class: "plain other", "aria-pressed": String(at === store.view.chosen), onclick: choose },
        h("span", { dir: "auto" }, output.text),
        h("span", { class: "figure" }, figure),
      );
      return h("li", {}, button);
    });
    refill(byId("outputs"), items);
  }
}

function copier(name, text) {
  const button = h("button", { type: "button" }, name);
  button.addEventListener("click", async () => {
    await copy(text());
    button.textContent = "copied";
    setTimeout(() => {
      button.textContent = name;
    }, 1200);
  });
  return button;
}
