// Small helpers for the DOM. Text is never inserted as HTML.

export const byId = (id) => document.getElementById(id);

/** Make an element. Attributes that are false or null are left out; children are nodes or text. */
export function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
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
