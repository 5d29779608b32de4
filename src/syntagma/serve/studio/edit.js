/**
 * Changing a context: its words and labels as text, what a label becomes, which words and labels must or must not
 * come; then growing on from there.
 */

import { chip, known, readContext, showTokens } from "./context.js";
import { byId, h, refill } from "./dom.js";
import { list } from "./form.js";
import { inspect } from "./inspect.js";

const WISHES = [
  ["free", "may come"],
  ["require", "must come next"],
  ["forbid", "may not come"],
];

export class EditDialog {
  /**
   * @param {{grow: (edit: import("./state.js").Edit) => void, start: () => import("./state.js").Token[],
   *   startText: () => string}} calls
   */
  constructor(calls) {
    this.calls = calls;
    this.dialog = byId("edit");
    this.dialog.addEventListener("click", (event) => {
      if (event.target === this.dialog) this.dialog.close();
    });
  }

  /**
   * Open for a context of the active branch, `pin` put in already.
   * @param {import("./beam.js").Spot} spot @param {{label: number, words: string}|null} pin
   */
  open(spot, pin = null) {
    const shown = spot.branch.levels[spot.level];
    const node = spot.lost ? shown.lost[spot.place] : shown?.beam[spot.place];
    this.spot = spot;
    this.node = node;
    this.original = node ? node.context : this.calls.startText();
    const inherited = spot.branch.edit;
    this.pins = [];
    this.build(inherited);
    this.drawPins(node ? node.pins : inherited?.level === -1 ? inherited.pins : []);
    if (!this.dialog.open) this.dialog.showModal();
    if (pin) this.pins[pin.label - 1].value = pin.words;
    const field = pin ? this.pins[pin.label - 1] : this.field;
    field.focus();
    field.setSelectionRange(field.value.length, field.value.length);
  }

  build(inherited) {
    const { spot, node } = this;
    const depth = node ? spot.branch.levels[spot.level].depth : 1;
    this.field = h("textarea", {
      id: "edit-context",
      rows: "2",
      dir: "auto",
      spellcheck: "false",
      oninput: () => this.drawPins(),
    });
    this.field.value = this.original;
    this.field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        this.form.requestSubmit();
      }
    });
    this.preview = h("p", { class: "context preview", dir: "auto", "aria-hidden": "true" });
    this.pinList = h("div", { class: "pins" });
    this.require = h("input", {
      id: "edit-require",
      type: "text",
      dir: "auto",
      autocomplete: "off",
      value: inherited?.require.words.join(", ") ?? "",
    });
    this.forbid = h("input", {
      id: "edit-forbid",
      type: "text",
      dir: "auto",
      autocomplete: "off",
      value: inherited?.forbid.words.join(", ") ?? "",
    });
    this.keep = h("input", { type: "checkbox" });
    const details = h(
      "details",
      { class: "edit-inspect" },
      h("summary", {}, "What it became"),
      h("div", { class: "inspection" }),
    );
    inspect(details.lastChild, spot, null, this.calls.start(), (other, pin) => this.open(other, pin));
    const beamWidth = node ? spot.branch.levels[spot.level].beam.length + Number(spot.lost ?? false) : 1;
    this.form = h(
      "form",
      { method: "dialog", onsubmit: (event) => this.submit(event) },
      h("h2", { id: "edit-title" }, "Change this context", h("span", { class: "faint" }, ` depth ${depth}`)),
      h("label", { for: "edit-context" }, "Words and labels"),
      this.field,
      h(
        "p",
        { class: "inserts" },
        "insert ",
        known.labels.map((label) => this.inserter(label)),
      ),
      this.preview,
      this.pinList,
      h(
        "fieldset",
        { class: "wishes" },
        h("legend", {}, "From here on"),
        this.wordFields(),
        this.labelFields(inherited),
      ),
      beamWidth > 1 && h("label", { class: "check" }, this.keep, " keep the other contexts of this depth beside it"),
      details,
      h(
        "p",
        { class: "actions" },
        h("button", { type: "button", onclick: () => this.dialog.close() }, "Cancel"),
        h("button", { type: "submit", class: "primary", id: "grow-on" }, "Grow on from here"),
      ),
    );
    refill(this.dialog, this.form);
  }

  inserter(label) {
    const insert = () => {
      const { selectionStart: from, selectionEnd: to, value } = this.field;
      const before = value.slice(0, from).replace(/\s*$/u, "");
      const after = value.slice(to).replace(/^\s*/u, "");
      const text = [before, `<${label}>`, after].filter(Boolean).join(" ");
      this.field.value = text;
      const caret = before.length + label.length + 2 + (before ? 1 : 0);
      this.field.focus();
      this.field.setSelectionRange(caret, caret);
      this.drawPins();
    };
    return h(
      "button",
      { type: "button", class: "plain", "aria-label": `insert ${label}`, onclick: insert },
      chip(label),
    );
  }

  wordFields() {
    return h(
      "div",
      { class: "word-fields" },
      h("label", { for: "edit-require" }, "words that must appear"),
      this.require,
      h("label", { for: "edit-forbid" }, "words that may not appear"),
      this.forbid,
    );
  }

  labelFields(inherited) {
    this.labelWishes = new Map();
    const rows = known.labels.map((label) => {
      const select = h(
        "select",
        {},
        WISHES.map(([value, text]) => h("option", { value }, text)),
      );
      select.value = inherited?.forbid.labels.includes(label) ? "forbid" : "free";
      this.labelWishes.set(label, select);
      return h("label", {}, chip(label), select);
    });
    return h("div", { class: "label-wishes", role: "group", "aria-label": "Labels" }, rows);
  }

  /** Show the context as chips, and a field for each open label; `given` are the pins that it has already. */
  drawPins(given = []) {
    const tokens = readContext(this.field.value);
    refill(this.preview, showTokens(tokens));
    const labels = tokens.filter((token) => token.label);
    const old = this.pins.map((input) => input.value);
    for (const pin of given) old[pin.label - 1] = pin.words;
    this.pins = labels.map((_, index) =>
      h("input", {
        type: "text",
        dir: "auto",
        autocomplete: "off",
        spellcheck: "false",
        placeholder: "the model decides",
        value: old[index] ?? "",
      }),
    );
    const rows = labels.map((token, index) =>
      h("label", {}, h("span", {}, `${index + 1} `, chip(token.text), " becomes"), this.pins[index]),
    );
    refill(this.pinList, rows);
    if (!labels.length)
      refill(this.pinList, h("p", { class: "faint" }, "No label is open: nothing would grow. Insert one."));
  }

  submit(event) {
    event.preventDefault();
    const context = this.field.value.split(/\s+/u).filter(Boolean).join(" ");
    if (!readContext(context).some((token) => token.label)) {
      this.field.setCustomValidity("Write at least one open label, such as <NP>.");
      this.field.reportValidity();
      this.field.addEventListener("input", () => this.field.setCustomValidity(""), { once: true });
      return;
    }
    const pins = this.pins
      .map((input, index) => ({ label: index + 1, words: input.value.trim() }))
      .filter((pin) => pin.words);
    const chosen = (wish) =>
      [...this.labelWishes].filter(([, select]) => select.value === wish).map(([label]) => label);
    const edit = {
      level: this.spot.level,
      node: this.spot.place,
      from: this.original,
      context: context === this.original ? null : context,
      pins,
      require: { words: list(this.require.value), labels: chosen("require") },
      forbid: { words: list(this.forbid.value), labels: chosen("forbid") },
      keep: this.keep.checked,
      ...(this.spot.lost && { lost: true }),
    };
    this.dialog.close();
    this.calls.grow(edit);
  }
}
