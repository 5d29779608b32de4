/**
 * The blind comparison: two systems' outputs for a sentence, one question at a time, by mouse or by keyboard alone.
 *
 * A vote that the service has not confirmed is kept in the browser and sent again, so none is lost when the service
 * goes away; the service knows where a voter stopped, so the page resumes by itself.
 */

import { compareNext, compareVote } from "./api.js";
import { announce, byId, capitalised, h, refill } from "./dom.js";
import { begin, isShortcut, notice, patiently, showProgress } from "./person.js";

const SAID = { left: "left", right: "right", tie: "no difference" };
const ARROWS = { ArrowLeft: "left", ArrowDown: "tie", ArrowRight: "right" };

let voter = "";
let pendingKey = "";
let item = null;
let answers = {};
let busy = false;

/** Send what is unsent, then show the next sentence, or one that was voted on before. */
async function next(again = null) {
  busy = true;
  try {
    const pending = localStorage.getItem(pendingKey);
    if (pending) {
      await patiently(() => compareVote(JSON.parse(pending)));
      localStorage.removeItem(pendingKey);
    }
    item = await patiently(() => compareNext(voter, again));
    notice(null);
    show(again !== null);
  } catch (error) {
    notice(error, "This service was started without a comparison.");
  } finally {
    busy = false;
  }
}

/** Show a sentence; where it was voted on before, with all answers but the last. */
function show(again) {
  answers = {};
  if (again) for (const { name } of item.questions.slice(0, -1)) answers[name] = item.answers[name];
  const { done, total } = item;
  showProgress(
    { done, total, source: item.item === null ? undefined : item.source },
    total ? "That was the last one. Thank you." : "There is nothing to compare.",
  );
  if (item.item === null) {
    byId("take-back").hidden = item.before === null;
    return;
  }
  for (const side of ["left", "right"])
    refill(
      byId(side),
      item[side].map((text) => h("li", { dir: "auto" }, text)),
    );
  announce(again ? `Again: ${item.source}` : `Sentence ${done + 1} of ${total}: ${item.source}`);
  ask();
  window.scrollTo(0, 0);
}

const open = () => item.questions.find(({ name }) => !(name in answers));
/** The answers that there are, in the order of their buttons. */
const choices = () => (item?.ties === false ? ["left", "right"] : ["left", "tie", "right"]);

/** Show the question that is open, and the answers already given. */
function ask() {
  const { name, text } = open();
  const several = item.left.length > 1 || item.right.length > 1;
  const first = several && /^which\b/iu.test(text) && h("span", { class: "faint" }, " Judge by the first lines.");
  refill(byId("question"), h("b", {}, `${capitalised(name)}. `), text, first);
  const given = Object.entries(answers).map(([key, answer]) =>
    h("li", {}, `${capitalised(key)}: `, h("b", {}, SAID[answer])),
  );
  refill(byId("given"), given);
  for (const button of document.querySelectorAll("[data-answer]")) {
    const place = choices().indexOf(button.dataset.answer);
    button.hidden = place < 0;
    button.querySelector("kbd").textContent = place + 1;
  }
  byId("take-back").hidden = !given.length && item.before === null;
  byId("question").focus({ preventScroll: true });
}

async function answer(choice) {
  if (busy || !item?.item || !choices().includes(choice)) return;
  answers[open().name] = choice;
  if (open() !== undefined) {
    ask();
    return;
  }
  localStorage.setItem(pendingKey, JSON.stringify({ voter, item: item.item, answers }));
  await next();
}

/** Undo the last answer: of this sentence, or of the one before. */
async function takeBack() {
  if (busy || !item) return;
  const last = Object.keys(answers).at(-1);
  if (last !== undefined) {
    delete answers[last];
    ask();
  } else if (item.before !== null) await next(item.before);
}

/** Begin. */
export function compare() {
  voter = begin({
    id: "compare",
    title: "blind comparison",
    kind: "voter",
    role: "You vote as",
    footnote: "Which system stands left is drawn anew for each sentence.",
  });
  pendingKey = `syntagma.pending-vote.${voter}`;
  byId("keys").hidden = false;
  refill(byId("keys"), "Keys: the numbers or arrows answer, ", h("kbd", {}, "Backspace"), " undoes.");
  for (const button of document.querySelectorAll("[data-answer]"))
    button.addEventListener("click", () => answer(button.dataset.answer));
  byId("take-back").addEventListener("click", takeBack);
  document.addEventListener("keydown", (event) => {
    if (!isShortcut(event)) return;
    const choice = ARROWS[event.key] ?? choices()[Number(event.key) - 1];
    if (choice) {
      event.preventDefault();
      answer(choice);
    } else if (event.key === "Backspace") {
      event.preventDefault();
      takeBack();
    }
  });
  next();
}
