/** The text as it grows and when it is finished: large, with its tree, its rivals and ways to copy it. */

import { explain } from "./api.js";
import { growingTree, readTree } from "./brackets.js";
import { showTokens } from "./context.js";
import { byId, capitalised, copier, h, number, refill } from "./dom.js";
import { TreePane } from "./pane.js";
import { markedWay, nameOf } from "./state.js";
import { treeFile } from "./tree.js";

export class ResultView {
  /** @param {{start: () => import("./state.js").Token[], fail: (error: Error) => void}} calls */
  constructor(calls) {
    this.calls = calls;
    this.pane = new TreePane(byId("tree"));
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
    this.pane.show(tree, title);
    byId("status").textContent = this.status(branch, output, leading);
    this.before(store, branch);
    this.copies(output, tree, store);
    this.others(store, branch);
  }

  status(branch, output, leading) {
    if (output && branch.ends[0] < 0) return `${capitalised(output.note)}.`;
    if (output) {
      const ranked = output.rank_score ?? null;
      const order = ranked === null ? [] : [`placed by the ${branch.rerank ?? ""} reranker: ${number(ranked)}`];
      const said = [...order, `search score ${number(output.score)}`, `${branch.levels.length} levels`];
      return said.join(", ") + (output.note ? `; ${output.note}` : "");
    }
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
    const first = store.branch.edit === null; // an explanation is of the search without the user's edits
    refill(byId("copies"), h("span", {}, "Copy as "), buttons, first && explainer(store.settings, this.calls.fail));
  }

  others(store, branch) {
    byId("others").hidden = branch.outputs.length < 2;
    const reranked = (branch.outputs[0]?.rank_score ?? null) !== null;
    byId("order").textContent = reranked ? ` best first, by the reranker` : ` best first, by the search score`;
    const items = branch.outputs.map((output, index) => {
      const choose = () => store.look({ chosen: index });
      const figure = number(output.rank_score ?? output.score); // what decided the order
      const button = h(
        "button",
        { type: "button", class: "plain other", "aria-pressed": String(index === store.view.chosen), onclick: choose },
        h("span", { dir: "auto" }, output.text),
        h("span", { class: "figure" }, figure),
      );
      return h("li", {}, button);
    });
    refill(byId("outputs"), items);
  }
}

/** A button that opens the page which explains the whole search. */
function explainer(settings, fail) {
  const open = async () => {
    const page = window.open("", "_blank"); // at once: a browser lets a click open a page, not an answer
    try {
      const address = await explain(settings);
      if (page) page.location = address;
    } catch (error) {
      page?.close();
      fail(error);
    }
  };
  return h("button", { type: "button", id: "explain", onclick: open }, "Explain ↗");
}
