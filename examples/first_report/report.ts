// The same in TypeScript; `tsc` checks it against the types in the package.
import { Client, type Row } from "ldp-bayes";
import { MemoryStore } from "ldp-bayes/testing";

export async function send(url: string, row: Row, label: string): Promise<string> {
  const client = new Client(url, { person: null, store: new MemoryStore(), spread: 0 });
  await client.grant(); // only after the person has agreed
  await client.report(row, label);
  return String(await client.flush(10));
}
