// Sends a first report with the npm package: node report.mjs URL
import { Client } from "ldp-bayes";
import { MemoryStore } from "ldp-bayes/testing"; // in a web page, leave `store` out: the browser keeps the journal

const client = new Client(process.argv[2], { person: null, store: new MemoryStore(), spread: 0 });
await client.grant(); // only after the person has agreed
console.log(String(await client.report({ age: "young", income: 21_000, debt: 0, cards: 2 }, "no")));
console.log(String(await client.flush(10)));
