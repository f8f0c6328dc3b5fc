/**
 * Prints the size of each entry of the package in bytes, compressed with gzip: bundled and minified by esbuild, and
 * minified by terser too. The order of imports decides some 50 bytes.
 *
 * The client loads previews, texts, rehearsals, waves and the check of signatures when they are needed, so they are not
 * part of it. In the same way, the form loads the client, the German words, and the words of relays and waves, and the
 * relay loads the check of all answers.
 */

import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

import { build } from "esbuild";
import { minify } from "terser";

const root = new URL("../", import.meta.url);
const { exports: entries } = JSON.parse(readFileSync(new URL("package.json", root), "utf8"));
/** What the client loads when it is needed, and what stands beside the form. */
const OTHERS = [
  "../preview.js", "../texts.js", "../rehearsal.js", "../relay.js", "../waves.js", "./signature.js",
  "../client/client.js", "./german.js", "./further_words.js", "./survey/all_answers.js",
];
/** @type {Record<string, { esbuild: number, terser: number }>} */
const sizes = {};
for (const [name, entry] of Object.entries(entries)) {
  const bundle = await build({
    entryPoints: [new URL(/** @type {any} */ (entry).default, root).pathname],
    bundle: true,
    external: OTHERS,
    minify: true,
    format: "esm",
    target: "es2022",
    write: false,
  });
  const { text } = bundle.outputFiles[0];
  const { code } = await minify(text, { ecma: 2020, module: true, compress: { passes: 4 } });
  sizes[name] = { esbuild: compressedBytes(text), terser: compressedBytes(code ?? "") };
}
console.log(JSON.stringify(sizes));

/** @param {string} text */
function compressedBytes(text) {
  return gzipSync(text, { level: 9 }).length;
}
