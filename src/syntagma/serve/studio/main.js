/** The studio: the form, the growth, and what is drawn of it, put together. */

import { Gone, hooks, models, untilBack } from "./api.js";
import { BeamView } from "./beam.js";
import { drawBranches, inWords } from "./branches.js";
import { readContext, spoken } from "./context.js";
import { announce, byId, capitalised, copy, h, refill } from "./dom.js";
import { EditDialog } from "./edit.js";
import { Form } from "./form.js";
import { drawGlance, lastView, MOST, showView } from "./glance.js";
import { growBranch, textsOf } from "./growth.js";
import { remember, showHistory } from "./history.js";
import { inspect } from "./inspect.js";
import { fromFragment, toFragment } from "./link.js";
import { ResultView } from "./result.js";
import { isEmpty, Store } from "./state.js";
import { askToken } from "./token.js";

const store = new Store();
let running = null; // the controller of what grows now
let whole = null; // the text of several sentences of which one grows

/** The first context of the active branch, as text and as tokens. */
function startText() {
  return store.branch?.start ?? store.settings?.start ?? "<T>";
}
const start = () => readContext(startText());

const hint = [...byId("inspector").childNodes]; // what stands there until something is pointed at

const form = new Form({ grow: () => grow(), stop: () => running?.abort(), fail });
const edit = new EditDialog({ grow: (change) => growOn(change), start, startText });
const beam = new BeamView(byId("beam"), {
  start,
  open: (spot) => edit.open(spot),
  look: (spot, label) =>
    spot
      ? inspect(byId("inspector"), spot, label, start(), (other, pin) => edit.open(other, pin))
      : byId("inspector").replaceChildren(...hint),
});
const result = new ResultView({ start, fail });

/* -- telling */

function notice(text) {
  byId("notice").hidden = !text;
  refill(
    byId("notice"),
    text,
    text &&
      h(
        "button",
        { type: "button", class: "plain", "aria-label": "Close this message", onclick: () => notice("") },
        "×",
      ),
  );
}

function waiting(text) {
  byId("waiting").hidden = !text;
  byId("waiting").textContent = text ?? "";
}

/** One kind sentence about what went wrong. */
function fail(error) {
  if (error.name === "AbortError") return;
  notice(capitalised(error.message || "Something went wrong."));
}

hooks.waiting = waiting;
hooks.askToken = askToken;

function gone(isGone) {
  waiting(isGone ? "The service does not answer. Waiting for it; the growth goes on when it is back." : null);
  if (!isGone) announce("The service is back.");
}

/* -- growing */

/** Grow a branch and say how it went; false where it did not reach its end. */
async function run(branch) {
  running?.abort();
  const controller = new AbortController();
  running = controller;
  form.growing(true);
  notice("");
  const calls = {
    gone,
    level: (_, level) => {
      store.changed();
      const best = level.beam[0];
      if (best) announce(`Depth ${level.depth}: ${level.beam.length} contexts, the best is ${spoken(best.tokens)}`);
    },
  };
  try {
    await growBranch(store.settings, branch, calls, controller.signal);
    announce(`Finished: ${branch.outputs[0]?.text ?? "nothing"}`);
    return true;
  } catch (error) {
    branch.status = "stopped";
    if (branch.levels.length === branch.fixed) store.drop(branch);
    fail(error);
    return false;
  } finally {
    if (running === controller) {
      running = null;
      form.growing(false);
      waiting(null);
    }
    store.changed();
  }
}

async function grow() {
  const read = form.read();
  const settings = onlyTexts() ? { ...read, nbest: MOST } : read;
  try {
    return await growSentence(settings, await form.sentencesOf(settings.text), 0);
  } catch (error) {
    fail(error);
    return false;
  }
}

/** Grow one of the sentences of a text. */
async function growSentence(settings, sentences, index) {
  form.showSentences(sentences, index, (other) => growSentence(settings, sentences, other));
  if (sentences.length < 2) whole = null;
  else if (whole?.sentences !== sentences) whole = { settings, sentences, texts: null };
  const done = await run(store.begin({ ...settings, text: sentences[index] }));
  if (done) {
    keep();
    completeTexts();
  }
  return done;
}

const onlyTexts = () => document.body.dataset.view === "texts";

/** Where only texts are shown, several are wanted, and of a text all sentences. */
async function completeTexts() {
  if (running || !onlyTexts()) return;
  const wanted = whole;
  if (wanted?.texts === null) {
    wanted.texts = undefined; // under way
    wanted.texts = await textsOf(wanted.sentences, { ...wanted.settings, nbest: MOST }, fail);
    store.changed();
  } else if (!wanted && grownForItself()) {
    if (await run(store.begin({ ...store.settings, nbest: MOST }))) keep();
  }
}

