/** Prints the size of each entry of the package in bytes: bundled, minified, and compressed with gzip. */

import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

import { build } from "esbuild";
import { minify } from "terser";

const root = new URL("../", import.meta.url);
const { exports: entries } = JSON.parse(readFileSync(new URL("package.json", root), "utf8"));
/** @type {Record<string, number>} */
const sizes = {};
for (const [name, entry] of Object.entries(entries)) {
  const bundle = await build({
    entryPoints: [new URL(/** @type {any} */ (entry).default, root).pathname],
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    write: false,
  });
  const minified = await minify(bundle.outputFiles[0].text, { module: true, compress: { passes: 3 } });
  sizes[name] = gzipSync(minified.code ?? "", { level: 9 }).length;
}
console.log(JSON.stringify(sizes));
