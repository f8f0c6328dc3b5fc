/** Makes elements: texts are never read as HTML. */

let isRedrawing = false;
let wanted = "";

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
  if (tag === "input" || tag === "textarea") element.defaultValue = element.value;
  if (tag === "select" && attributes.value !== undefined) element.value = attributes.value;
  return element;
}

export const note = (...children) => h("p", { class: "hint" }, ...children);
export const card = (...children) => h("div", { class: "card" }, ...children);
export const row = (...children) => h("div", { class: "row" }, ...children);

/** Replace the content of an element; focus, cursor and what is being typed stay, by the ids of elements. */
export function redraw(parent, ...children) {
  const active = document.activeElement;
  const isInside = active?.id && parent.contains(active);
  const typed = isInside && active.value !== (active.defaultValue ?? active.value) ? active.value : null;
  const id = typed === null && wanted || isInside && active.id;
  const place = active?.selectionStart !== undefined && [active.selectionStart, active.selectionEnd];
  const open = [...parent.querySelectorAll("details[id]")].map(({ id, open }) => [id, open]);
  isRedrawing = true; // browsers report a change of a field that is removed while somebody types in it
  parent.replaceChildren(...children.flat(3).filter(Boolean));
  isRedrawing = false;
  for (const [id, isOpen] of open) {
    const element = document.getElementById(id);
    if (element) element.open = isOpen;
  }
  const again = id && document.getElementById(id);
  if (!again) return;
  again.focus({ preventScroll: id !== wanted });
  if (id === wanted) return void (wanted = "");
  if (typed !== null) {
    again.value = typed;
    const commit = () => again.value !== again.defaultValue && again.dispatchEvent(new Event("change"));
    again.addEventListener("blur", commit, { once: true }); // browsers see only what was typed here
  }
  if (place && again.selectionStart !== null) again.setSelectionRange(...place);
}

/** Say a sentence to people who listen to the page. */
export function announce(text) {
  const live = document.getElementById("live");
  live.textContent = "";
  setTimeout(() => { live.textContent = text; }, 50);
}

let shown = "";

/** Show a frame below the page; it is made anew only if its key has changed, because moving a frame reloads it. */
export function setStage(key, name, width, make) {
  const stage = document.getElementById("stage");
  stage.hidden = !key;
  stage.className = `stage ${width}`;
  stage.setAttribute("aria-label", name);
  if (key !== shown) stage.replaceChildren(...(key ? [make()] : []));
  shown = key;
}
