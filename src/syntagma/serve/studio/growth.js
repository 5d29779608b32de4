/**
 * Growing a branch: asking the service, taking in the levels as they come, and going on where it broke off.
 * Nothing is kept by the service between requests: the beam's own states say where to go on.
 */

import { Gone, stream, untilBack } from "./api.js";

/**
 * The request that begins a branch.
 * @param {object} settings @param {import("./state.js").Branch} branch
 */
export function firstRequest(settings, branch) {
  const { edit } = branch;
  if (!edit) return { ...settings };
  const body = { ...settings, require: edit.require, forbid: edit.forbid };
  const last = branch.levels.at(-1);
  if (!last) {
    if (branch.start !== undefined) {
      delete body.start;
      body.beam_state = [{ context: branch.start }];
    }
    if (edit.pins.length) body.pins = edit.pins.map((pin) => ({ index: 0, ...pin }));
    return body;
  }
  // A state is what the service grew; what the user has made of it since, in this branch or before, goes along.
  const nodes = branch.sent.map((place) => last.beam[place]);
  body.beam_state = nodes.map(({ state, was, context }) => (was === undefined ? { state } : { state, context }));
  const pins = nodes.flatMap((node, index) => (node.pins ?? []).map((pin) => ({ index, ...pin })));
  if (pins.length) body.pins = pins;
  return body;
}

/** The request that goes on after the last level that arrived. */
function nextRequest(settings, branch) {
  if (branch.levels.length === branch.fixed) return firstRequest(settings, branch);
  const body = { ...settings, beam_state: branch.levels.at(-1).beam.map(({ state }) => ({ state })) };
  if (branch.edit) {
    body.require = { words: branch.edit.require.words, labels: [] }; // a label is required of one infill
    body.forbid = branch.edit.forbid;
  }
  return body;
}

/**
 * Grow a branch to its end.
 * @param {object} settings
 * @param {import("./state.js").Branch} branch
 * @param {{level: (branch: object, level: object) => void, gone: (gone: boolean) => void}} calls
 * @param {AbortSignal} signal
 */
export async function growBranch(settings, branch, calls, signal) {
  const take = (level) => {
    const first = branch.levels.length === branch.fixed && branch.sent;
    branch.levels.push(first ? { ...level, sent: branch.sent } : level);
    calls.level(branch, level);
  };
  for (;;) {
    try {
      const done = await stream(nextRequest(settings, branch), take, signal);
      for (const { place, reason } of done.left_out) branch.levels.at(-1).beam[place].reason = reason;
      branch.outputs = done.outputs;
      branch.rerank = done.rerank;
      branch.ends = ends(branch, done);
      branch.status = "done";
      return;
    } catch (error) {
      if (!(error instanceof Gone)) throw error;
      calls.gone(true);
      await untilBack(signal);
      calls.gone(false);
    }
  }
}

/** Where each output stands in the last beam; -1 for the source, which is returned where nothing in it is good enough. */
function ends(branch, { outputs, winners }) {
  const finished = branch.levels.at(-1)?.beam.flatMap((node, place) => (node.finished ? [place] : [])) ?? [];
  if (!winners.length) return outputs.map(() => -1);
  return outputs.map((_, at) => winners[at]?.at(-1) ?? finished[at] ?? 0);
}

/** The texts that each of several sentences grows into, as its growth would show them; none where it is refused. */
export async function textsOf(sentences, settings, fail) {
  const texts = [];
  for (const text of sentences) {
    try {
      const { outputs } = await stream({ ...settings, text }, () => {});
      texts.push(outputs.map((output) => output.text));
    } catch (error) {
      texts.push([]);
      fail(error);
    }
  }
  return texts;
}
