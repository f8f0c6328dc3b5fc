/** Made-up people, each of whom answers through the client that real pages use, with a journal in memory. */
const AT_ONCE = 12;

addEventListener("message", async ({ data, source }) => {
  if (source !== parent) return;
  const { attributes, people } = data;
  const { Client, rehearse } = globalThis.LdpBayes;
  let [done, failed] = [0, 0];
  const waiting = [...people];
  const answer = async ({ row, label }) => {
    const { store } = rehearse({ person: null });
    const { digest, "max-epsilon": maxEpsilon, src } = attributes;
    const client = new Client(src, { person: null, digest, maxEpsilon: Number(maxEpsilon), spread: 0, store });
    await client.grant();
    await client.report(row, label ?? undefined);
    const receipt = await client.flush();
    if (receipt.state !== "sent") failed += 1;
    await client.close();
  };
  const work = async () => {
    for (let person = waiting.pop(); person; person = waiting.pop()) {
      await answer(person).catch(() => { failed += 1; });
      done += 1;
      parent.postMessage({ done, failed }, "*"); // counts only
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
});
parent.postMessage("ready", "*");
