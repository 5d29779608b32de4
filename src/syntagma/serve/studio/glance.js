/** The texts alone: the source, up to five outputs with what changed marked, a copy and the growth of each a click away. */

import { common } from "./branches.js";
import { byId, copier, h, refill } from "./dom.js";

const MOST = 5;
const KEY = "syntagma.view";

/** Which of the two views is shown, `texts` or `growth`; kept in this browser. */
export function showView(view) {
  document.body.dataset.view = view;
  for (const name of ["texts", "growth"]) byId(`view-${name}`).setAttribute("aria-pressed", String(name === view));
  try {
    localStorage.setItem(KEY, view);
  } catch {
    // A browser that stores nothing begins with the growth.
  }
}

/** The view of the last time. */
export function lastView() {
  try {
    return localStorage.getItem(KEY) === "texts" ? "texts" : "growth";
  } catch {
    return "growth";
  }
}

/** @param {import("./state.js").Store} store */
export function drawGlance(store) {
  const { branch, settings } = store;
  byId("glance").hidden = !branch;
  if (!branch) return;
  const items = branch.outputs.slice(0, MOST).map((output, at) => {
    const follow = () => {
      store.look({ chosen: at });
      showView("growth");
    };
    return h(
      "li",
      {},
      h("p", { class: "sentence", dir: "auto" }, marked(output.text, settings.text)),
      h(
        "p",
        { class: "copies" },
        copier("Copy", () => output.text),
        h("button", { type: "button", onclick: follow }, "How it grew"),
      ),
    );
  });
  const growing = branch.status === "growing" && h("p", { class: "faint" }, "growing …");
  refill(
    byId("glance"),
    h("h2", {}, "Source"),
    h("p", { class: "source", dir: "auto" }, settings.text),
    h("h2", {}, "In other words", h("span", { class: "faint" }, " changed words are marked")),
    h("ol", {}, items),
    growing,
  );
}

/** A text with the words marked that the source does not have in that order. */
function marked(text, source) {
  const words = (line) => line.split(/\s+/u).filter(Boolean);
  const tokens = (line) => words(line).map((word) => ({ text: bareWord(word), label: false }));
  const same = common(tokens(text), tokens(source));
  return words(text).flatMap((word, at) => [at ? " " : "", same.has(at) ? word : h("mark", {}, word)]);
}

const bareWord = (word) => word.toLowerCase().replace(/^\p{P}+|\p{P}+$/gu, "") || word;
