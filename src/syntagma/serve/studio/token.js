/** Asking for the service's token; it is kept until the tab is closed. */

import { byId, h, refill } from "./dom.js";

/** @param {boolean} wrong whether one was given already @returns {Promise<string|null>} null where the user gave up */
export function askToken(wrong) {
  const dialog = byId("token");
  return new Promise((resolve) => {
    const field = h("input", { id: "token-field", type: "password", autocomplete: "off", required: true });
    let given = null;
    const submit = (event) => {
      event.preventDefault();
      given = field.value;
      dialog.close();
    };
    refill(
      dialog,
      h(
        "form",
        { method: "dialog", onsubmit: submit },
        h("h2", { id: "token-title" }, "This service asks for a token"),
        h(
          "p",
          { class: "faint" },
          wrong
            ? "That token was not the right one."
            : "Whoever started it has it. It is kept until this tab is closed.",
        ),
        h("label", { for: "token-field" }, "Token"),
        field,
        h(
          "p",
          { class: "actions" },
          h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"),
          h("button", { type: "submit", class: "primary" }, "Use it"),
        ),
      ),
    );
    dialog.addEventListener("close", () => resolve(given), { once: true });
    dialog.showModal();
    field.focus();
  });
}
