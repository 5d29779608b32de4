/**
 * The state as a link: the settings and the edits, which are grown again when it is opened.  Everything stands in the
 * fragment, so it never reaches a server's log.
 */

const VERSION = 1;

/** @param {import("./state.js").Store} store @returns {string} the fragment without its "#" */
export function toFragment({ settings, view }) {
  const place = (id) => view.branches.findIndex((branch) => branch.id === id);
  const edits = view.branches
    .filter((branch) => branch.edit)
    .map((branch) => ({ at: place(branch.parent), ...shortened(branch.edit) }));
  const value = {
    v: VERSION,
    settings,
    edits,
    active: place(view.active),
    beside: view.beside === null ? null : place(view.beside),
  };
  const bytes = new TextEncoder().encode(JSON.stringify(value));
  return `s=${btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "")}`;
}

/** What a fragment says, or null where it is none of ours. */
export function fromFragment(fragment) {
  const match = /^#?s=([\w-]+)$/u.exec(fragment);
  if (!match) return null;
  try {
    const bytes = Uint8Array.from(atob(match[1].replaceAll("-", "+").replaceAll("_", "/")), (letter) =>
      letter.charCodeAt(0),
    );
    const value = JSON.parse(new TextDecoder().decode(bytes));
    if (value.v !== VERSION || typeof value.settings?.text !== "string" || !Array.isArray(value.edits)) return null;
    return { ...value, edits: value.edits.map(lengthened) };
  } catch {
    return null;
  }
}

const NO_WISH = { words: [], labels: [] };
const isWish = (wish) => wish.words.length || wish.labels.length;

/** An edit without what is empty. */
function shortened({ level, node, from, context, pins, require, forbid, keep, lost }) {
  return {
    level,
    node,
    from,
    ...(context !== null && { context }),
    ...(pins.length && { pins }),
    ...(isWish(require) && { require }),
    ...(isWish(forbid) && { forbid }),
    ...(keep && { keep }),
    ...(lost && { lost }),
  };
}

function lengthened(edit) {
  return { context: null, pins: [], require: NO_WISH, forbid: NO_WISH, keep: false, ...edit };
}
