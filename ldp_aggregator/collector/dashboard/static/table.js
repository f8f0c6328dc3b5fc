// Tables of the numbers that the charts show.

import { element } from "./dom.js";

/** A table larger than its box scrolls. Only then its box is focusable by keyboard and has a name. */
const overflowing = new ResizeObserver((entries) => {
  for (const { target: box } of entries) {
    const scrolls = box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight;
    const marks = { tabindex: "0", role: "region", "aria-label": box.caption };
    for (const [name, value] of Object.entries(marks)) {
      if (scrolls) box.setAttribute(name, value);
      else box.removeAttribute(name);
    }
  }
});

/** A table whose rows can be replaced; columns from index `figures` on contain numbers. */
export class Table {
  constructor(caption, heads, { hideCaption = false, figures = 1 } = {}) {
    this.figures = figures;
    this.body = element("tbody");
    const head = heads.map((text, place) => element("th", { scope: "col", class: this.#kind(place) }, text));
    const title = element("caption", { class: hideCaption ? "visually-hidden" : false }, caption);
    const table = element("table", {}, title, element("thead", {}, element("tr", {}, ...head)), this.body);
    this.node = element("div", { class: "scroll" }, table);
    this.node.caption = caption;
    overflowing.observe(this.node);
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
    return place >= this.figures ? "figure" : false;
  }
}

/** A table that a button shows and hides. */
export function foldedTable(summary, table) {
  return element("details", {}, element("summary", {}, summary), table.node);
}
