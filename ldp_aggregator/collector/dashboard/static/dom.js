// Small helpers for the page. Text is never inserted as HTML.

export const byId = (id) => document.getElementById(id);

/** Make an element with attributes and children, which are nodes or text. */
export function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

/** Set an element's text if it differs, so that screen readers do not announce unchanged text again. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export const formatCount = (n) => n.toLocaleString("en");

/** Save a Blob as a file of the operator's computer. */
export function saveFile(blob, name) {
  const url = URL.createObjectURL(blob);
  element("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000); // after the browser has read it
}
