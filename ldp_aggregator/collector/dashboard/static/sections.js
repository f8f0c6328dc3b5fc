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
  updateChildren(old, [...old.childNodes], [...fresh.childNodes]);
}

/** Update the first and the last children that have fresh ones of the same name and id; replace those between. */
function updateChildren(old, nodes, others) {
  const isSame = (one, other) => one.nodeName === other.nodeName && one.id === other.id;
  const most = Math.min(nodes.length, others.length);
  let [first, last] = [0, 0];
  while (first < most && isSame(nodes[first], others[first])) first += 1;
  while (first + last < most && isSame(nodes.at(-1 - last), others.at(-1 - last))) last += 1;
  for (let index = 0; index < first; index += 1) update(nodes[index], others[index]);
  for (let index = -last; index < 0; index += 1) update(nodes.at(index), others.at(index));
  const next = nodes[nodes.length - last] ?? null;
  for (const node of nodes.slice(first, nodes.length - last)) node.remove();
  for (const node of others.slice(first, others.length - last)) old.insertBefore(node, next);
}
