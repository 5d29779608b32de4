/**
 * What the experiments with people share: who answers, how far she is, and patience with the service.
 */

import { Gone, hooks, untilBack } from "./api.js";
import { announce, byId } from "./dom.js";
import { askToken } from "./token.js";

/** Who answers: from the address (?voter=anna), or a name drawn once for this browser. */
function nameOf(kind) {
  const named = new URLSearchParams(window.location.search).get(kind);
  if (named) return named;
  const key = `syntagma.${kind}`;
  let name = localStorage.getItem(key);
  if (!name) {
    name = `${kind}-${[...crypto.getRandomValues(new Uint8Array(5))].map((byte) => byte.toString(36)).join("")}`;
    localStorage.setItem(key, name);
  }
  return name;
}

/**
 * Set the page up for an experiment; who answers.
 * @param {{id: string, title: string, kind: string, role: string, footnote?: string}} about `id`: of its template
 */
export function begin({ id, title, kind, role, footnote = "" }) {
  document.title = `Syntagma: ${title}`;
  byId("title").textContent = title;
  byId("work").append(byId(id).content);
  const person = nameOf(kind);
  byId("role").textContent = role;
  byId("person").textContent = person;
  byId("footnote").textContent = footnote;
  hooks.waiting = waiting;
  hooks.askToken = askToken;
  return person;
}

function waiting(text) {
  byId("waiting").hidden = !text;
  byId("waiting").textContent = text ?? "";
}

/** Ask the service; wait for it where it is gone. */
export async function patiently(call) {
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

/** Say what went wrong, or nothing any more. */
export function notice(error, missing = "") {
  byId("notice").hidden = !error;
  byId("notice").textContent = error?.status === 404 ? missing : (error?.message ?? "");
}

/** Show how far a person is, and the sentence, or that there is none left. */
export function showProgress({ done, total, source }, ending) {
  byId("progress-line").hidden = false;
  byId("progress").max = total || 1;
  byId("progress").value = done;
  byId("progress-text").textContent = `${done} of ${total}`;
  byId("item").hidden = source === undefined;
  byId("ending").hidden = source !== undefined;
  byId("ending").textContent = ending;
  byId("source").textContent = source ?? "";
  if (source === undefined) announce(ending);
}

/** Whether a key is meant for the page, not for a field or the browser. */
export const isShortcut = (event) =>
  !(event.altKey || event.ctrlKey || event.metaKey || event.repeat || byId("token").open) &&
  !event.target.matches("input, textarea, select");
