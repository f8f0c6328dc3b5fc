// Small helpers around the DOM. Text only ever goes in as text.

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

/** Set an element's text, unless it is that already: what does not change is not announced again. */
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
