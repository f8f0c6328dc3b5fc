// Small helpers for the DOM. Text is never inserted as HTML.

export const byId = (id) => document.getElementById(id);

/** Make an element. Attributes that are false or null are left out; children are nodes or text. */
export const element = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);

/** Make an element of an SVG, in the same way. */
export const svgElement = (name, attributes = {}, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

/** Make the mark that stands after a name; nothing if it is not shown. */
export function markOf(isShown, text = "differ") {
  const mark = element("span", { class: "mark" }, element("span", { "aria-hidden": "true" }, "●"), ` ${text}`);
  const fragment = new DocumentFragment();
  if (isShown) fragment.append(" ", mark);
  return fragment;
}

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== false && value !== null) node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

/** Set an element's text if it differs, so that screen readers do not announce unchanged text again. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Show the terms and descriptions of a <dl>. */
export function describe(list, pairs) {
  list.replaceChildren(
    ...pairs.map(([term, ...descriptions]) =>
      element("div", {}, element("dt", {}, term), element("dd", {}, ...descriptions)),
    ),
  );
}

/** Save a Blob as a file of the operator's computer. */
export function saveFile(blob, name) {
  const url = URL.createObjectURL(blob);
  element("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000); // after the browser has read it
}
