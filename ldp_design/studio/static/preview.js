/** Shows the real form in rehearsal. The frame has no origin and no network: the studio's page sends the plan. */
const bodies = new Map();

// the form asks its collector or relay; here, what the page sent answers
globalThis.fetch = async (url) => {
  const body = bodies.get(String(url));
  return body ? new Response(body) : new Response('{"reason":"no-such-page"}', { status: 404 });
};

addEventListener("message", ({ data, source }) => {
  if (source !== parent) return;
  const { attributes, language, plan, texts } = data;
  const main = document.querySelector("main");
  bodies.clear();
  for (const path of ["", "/plan"]) bodies.set(attributes.src + path, plan);
  if (texts) bodies.set(`${attributes.src}/texts`, texts);
  const form = document.createElement("ldp-survey");
  for (const [name, value] of Object.entries({ ...attributes, rehearsal: "", lang: language })) {
    form.setAttribute(name, value);
  }
  main.replaceChildren(form);
});
parent.postMessage("ready", "*"); // nothing of the survey
