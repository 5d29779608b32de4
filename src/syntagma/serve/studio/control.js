/**
 * Partial control as an experiment: change a context of a sentence, see what the model makes of it, say whether it followed.
 *
 * The service keeps every edit and judgement and knows where an annotator stopped, so the page resumes by itself.
 */

import { controlEdit, controlJudge, controlNext, hooks } from "./api.js";
import { byId, h, refill } from "./dom.js";
import { askToken } from "./token.js";

const ANNOTATOR = "syntagma.annotator";

/** Who annotates: from the address (?annotator=anna), or a name drawn once for this browser. */
function annotatorName() {
  const named = new URLSearchParams(window.location.search).get("annotator");
  if (named) return named;
  let found = localStorage.getItem(ANNOTATOR);
  if (!found) {
    found = `annotator-${[...crypto.getRandomValues(new Uint8Array(5))].map((byte) => byte.toString(36)).join("")}`;
    localStorage.setItem(ANNOTATOR, found);
  }
  return found;
}
const annotator = annotatorName();

let step = null;
let chosen = "";

function waiting(text) {
  byId("waiting").hidden = !text;
  byId("waiting").textContent = text ?? "";
}
hooks.waiting = waiting;
hooks.askToken = askToken;

/** Do something with the service; what it says against it is shown. */
async function attempt(work) {
  byId("notice").hidden = true;
  try {
    await work();
  } catch (error) {
    byId("notice").hidden = false;
    byId("notice").textContent =
      error.status === 404 ? "This service was started without a control task." : error.message;
  }
}

function choose(context) {
  chosen = context;
  byId("after").value = context;
}

function showContexts(contexts) {
  const rows = contexts.map((context, index) => {
    const radio = h("input", { type: "radio", name: "context", id: `context-${index}` });
    radio.checked = index === 0;
    radio.addEventListener("change", () => choose(context));
    return h("p", {}, radio, " ", h("label", { for: `context-${index}` }, context));
  });
  refill(byId("contexts"), ...rows);
  choose(contexts[0]);
}

function show() {
  byId("progress-line").hidden = false;
  byId("progress").max = step.total;
  byId("progress").value = step.done;
  byId("progress-text").textContent = `${step.done} of ${step.total}`;
  byId("item").hidden = step.task === null;
  byId("ending").hidden = step.task !== null;
  byId("ending").textContent = "All is done. Thank you.";
  byId("edit").hidden = step.task !== "edit";
  byId("judge").hidden = step.task !== "judge";
  if (step.task === null) return;
  byId("source").textContent = step.source;
  if (step.task === "edit") {
    showContexts(step.contexts);
    byId("after").focus();
  } else {
    byId("before").textContent = step.before;
    byId("asked").textContent = step.after;
    byId("output").textContent = step.output;
    byId("question").focus();
  }
}

const next = () =>
  attempt(async () => {
    step = await controlNext(annotator);
    show();
  });

byId("edit").addEventListener("submit", (event) => {
  event.preventDefault();
  const after = byId("after").value.trim();
  attempt(async () => {
    await controlEdit({ annotator, item: step.id, before: chosen, after });
    await next();
  });
});
for (const button of document.querySelectorAll("[data-followed]")) {
  button.addEventListener("click", () =>
    attempt(async () => {
      await controlJudge({ annotator, edit: step.edit, followed: button.dataset.followed === "true" });
      await next();
    }),
  );
}
byId("annotator").textContent = annotator;
next();
