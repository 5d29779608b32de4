/**
 * Elements from values.  Text enters the page as text nodes only, so nothing that a user or a model writes is ever
 * read as markup; styles are set through classes and CSSOM, which the page's security policy allows.
 */

const SVG = "http://www.w3.org/2000/svg";

/**
 * Make an element: `h("p", {class: "note", dir: "auto"}, "text", child)`.
 * Names that begin with "on" add listeners; `true` sets an empty attribute; null, undefined and false set none.
 * @param {string} tag
 * @param {Object<string, any>} [attributes]
 * @param {...(Node|string|number|null|undefined|false)} children
 * @returns {HTMLElement}
 */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same for SVG. @returns {SVGElement} */
export function s(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "disabled") element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  add(element, ...children);
  return element;
}

/** Append nodes and texts, leaving out what is null, undefined or false. */
export function add(element, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

/** Put those children in place of the present ones. */
export function refill(element, ...children) {
  element.replaceChildren();
  return add(element, ...children);
}

/** The element with that id, which the page is known to have. @returns {any} */
export const byId = (id) => document.getElementById(id);

/** A number as people write it, with a true minus sign. */
export function number(value, digits = 3) {
  if (!Number.isFinite(value)) return "?";
  return (value < 0 ? "\u2212" : "") + Math.abs(value).toFixed(digits);
}

/** A text with a capital letter at its beginning. */
export const capitalised = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);

/** Tell a screen reader something without moving the focus. */
export function announce(text) {
  const region = byId("announcer");
  if (region) region.textContent = text;
}

/** Put text on the clipboard; also where the page is not served over a secure address. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = h("textarea", { class: "aside-copy", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

/** A button that copies what `text` gives, and says so. */
export function copier(name, text) {
  const button = h("button", { type: "button" }, name);
  button.addEventListener("click", async () => {
    await copy(text());
    button.textContent = "copied";
    setTimeout(() => {
      button.textContent = name;
    }, 1200);
  });
  return button;
}
