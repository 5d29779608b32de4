/** What was grown in this browser: kept in it alone, and cleared by one button. */

import { byId, h, refill } from "./dom.js";

const KEY = "syntagma.history";
const MOST = 50;

/** @returns {{when: number, text: string, output: string, link: string}[]} newest first */
export function entries() {
  try {
    const entries = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(entries) ? entries : [];
  } catch {
    return [];
  }
}

/** Remember a growth; the same link is kept once. */
export function remember(text, output, link) {
  const kept = entries().filter((entry) => entry.link !== link);
  try {
    localStorage.setItem(KEY, JSON.stringify([{ when: Date.now(), text, output, link }, ...kept].slice(0, MOST)));
  } catch {
    // A browser that stores nothing has no history.
  }
}

/** Show the history; `open` is called with the link of the chosen growth. */
export function showHistory(open) {
  const dialog = byId("history");
  const items = entries().map((entry) =>
    h(
      "li",
      {},
      h(
        "button",
        {
          type: "button",
          class: "plain other",
          onclick: () => {
            dialog.close();
            open(entry.link);
          },
        },
        h(
          "time",
          { datetime: new Date(entry.when).toISOString(), class: "faint" },
          new Date(entry.when).toLocaleString(),
        ),
        h("span", { dir: "auto" }, entry.text),
        h("span", { class: "outcome", dir: "auto" }, entry.output),
      ),
    ),
  );
  const clear = () => {
    localStorage.removeItem(KEY);
    showHistory(open);
  };
  refill(
    dialog,
    h("h2", { id: "history-title" }, "History"),
    h("p", { class: "faint" }, items.length ? "Kept in this browser only." : "Nothing was grown in this browser yet."),
    h("ol", { class: "history" }, items),
    h(
      "p",
      { class: "actions" },
      items.length ? h("button", { type: "button", onclick: clear }, "Clear") : null,
      h("button", { type: "button", class: "primary", onclick: () => dialog.close() }, "Close"),
    ),
  );
  if (!dialog.open) dialog.showModal();
}
