/**
 * The service as the page sees it: one call each, errors as one sentence, patience where the service asks for it.
 *
 * Busy (503): waits as long as the service says and tries again, at most five times.  Locked (401): asks for the token
 * and tries again.  Gone: throws `Gone`; `untilBack` waits for /healthz.
 */

const TOKEN = "syntagma.token";
const TRIES = 5;

/** What the service answered, in its own sentence. */
export class Refused extends Error {
  constructor(status, sentence) {
    super(sentence);
    this.status = status;
  }
}

/** The service does not answer at all. */
export class Gone extends Error {
  constructor() {
    super("The service does not answer.");
  }
}

/**
 * Hooks that the page sets: what to show while waiting, and how to ask for the token.
 * @type {{waiting: (text: string|null) => void, askToken: (wrong: boolean) => Promise<string|null>}}
 */
export const hooks = { waiting: () => {}, askToken: async () => null };

const sleep = (ms, signal) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("stopped", "AbortError"));
    });
  });

/** One request, with patience; the answer's body is not read yet. */
async function request(path, body, signal) {
  for (let tries = 1; ; tries += 1) {
    const token = sessionStorage.getItem(TOKEN);
    const headers = {
      ...(body && { "Content-Type": "application/json" }),
      ...(token && { Authorization: `Bearer ${token}` }),
    };
    let answer;
    try {
      answer = await fetch(path, {
        method: body ? "POST" : "GET",
        headers,
        body: body && JSON.stringify(body),
        signal,
      });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Gone();
    }
    if (answer.ok) {
      if (tries > 1) hooks.waiting(null);
      return answer;
    }
    const refused = new Refused(answer.status, await sentence(answer));
    if (answer.status === 401) {
      const given = await hooks.askToken(token !== null);
      if (given === null) throw refused;
      sessionStorage.setItem(TOKEN, given);
    } else if (answer.status === 503 && tries < TRIES) {
      const seconds = Math.min(30, Number(answer.headers.get("Retry-After")) || 1);
      hooks.waiting(`The service is busy. Trying again in ${seconds} s (${tries} of ${TRIES - 1}).`);
      await sleep(seconds * 1000, signal);
    } else {
      hooks.waiting(null);
      throw refused;
    }
  }
}

async function sentence(answer) {
  try {
    const { error } = await answer.json();
    if (typeof error === "string" && error) return error;
  } catch {
    // Not JSON: something else than the service answered.
  }
  return `The service answered with status ${answer.status}.`;
}

async function ask(path, body, signal) {
  return (await request(path, body, signal)).json();
}

export const models = () => ask("v1/models");
export const templateOf = (text, model) => ask("v1/template", { text, model });
/** The page that explains a search, as an address of this browser's. */
export const explain = async (body) => URL.createObjectURL(await (await request("v1/explain", body)).blob());
export const sentencesOf = (text) => ask("v1/sentences", { text });
export const compareNext = (voter, item = null) =>
  ask(`v1/compare/next?${new URLSearchParams({ voter, ...(item !== null && { item }) })}`);
export const compareVote = (vote) => ask("v1/compare/vote", vote);
export const controlNext = (annotator) => ask(`v1/control/next?annotator=${encodeURIComponent(annotator)}`);
export const controlEdit = (edit) => ask("v1/control/edit", edit);
export const controlJudge = (judgement) => ask("v1/control/judge", judgement);

/**
 * Grow, level by level.
 * @param {object} body as for /v1/grow
 * @param {(level: object) => void} onLevel called with each level's answer
 * @param {AbortSignal} signal
 * @returns {Promise<{outputs: object[], winners: number[][], left_out: {place: number, reason: string}[], rerank: string}>}
 */
export async function stream(body, onLevel, signal) {
  const answer = await request("v1/stream", body, signal);
  let done = null;
  for await (const { event, data } of events(answer.body)) {
    if (event === "level") onLevel(data);
    else if (event === "done") done = data;
    else if (event === "error") throw new Refused(200, data.error ?? "The service could not go on.");
  }
  if (done === null) throw new Gone(); // the connection broke before the end
  return done;
}

/** The server-sent events of a body. */
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    let part;
    try {
      part = await reader.read();
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Gone();
    }
    if (part.done) return;
    const blocks = (rest + part.value).replaceAll("\r\n", "\n").split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const event = read(block);
      if (event) yield event;
    }
  }
}

function read(block) {
  let event = "message";
  const data = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) event = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
  return data.length ? { event, data: JSON.parse(data.join("\n")) } : null;
}

/** Wait until the service answers again. */
export async function untilBack(signal) {
  for (let wait = 500; ; wait = Math.min(4000, wait * 1.5)) {
    await sleep(wait, signal);
    try {
      if ((await fetch("healthz", { signal, cache: "no-store" })).ok) return;
    } catch (error) {
      if (error.name === "AbortError") throw error;
    }
  }
}
