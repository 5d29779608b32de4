/**
 * The blind comparison: two systems' outputs for a sentence, one question at a time, by mouse or by keyboard alone.
 *
 * A vote that the service has not confirmed is kept in the browser and sent again, so none is lost when the service
 * goes away; the service knows where a voter stopped, so the page resumes by itself.
 */

import { compareNext, compareVote, Gone, hooks, untilBack } from "./api.js";
import { announce, byId, h, refill } from "./dom.js";
import { askToken } from "./token.js";

const VOTER = "syntagma.voter";
const PENDING = "syntagma.pending-vote";
const QUESTIONS = {
  fidelity: ["Fidelity", "Whose first line means more nearly the same as the sentence?"],
  novelty: ["Novelty", "Whose first line changes the structure of the sentence more?"],
  diversity: ["Diversity", "Whose lines differ more from one another?"],
};
const SAID = { left: "left", right: "right", tie: "no difference" };
const KEYS = { 1: "left", 2: "tie", 3: "right", ArrowLeft: "left", ArrowDown: "tie", ArrowRight: "right" };

let item = null;
let answers = {};
let busy = false;

/** Who votes: from the address (?voter=anna), or a name drawn once for this browser. */
function voterName() {
  const named = new URLSearchParams(window.location.search).get("voter");
  if (named) return named;
  let found = localStorage.getItem(VOTER);
  if (!found) {
    found = `voter-${[...crypto.getRandomValues(new Uint8Array(5))].map((byte) => byte.toString(36)).join("")}`;
    localStorage.setItem(VOTER, found);
  }
  return found;
}
const voter = voterName();
const pendingKey = `${PENDING}.${voter}`;

function waiting(text) {
  byId("waiting").hidden = !text;
  byId("waiting").textContent = text ?? "";
}
hooks.waiting = waiting;
hooks.askToken = askToken;

/** Ask the service; wait for it where it is gone. */
async function patiently(call) {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof Gone)) throw error;
      waiting("The service does not answer. Your answers are kept and sent when it is back.");
      await untilBack();
      waiting(null);
    }
  }
}

/** Send what is unsent, then show the next sentence. */
async function next() {
  busy = true;
  try {
    const pending = localStorage.getItem(pendingKey);
    if (pending) {
      await patiently(() => compareVote(JSON.parse(pending)));
      localStorage.removeItem(pendingKey);
    }
    item = await patiently(() => compareNext(voter));
    byId("notice").hidden = true;
    show();
  } catch (error) {
    byId("notice").hidden = false;
    byId("notice").textContent =
      error.status === 404 ? "This service was started without a comparison." : error.message;
  } finally {
    busy = false;
  }
}

function show() {
  answers = {};
  const { done, total } = item;
  byId("progress-line").hidden = false;
  byId("progress").max = total || 1;
  byId("progress").value = done;
  byId("progress-text").textContent = `${done} of ${total}`;
  byId("item").hidden = item.item === null;
  byId("ending").hidden = item.item !== null;
  if (item.item === null) {
    byId("ending").textContent = total ? "That was the last one. Thank you." : "There is nothing to compare.";
    announce(byId("ending").textContent);
    return;
  }
  byId("source").textContent = item.source;
  for (const side of ["left", "right"])
    refill(
      byId(side),
      item[side].map((text) => h("li", { dir: "auto" }, text)),
    );
  announce(`Sentence ${done + 1} of ${total}: ${item.source}`);
  ask();
  window.scrollTo(0, 0);
}

const open = () => item.questions.find((question) => !(question in answers));

/** Show the question that is open, and the answers already given. */
function ask() {
  const question = open();
  const [name, text] = QUESTIONS[question] ?? [question, "Which is better?"];
  refill(byId("question"), h("b", {}, `${name}. `), text);
  const given = Object.entries(answers).map(([key, answer]) =>
    h("li", {}, `${(QUESTIONS[key] ?? [key])[0]}: `, h("b", {}, SAID[answer])),
  );
  refill(byId("given"), given);
  byId("question").focus({ preventScroll: true });
}

async function answer(choice) {
  if (busy || !item?.item) return;
  answers[open()] = choice;
  if (open() !== undefined) {
    ask();
    return;
  }
  localStorage.setItem(pendingKey, JSON.stringify({ voter, item: item.item, answers }));
  await next();
}

function takeBack() {
  const last = Object.keys(answers).at(-1);
  if (busy || last === undefined) return;
  delete answers[last];
  ask();
}

for (const button of document.querySelectorAll("[data-answer]"))
  button.addEventListener("click", () => answer(button.dataset.answer));
document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.repeat || byId("token").open) return;
  if (KEYS[event.key]) {
    event.preventDefault();
    answer(KEYS[event.key]);
  } else if (event.key === "Backspace") {
    event.preventDefault();
    takeBack();
  }
});

byId("voter").textContent = voter;
next();
