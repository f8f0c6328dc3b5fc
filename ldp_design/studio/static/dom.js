/** Makes elements: texts are never read as HTML. */
let isRedrawing = false;
let wanted = "";
const open = new Map(); // details, by their ids
/** Focus an element as soon as it is drawn, unless somebody is typing then. */
export const focusLater = (id) => { wanted = id; };

/** Return an element; attributes that begin with "on" are listeners, and children may be nested lists or nothing. */
export function h(tag, attributes = {}, ...children) {
  const isDrawing = ["svg", "line", "rect", "circle"].includes(tag);
  const element = isDrawing ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), (event) => isRedrawing || value(event));
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(3).filter(Boolean));
  if (tag === "select") element.value = attributes.value;
  if (["input", "textarea", "select"].includes(tag)) element.defaultValue = element.value;
  return element;
}

export const note = (...children) => h("p", { class: "hint" }, ...children);
export const card = (...children) => h("div", { class: "card" }, ...children);
export const row = (...children) => h("div", { class: "row" }, ...children);

function focus(element) {
  if (element && element.id === wanted) element.closest("details")?.setAttribute("open", "");
  element?.focus({ preventScroll: true });
  return element !== null && document.activeElement === element;
}

/** Replace the content of an element; focus, its place in the window, and what is being typed stay, by ids. */
export function redraw(parent, ...children) {
  const active = document.activeElement;
  const isInside = active?.id && parent.contains(active);
  const isTyped = isInside && active.type !== "file" && active.value !== (active.defaultValue ?? active.value);
  const ids = isInside ? [...parent.querySelectorAll("[id]")].map((each) => each.id) : [];
  const before = ids.slice(0, ids.indexOf(active?.id) + 1).reverse(); // if the element has gone
  const top = active?.getBoundingClientRect().top;
  const place = active?.selectionStart !== undefined && [active.selectionStart, active.selectionEnd];
  for (const each of parent.querySelectorAll("details[id]")) open.set(each.id, each.open);
  isRedrawing = true; // browsers report a change of a field that is removed while somebody types in it
  parent.replaceChildren(...children.flat(3).filter(Boolean));
  isRedrawing = false;
  for (const each of parent.querySelectorAll("details[id]")) each.open = open.get(each.id) ?? each.open;
  const again = [isTyped ? "" : wanted, ...before].map((id) => document.getElementById(id)).find(focus);
  wanted = "";
  if (!again || again.id !== active?.id) return again?.scrollIntoView({ block: "nearest" });
  scrollBy(0, again.getBoundingClientRect().top - top);
  if (isTyped) {
    again.value = active.value;
    const commit = () => again.value !== again.defaultValue && again.dispatchEvent(new Event("change"));
    again.addEventListener("blur", commit, { once: true }); // browsers see only what was typed here
  }
  if (place && again.selectionStart !== null) again.setSelectionRange(...place);
}

export function announce(text) {
  const live = document.getElementById("live");
  live.textContent = "";
  setTimeout(() => { live.textContent = text; }, 50);
}

/** Show a frame below the page; it is made anew only if its key has changed, because moving a frame reloads it. */
export function setStage(key, name, width, make) {
  const stage = document.getElementById("stage");
  stage.hidden = !key;
  stage.className = `stage ${width}`;
  stage.setAttribute("aria-label", name);
  if (key !== stage.dataset.key) stage.replaceChildren(...(key ? [make()] : []));
  stage.dataset.key = key;
}
