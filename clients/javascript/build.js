/**
 * Writes the package's single files, for pages without a bundler, and the hashes for their `integrity` attribute.
 *
 * `node build.js` writes dist/: ldp-bayes.js, a module with everything but the form; ldp-survey.js, a script that
 * defines `<ldp-survey>` and the global `LdpBayes` with everything; integrity.json. `--page` copies ldp-survey.js, with
 * the English words of the form, to the Python package for its command `ldp-survey page`, and copies the words of
 * previews from the Python package into src/. Two runs write equal bytes.
 */

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";
import { minify } from "terser";

const root = new URL("./", import.meta.url);
const PAGE = new URL("../../ldp_aggregator/form_page/", root);
const EVERYTHING = ["index", "core", "texts", "preview", "answers", "rehearsal", "relay", "waves"];
/** The content of each file, as a module. */
const FILES = {
  "ldp-bayes.js": { names: EVERYTHING, isModule: true },
  "ldp-survey.js": { names: [...EVERYTHING, "form"], isModule: false },
};

const writesPage = process.argv.includes("--page");
if (writesPage) {
  const previews = readFileSync(new URL("../../encoders/explain/words.json", root), "utf8");
  const { answers, sentences } = JSON.parse(previews);
  const constants = Object.entries({ ANSWERS: answers, SENTENCES: sentences }).map(
    // long sentences go on in the next line
    ([name, words]) => `export const ${name} = ${
      JSON.stringify(words, null, 2).replace(/.{90,105} (?=.{15})/g, '$&" +\n    "')};\n`,
  );
  const notice = "/** Words of previews; `node build.js --page` copies them from encoders/explain/words.json. */\n";
  writeFileSync(new URL("src/explain/english.js", root), [notice, ...constants].join("\n"));
}
const { ENGLISH } = await import("./src/form/words.js");
const { FURTHER } = await import("./src/form/further_words.js");
mkdirSync(new URL("dist/", root), { recursive: true });
/** @type {Record<string, string>} */
const integrity = {};
for (const [file, { isModule, names }] of Object.entries(FILES)) {
  const bundle = await build({
    stdin: {
      contents: names.map((name) => `export * from "./src/${name}.js";`).join("\n"),
      resolveDir: fileURLToPath(root),
    },
    bundle: true,
    minify: true,
    format: isModule ? "esm" : "iife",
    globalName: isModule ? undefined : "LdpBayes",
    target: "es2022",
    write: false,
  });
  // ASCII alone, because some hosts and pages declare another encoding
  const options = { ecma: 2020, module: isModule, compress: { passes: 4 }, format: { ascii_only: true } };
  const { code = "" } = await minify(bundle.outputFiles[0].text, options);
  const notice = "/*! ldp-bayes | Apache-2.0 */\n";
  writeFileSync(new URL(`dist/${file}`, root), `${notice}${code}\n`);
  if (!isModule && writesPage) {
    writeFileSync(new URL(file, PAGE), `${notice}${code}\n`);
    writeFileSync(new URL("words.json", PAGE), `${JSON.stringify({ ...ENGLISH, ...FURTHER }, null, 2)}\n`);
  }
  integrity[file] = `sha384-${createHash("sha384").update(`${notice}${code}\n`).digest("base64")}`;
}
writeFileSync(new URL("dist/integrity.json", root), `${JSON.stringify(integrity, null, 2)}\n`);
