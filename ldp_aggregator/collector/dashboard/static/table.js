// Tables of texts, and the boxes in which wide tables scroll.

import { element } from "./dom.js";

/** A table larger than its box scrolls. Only then its box is focusable by keyboard and has a name. */
const overflowing = new ResizeObserver((entries) => {
  for (const { target: box } of entries) {
    const scrolls = box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight;
    const marks = { tabindex: "0", role: "region", "aria-label": box.name };
    for (const [name, value] of Object.entries(marks)) {
      if (scrolls) box.setAttribute(name, value);
      else box.removeAttribute(name);
    }
  }
});

/** Return the box of a table; `name` names it for screen readers. */
export function makeScrollBox(name, ...children) {
  const box = Object.assign(element("div", { class: "scroll" }, ...children), { name });
  overflowing.observe(box);
  return box;
}

/** A table whose rows can be replaced; columns from index `figures` on contain numbers. */
export class Table {
  constructor(caption, heads, figures = 1) {
    this.figures = figures;
    this.body = element("tbody");
    const head = heads.map((text, place) => element("th", { scope: "col", class: this.#kind(place) }, text));
    const title = element("caption", {}, caption);
    const table = element("table", {}, title, element("thead", {}, element("tr", {}, ...head)), this.body);
    this.node = makeScrollBox(caption, table);
  }

  /** Show rows of texts; the first cell names the row. */
  show(rows) {
    this.body.replaceChildren(
      ...rows.map(([first, ...cells]) =>
        element(
          "tr",
          {},
          element("th", { scope: "row" }, first),
          ...cells.map((cell, place) => element("td", { class: this.#kind(place + 1) }, cell)),
        ),
      ),
    );
  }

  #kind(place) {
    return place >= this.figures ? "number" : false;
  }
}
