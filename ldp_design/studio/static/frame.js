/** A frame without origin: the real form in rehearsal, or made-up people who answer as on a real page. */
const AT_ONCE = 12;

/** Show the form, which asks its collector or relay; here, what the studio's page sent answers. */
function showForm({ attributes, language, plan, texts }) {
  const { src } = attributes;
  const bodies = new Map([[src, plan], [`${src}/plan`, plan], [`${src}/texts`, texts]]);
  globalThis.fetch = async (url) => {
    const body = bodies.get(String(url));
    return body ? new Response(body) : new Response('{"reason":"no-such-page"}', { status: 404 });
  };
  const form = document.createElement("ldp-survey");
  for (const [name, value] of Object.entries({ ...attributes, rehearsal: "", lang: language })) {
    form.setAttribute(name, value);
  }
  document.querySelector("main").replaceChildren(form);
}

/** Let each person answer through the client of real pages, with a journal in memory; tell only counts. */
async function answer({ attributes, people }) {
  const { Client, rehearse } = globalThis.LdpBayes;
  const { digest, "max-epsilon": maxEpsilon, src } = attributes;
  let [done, failed] = [0, 0];
  const report = async ({ row, label }) => {
    const { store } = rehearse({ person: null });
    const client = new Client(src, { person: null, digest, maxEpsilon: Number(maxEpsilon), spread: 0, store });
    await client.grant();
    await client.report(row, label ?? undefined);
    if ((await client.flush()).state !== "sent") failed += 1;
    await client.close();
  };
  const work = async () => {
    for (let person = people.pop(); person; person = people.pop()) {
      await report(person).catch(() => { failed += 1; });
      done += 1;
      parent.postMessage({ done, failed }, "*");
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

addEventListener("message", ({ data, source }) => {
  if (source !== parent || data === "ready") return; // a draft is its own parent
  void (data.people ? answer : showForm)(data);
});
parent.postMessage("ready", "*"); // nothing of the survey
