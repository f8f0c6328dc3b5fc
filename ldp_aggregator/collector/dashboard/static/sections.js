// Shows the sections that the collector renders. What has not changed stays, with its focus, scrolling and selection.

import { byId } from "./dom.js";

const signedFormat = new Intl.NumberFormat("en", { signDisplay: "exceptZero" });
const PARTS = ["counts", "sections"];
const policy = globalThis.trustedTypes?.createPolicy("sections", { createHTML: (html) => html });

/** Only a table that is larger than its box makes the box a stop of the keyboard. */
const overflowing = new ResizeObserver((entries) => {
  for (const { target: box } of entries) {
    const scrolls = box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight;
    if (scrolls) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
});

/**
 * Show sections; return the counts in them by name.
 *
 * `before`: the counts of the last refresh; null for the first sections of a survey, which replace all others.
 */
export function showSections(html, before) {
  // The collector has escaped all texts, and the page's policy forbids scripts and styles in the HTML.
  const fresh = new DOMParser().parseFromString(policy ? policy.createHTML(html) : html, "text/html");
  const counts = showChanges(fresh, before);
  for (const box of fresh.querySelectorAll(".scroll")) box.removeAttribute("tabindex");
  if (before === null) removeSections();
  for (const id of PARTS) update(byId(id), fresh.getElementById(id));
  for (const box of document.querySelectorAll(".scroll")) overflowing.observe(box);
  return counts;
}

export function removeSections() {
  for (const id of PARTS) byId(id).replaceChildren();
}

export const formatChange = (n) => (n === 0 ? "no change" : signedFormat.format(n));

/** Write how much each count has changed; a reason of rejection may be new. */
function showChanges(fresh, before) {
  const counts = new Map();
  for (const node of fresh.querySelectorAll("[data-count]")) {
    const { name, count } = node.dataset;
    counts.set(name, Number(count));
    if (before) node.textContent = formatChange(count - (before.get(name) ?? 0));
  }
  return counts;
}

/** Make a node like a fresh one of the same name. */
function update(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  if (old.nodeType === Node.TEXT_NODE) {
    old.data = fresh.data;
    return;
  }
  for (const name of old.getAttributeNames()) {
    if (name !== "tabindex" && !fresh.hasAttribute(name)) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) old.setAttribute(name, value);
  const [nodes, others] = [[...old.childNodes], [...fresh.childNodes]];
  if (nodes.length === others.length && nodes.every(({ nodeName }, index) => nodeName === others[index].nodeName)) {
    nodes.forEach((node, index) => update(node, others[index]));
  } else {
    old.replaceChildren(...others);
  }
}