/** Whether what is shown was grown without an edit, for fewer texts than are shown at a glance. */
function grownForItself() {
  const { branch, settings, view } = store;
  const few = branch?.status === "done" && branch.levels.length && branch.outputs.length < MOST;
  return few && !settings.nbest && view.branches.length === 1;
}

async function growOn(change) {
  if (isEmpty(change) && change.keep) return false;
  whole = null; // an edit is of one sentence
  const done = await run(store.fork(change));
  if (done) {
    keep();
    beam.focusWay(change.level + 1);
  }
  return done;
}

/** Put the state into the address and the history. */
function keep() {
  const fragment = toFragment(store);
  window.history.replaceState(null, "", `#${fragment}`);
  const last = store.branch;
  const text = last.edit ? `${store.settings.text} (${inWords(last.edit)})` : store.settings.text;
  remember(text, last.outputs[0]?.text ?? "", fragment);
}

/** Grow again what a link describes. */
async function replay(fragment) {
  const wanted = fromFragment(fragment);
  if (!wanted) {
    if (/^#?s=/u.test(fragment)) notice("This link cannot be read: it was cut short, or made by another version.");
    return;
  }
  whole = null;
  form.write(wanted.settings);
  if (!(await run(store.begin(wanted.settings)))) return;
  for (const { at: index, ...change } of wanted.edits) {
    const parent = store.view.branches[index];
    const place = placeOf(parent, change);
    if (place === null) {
      notice("The model answers otherwise than when this link was made, so one of its edits found no place.");
      break;
    }
    store.look({ active: parent.id });
    if (!(await run(store.fork({ ...change, node: place })))) return;
  }
  const shown = (index) => store.view.branches[index]?.id ?? null;
  store.look({
    active: shown(wanted.active) ?? store.view.active,
    beside: wanted.beside === null ? null : shown(wanted.beside),
    chosen: 0,
  });
  keep();
}

/** Where the context that an edit changed stands now. */
function placeOf(parent, { level, node, from, lost }) {
  if (!parent || level < 0) return parent ? 0 : null;
  const shown = parent.levels[level];
  const contexts = (lost ? shown?.lost : shown?.beam)?.map((node) => node.context) ?? [];
  if (contexts[node] === from) return node;
  const index = contexts.indexOf(from);
  return index >= 0 ? index : null;
}

/* -- drawing */

store.watch(() => {
  const there = Boolean(store.branch);
  byId("welcome").hidden = there;
  // What the model cannot read has no beam.
  byId("beam-section").hidden = !there || (store.branch.status === "done" && !store.branch.levels.length);
  beam.draw(store);
  result.draw(store);
  drawGlance(store, whole);
  drawBranches(store);
  byId("undo").disabled = !store.past.length || running !== null;
  byId("redo").disabled = !store.future.length || running !== null;
  byId("copy-link").disabled = store.branch?.status !== "done";
});

function travel(step) {
  if (running) return;
  whole = null;
  step();
  if (store.settings) form.write(store.settings);
  if (store.branch) window.history.replaceState(null, "", `#${toFragment(store)}`);
  announce(store.branch?.outputs[0] ? `Now: ${store.branch.outputs[0].text}` : "");
}

byId("undo").addEventListener("click", () => travel(() => store.undo()));
byId("redo").addEventListener("click", () => travel(() => store.redo()));
document.addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z" || event.target.matches("input, textarea"))
    return;
  event.preventDefault();
  travel(() => (event.shiftKey ? store.redo() : store.undo()));
});
byId("copy-link").addEventListener("click", async () => {
  await copy(window.location.href);
  byId("copy-link").textContent = "Copied";
  setTimeout(() => {
    byId("copy-link").textContent = "Copy link";
  }, 1200);
});
byId("open-history").addEventListener("click", () =>
  showHistory((link) => {
    window.location.hash = link;
  }),
);
for (const view of ["texts", "growth"]) {
  byId(`view-${view}`).addEventListener("click", () => {
    showView(view);
    completeTexts();
  });
}
showView(lastView());
byId("open-help").addEventListener("click", () => byId("help").showModal());
window.addEventListener("hashchange", () => replay(window.location.hash));

/* -- beginning */

async function begin() {
  for (;;) {
    try {
      form.setModels((await models()).models);
      break;
    } catch (error) {
      if (!(error instanceof Gone)) return fail(error);
      waiting("The service does not answer. Waiting for it.");
      await untilBack();
      waiting(null);
    }
  }
  document.body.dataset.ready = "true";
  byId("text").focus();
  return replay(window.location.hash);
}

begin();
