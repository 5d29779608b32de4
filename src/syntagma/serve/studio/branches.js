/** The branches that edits made, and two of them beside each other. */

import { showTokens } from "./context.js";
import { byId, h, number, refill } from "./dom.js";
import { markedWay, nameOf } from "./state.js";

/**
 * Draw the switch between branches, and the comparison where one is wanted.
 * @param {import("./state.js").Store} store
 */
export function drawBranches(store) {
  const { view } = store;
  const several = view.branches.length > 1;
  const tabs = several ? view.branches.map((branch) => tab(store, branch)) : [];
  const other = view.branches.find((branch) => branch.id === view.beside);
  refill(byId("branches"), tabs, several && chooser(store));
  const box = byId("comparison");
  box.hidden = !(several && other && other.id !== view.active);
  refill(box, box.hidden ? null : table(view, ...inOrder(view, store.branch, other)));
}

/** Two branches, the older one first. */
const inOrder = (view, ...pair) => view.branches.filter((branch) => pair.includes(branch));

/** In a few words what an edit did. @param {import("./state.js").Edit} edit */
export function inWords(edit) {
  const said = [];
  if (edit.context !== null) said.push(`“${edit.context}”`);
  for (const pin of edit.pins) said.push(`label ${pin.label} = “${pin.words}”`);
  const wishes = [
    ["with", edit.require],
    ["without", edit.forbid],
  ];
  for (const [word, wish] of wishes) {
    const things = [...wish.words, ...wish.labels];
    if (things.length) said.push(`${word} ${things.join(", ")}`);
  }
  return said.join("; ") || "grown again";
}

function tab(store, branch) {
  const { view } = store;
  const name = nameOf(view, branch.id);
  const depth = branch.edit && (branch.levels[branch.edit.level]?.depth ?? 1);
  const what = branch.edit ? `depth ${depth}: ${inWords(branch.edit)}` : "as the model grew it";
  const look = () =>
    store.look({ active: branch.id, chosen: 0, beside: view.beside === branch.id ? view.active : view.beside });
  return h(
    "button",
    {
      type: "button",
      class: "branch-tab",
      "aria-pressed": String(branch.id === view.active),
      title: what,
      onclick: look,
    },
    h("b", {}, name),
    " ",
    h("span", { dir: "auto" }, what),
  );
}

function chooser(store) {
  const { view } = store;
  const others = view.branches.filter((branch) => branch.id !== view.active);
  const options = others.map((branch) => h("option", { value: branch.id }, `with ${nameOf(view, branch.id)}`));
  const select = h(
    "select",
    { id: "beside", onchange: (event) => store.look({ beside: Number(event.target.value) || null }) },
    h("option", { value: "" }, "with none"),
    options,
  );
  select.value = others.some((branch) => branch.id === view.beside) ? String(view.beside) : "";
  return h("label", { class: "chooser" }, "Compare ", select);
}

function table(view, left, right) {
  const ways = [left, right].map((branch) => markedWay(branch, branch.id === view.active ? view.chosen : 0));
  const rows = Math.max(left.levels.length, right.levels.length);
  const body = Array.from({ length: rows }, (_, level) => {
    const nodes = [left, right].map((branch, side) => branch.levels[level]?.beam[ways[side][level]]);
    const differ = nodes[0]?.context !== nodes[1]?.context;
    const depth = (left.levels[level] ?? right.levels[level]).depth;
    const cells = nodes.map((node, side) => h("td", {}, node ? cell(node, nodes[1 - side]) : null));
    return h("tr", { class: differ ? "differs" : "" }, h("th", { scope: "row" }, depth), cells);
  });
  const heads = [left, right].map((branch) => {
    const output = branch.outputs[branch.id === view.active ? view.chosen : 0];
    const score = output ? number(output.score) : "still growing";
    return h(
      "th",
      { scope: "col" },
      h("b", {}, nameOf(view, branch.id)),
      h("span", { class: "figure" }, ` ${score}`),
      h("span", { class: "verdict", dir: "auto" }, output?.text ?? ""),
    );
  });
  return h(
    "table",
    {},
    h("caption", { class: "unseen" }, "Two branches, depth by depth"),
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "depth"), heads)),
    h("tbody", {}, body),
  );
}

/** A context with what the other does not have marked. */
function cell(node, other) {
  const same = other ? common(node.tokens, other.tokens) : new Set(node.tokens.keys());
  const tokens = node.tokens.map((token, index) => ({ ...token, new: !same.has(index) }));
  return h("span", { class: `context${node.was !== undefined ? " is-edited" : ""}`, dir: "auto" }, showTokens(tokens));
}

/** Which tokens of one row stand in a longest common subsequence with another. */
export function common(first, second) {
  const equal = (a, b) => a.text === b.text && a.label === b.label;
  const size = Array.from({ length: first.length + 1 }, () => new Array(second.length + 1).fill(0));
  for (let i = first.length - 1; i >= 0; i -= 1)
    for (let j = second.length - 1; j >= 0; j -= 1)
      size[i][j] = equal(first[i], second[j]) ? size[i + 1][j + 1] + 1 : Math.max(size[i + 1][j], size[i][j + 1]);
  const shared = new Set();
  for (let i = 0, j = 0; i < first.length && j < second.length;) {
    if (equal(first[i], second[j])) {
      shared.add(i);
      i += 1;
      j += 1;
    } else if (size[i + 1][j] >= size[i][j + 1]) i += 1;
    else j += 1;
  }
  return shared;
}
