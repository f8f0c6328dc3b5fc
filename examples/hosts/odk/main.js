// ODK Web Forms asks the questions of an XForm; the client reports one randomised answer, and nothing else leaves.
import { createApp, h } from "vue";
import { OdkWebForm, POST_SUBMIT__NEW_INSTANCE, webFormsPlugin } from "@getodk/web-forms";
import { Client } from "ldp-bayes";
import { fromAnswers } from "ldp-bayes/answers";

const { form, survey } = document.body.dataset;
const show = (text) => (document.querySelector("[role=status]").textContent = String(text));
const client = new Client(survey, { person: null, onOutcome: show });
client.status().then(show);

/** Return the answers in the form's submission, which stays in the page; a question that was not asked has none. */
async function readAnswers(plan, { data: [instance] }) {
  const xml = new DOMParser().parseFromString(await instance.get("xml_submission_file").text(), "text/xml");
  const fields = [...xml.querySelectorAll(":not(meta, meta *, :has(*))")];
  const missing = plan.entries.filter((each) => each.missing === "category").map((each) => [each.name, null]);
  return Object.fromEntries([...missing, ...fields.map((each) => [each.localName, each.textContent])]);
}

/** Ask for consent, and report. ODK calls this when the person presses "Send", and the form is valid. */
async function submit(payload, finish) {
  const plan = await client.plan();
  const { label, problems, row, unused } = fromAnswers(plan, await readAnswers(plan, payload));
  if (unused.length) console.warn("The survey does not ask for", unused);
  if (problems.length) return show(problems.map(({ field, why }) => `${field} ${why}`).join("; "));
  const isAgreed = await agrees(await client.preview(row, label));
  const receipt = isAgreed ? await client.grant() : await client.withdraw(); // if the person had agreed before
  show(receipt);
  if (receipt.state === "ready") await client.report(row, label); // onOutcome shows its receipt
  if (receipt.state !== "unavailable") finish({ next: POST_SUBMIT__NEW_INSTANCE }); // deletes the answers
}

/** Show a preview, and return whether the person agrees. */
async function agrees(preview) {
  const [dialog, shown] = document.querySelectorAll("dialog, pre");
  shown.textContent = String(preview);
  dialog.returnValue = ""; // an earlier "yes" must not count
  dialog.showModal();
  await new Promise((resolve) => dialog.addEventListener("close", resolve, { once: true }));
  shown.textContent = "";
  return dialog.returnValue === "agree";
}

const formXml = await (await fetch(form)).text();
const fetchFormAttachment = () => { throw new Error("this form has no attachments"); };
const onSubmit = (payload, finish) => submit(payload, finish).catch(show);
const app = createApp({ render: () => h(OdkWebForm, { fetchFormAttachment, formXml, onSubmit }) });
app.use(webFormsPlugin).mount("#form");
