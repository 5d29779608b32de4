/**
 * Partial control as an experiment: change a context of a sentence, see what the model makes of it, say whether it did
 * what was asked.
 *
 * The service keeps every edit and judgement and knows where an annotator stopped, so the page resumes by itself.
 */

import { controlEdit, controlJudge, controlNext, models } from "./api.js";
import { common } from "./branches.js";
import { known, readContext, showText, showTokens } from "./context.js";
import { announce, byId, h, refill } from "./dom.js";
import { begin, isShortcut, notice, patiently, showProgress } from "./person.js";

let annotator = "";
let step = null;
let judged = null; // the last edit that was judged, to be judged again
let chosen = "";
let busy = false;

/** Do something with the service, one thing at a time; what it says against it is shown. */
async function attempt(work) {
  if (busy) return;
  busy = true;
  byId("generate").disabled = true;
  try {
    await work();
    notice(null);
  } catch (error) {
    notice(error, "This service was started without a control task.");
  } finally {
    busy = false;
    if (step?.task === "edit") preview();
  }
}

/** A context with what another does not have marked. */
function marked(context, other) {
  const tokens = readContext(context);
  const same = common(tokens, readContext(other));
  return showTokens(tokens.map((token, index) => ({ ...token, new: !same.has(index) })));
}

const after = () => byId("after").value.trim().split(/\s+/u).join(" ");

/** Show what is typed with its labels as chips, and whether it can be sent. */
function preview() {
  const changed = after() !== "" && after() !== chosen;
  refill(byId("preview"), changed ? marked(after(), chosen) : h("span", { class: "faint" }, "Nothing is changed yet."));
  byId("generate").disabled = busy || !changed;
}

function choose(context) {
  chosen = context;
  byId("after").value = context;
  preview();
}

function showContexts(contexts) {
  const rows = contexts.map((context, index) =>
    h(
      "label",
      {},
      h("input", { type: "radio", name: "context", checked: index === 0, onchange: () => choose(context) }),
      h("span", { dir: "auto" }, showText(context)),
    ),
  );
  refill(byId("contexts"), rows);
  choose(contexts[0]);
}

function show() {
  showProgress(step.task === null ? { ...step, source: undefined } : step, "That was the last one. Thank you.");
  byId("edit").hidden = step.task !== "edit";
  byId("judge").hidden = step.task !== "judge";
  byId("take-back").hidden = !judged || judged.edit === step.edit;
  if (step.task === "edit") {
    showContexts(step.contexts);
    byId("after").focus({ preventScroll: true });
    announce(`Sentence ${step.done + 1} of ${step.total}: ${step.source}`);
  } else if (step.task === "judge") {
    byId("asked-title").textContent = step.own ? "You asked for" : "Another annotator asked for";
    refill(byId("before"), showText(step.before));
    refill(byId("asked"), marked(step.after, step.before));
    byId("output").textContent = step.output || "nothing";
    byId("question").focus({ preventScroll: true });
    announce(`The model made: ${byId("output").textContent}`);
  }
  window.scrollTo(0, 0);
}

async function next() {
  step = await patiently(() => controlNext(annotator));
  show();
}

const judge = (followed) =>
  attempt(async () => {
    await patiently(() => controlJudge({ annotator, edit: step.edit, followed }));
    judged = step;
    await next();
  });

/** Ask again about the last edit; the later answer counts. */
function takeBack() {
  if (busy) return;
  step = judged;
  judged = null;
  show();
}

/** Begin. */
export function control() {
  annotator = begin({ id: "control", title: "partial control", kind: "annotator", role: "You annotate as" });
  byId("after").addEventListener("input", preview);
  byId("edit").addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(async () => {
      const edit = { annotator, item: step.id, before: chosen, after: after() };
      await patiently(() => controlEdit(edit));
      await next();
    });
  });
  for (const button of document.querySelectorAll("[data-followed]"))
    button.addEventListener("click", () => judge(button.dataset.followed === "true"));
  byId("take-back").addEventListener("click", takeBack);
  document.addEventListener("keydown", (event) => {
    if (!isShortcut(event) || step?.task !== "judge" || !["1", "2"].includes(event.key)) return;
    event.preventDefault();
    judge(event.key === "1");
  });
  attempt(async () => {
    known.labels = (await patiently(models)).models.flatMap(({ labels }) => labels);
    await next();
  });
}
