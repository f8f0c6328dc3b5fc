/**
 * The looks of the form; an author changes them with custom properties and `::part`.
 *
 * The colours follow the page's `color-scheme`. All buttons look the same, so that neither yes nor no is suggested.
 */

import { make } from "./dom.js";

const STYLE = `
:host {
  --ground: var(--ldp-ground, Canvas);
  --ink: var(--ldp-ink, CanvasText);
  --quiet: color-mix(in srgb, var(--ink) 75%, var(--ground));
  --line: color-mix(in srgb, var(--ink) 50%, var(--ground));
  --accent: var(--ldp-accent, light-dark(#14528f, #9cc7f5));
  --alert: var(--ldp-alert, light-dark(#a3161c, #ff9d9a));
  display: block;
  color: var(--ink);
  background: var(--ground);
  font: var(--ldp-font, 1.0625rem/1.5 system-ui, sans-serif);
  overflow-wrap: anywhere;
}
* { box-sizing: border-box; }
h1, h2, p, ol, dl, dd { margin: 0 0 .6rem; }
.quiet, caption, dt { color: var(--quiet); }
.quiet, dd { white-space: pre-line; }
section, header { padding: 1rem 0; border-bottom: 1px solid var(--line); }
fieldset { margin: 0 0 1.5rem; padding: 0; border: 0; min-width: 0; break-inside: avoid; }
legend { padding: 0; font-weight: 600; }
.problem { color: var(--alert); }
label { display: flex; gap: .6rem; align-items: center; min-height: 2.75rem; padding: .3rem .6rem; }
fieldset label { margin: .4rem 0; border: 1px solid var(--line); border-radius: .4rem; cursor: pointer; }
fieldset label:has(:checked) { border-color: var(--accent); box-shadow: inset 0 0 0 1px var(--accent); }
input, select, button {
  max-width: 100%;
  min-height: 2.75rem;
  padding: .3rem .6rem;
  font: inherit;
  color: inherit;
  accent-color: var(--accent);
  background: var(--ground);
  border: 1px solid var(--line);
  border-radius: .4rem;
}
[type=radio], [type=checkbox] { flex: none; width: 1.2rem; min-height: 1.2rem; margin: 0; }
button { font-weight: 600; color: var(--accent); border: 2px solid; cursor: pointer; }
button[aria-busy=true] { border-style: dashed; cursor: progress; }
div[aria-busy=true] { min-height: 100vh; }
.buttons { display: flex; flex-wrap: wrap; gap: .75rem; }
.buttons button { flex: 1 1 14rem; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
a { color: var(--accent); }
table { width: 100%; border-collapse: collapse; }
caption, th, td { padding: .35rem .5rem; text-align: start; font-weight: 400; }
tr { border-top: 1px solid var(--line); }
.wide { overflow-x: auto; }
summary { padding: .6rem 0; cursor: pointer; }
@media print { button { display: none; } }
`;

/** Style a form, also under a strict content security policy. @param {ShadowRoot} root */
export function addStyle(root) {
  try {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE);
    root.adoptedStyleSheets = [sheet];
  } catch {
    // Safari before 16.4: the policy of the page must allow an empty style element, or the form has no style
    const style = /** @type {HTMLStyleElement} */ (make("style"));
    root.append(style);
    style.sheet?.insertRule(`@media all {${STYLE}}`);
  }
}
