/** The texts alone: the source, up to five outputs with what changed marked, a copy and the growth of each a click away. */

import { common } from "./branches.js";
import { byId, capitalised, copier, h, refill } from "./dom.js";

/** How many texts are shown at most. */
export const MOST = 5;
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

/**
 * @param {import("./state.js").Store} store
 * @param {{sentences: string[], texts: string[][]|null}|null} whole the text that the sentence is of, where it has
 *   several, with the texts found for each
 */
export function drawGlance(store, whole) {
  const { branch, settings } = store;
  byId("glance").hidden = !branch;
  if (!branch) return;
  const source = whole ? whole.sentences.join(" ") : settings.text;
  const texts = whole ? together(whole) : branch.outputs.slice(0, MOST).map((output) => output.text);
  const items = texts.map((text, index) => {
    const follow = () => {
      store.look({ chosen: Math.min(index, branch.outputs.length - 1) });
      showView("growth");
    };
    return h(
      "li",
      {},
      h("p", { class: "sentence", dir: "auto" }, marked(text, source)),
      h(
        "p",
        { class: "copies" },
        copier("Copy", () => text),
        h("button", { type: "button", onclick: follow }, "How it grew"),
      ),
    );
  });
  const unchanged = !whole && branch.ends[0] < 0;
  const note = !whole && branch.outputs[0]?.note;
  const growing = branch.status === "growing" || (whole && !whole.texts);
  refill(
    byId("glance"),
    h("h2", {}, "Source"),
    h("p", { class: "source", dir: "auto" }, source),
    unchanged
      ? h("h2", {}, "Unchanged")
      : h("h2", {}, "In other words", h("span", { class: "faint" }, " changed words are marked")),
    h("ol", {}, items),
    note && h("p", { class: "note" }, `${capitalised(note)}.`),
    growing && h("p", { class: "faint" }, "growing …"),
  );
}

/** Whole texts: of each sentence the first, then of each the second, the last where a sentence has fewer. */
function together({ sentences, texts: bySentence }) {
  if (!bySentence) return [];
  const most = Math.min(MOST, Math.max(...bySentence.map((texts) => texts.length)));
  return Array.from({ length: most }, (_, index) =>
    bySentence.map((texts, place) => texts[index] ?? texts.at(-1) ?? sentences[place]).join(" "),
  );
}

/** A text with the words marked that the source does not have in that order. */
function marked(text, source) {
  const words = (line) => line.split(/\s+/u).filter(Boolean);
  const tokens = (line) => words(line).map((word) => ({ text: bareWord(word), label: false }));
  const same = common(tokens(text), tokens(source));
  return words(text).flatMap((word, index) => [index ? " " : "", same.has(index) ? word : h("mark", {}, word)]);
}

const bareWord = (word) => word.toLowerCase().replace(/^\p{P}+|\p{P}+$/gu, "") || word;
