// ODK Web Forms asks the questions of an XForm; the client reports one randomised answer, and nothing else leaves.
import { createApp, h } from "vue";
import { OdkWebForm, webFormsPlugin } from "@getodk/web-forms";
import { Client } from "ldp-bayes";
import { fromAnswers } from "ldp-bayes/answers";

const { form, survey } = document.body.dataset;
const status = document.querySelector("[role=status]");
const onOutcome = (receipt) => (status.textContent = String(receipt));
const client = new Client(survey, { person: null, onOutcome });

/** Return the answers in the form's submission, which stays in the page; a question that was not asked has none. */
async function readAnswers(plan, { data: [instance] }) {
  const xml = await instance.get("xml_submission_file").text();
  const document = new DOMParser().parseFromString(xml, "text/xml");
  const fields = [...document.querySelectorAll("*")].filter((each) => !each.children.length);
  const answers = Object.fromEntries(fields.map((each) => [each.localName, each.textContent]));
  const missing = plan.entries.filter((each) => each.missing === "category").map((each) => [each.name, null]);
  return { ...Object.fromEntries(missing), ...answers };
}

/** Ask for consent, and report. ODK calls this when the person presses "Send", and the form is valid. */
async function submit(payload) {
  const plan = await client.plan();
  const { label, problems, row } = fromAnswers(plan, await readAnswers(plan, payload));
  if (problems.length) {
    status.textContent = problems.map(({ field, why }) => `${field} ${why}`).join("; ");
    return;
  }
  const dialog = document.querySelector("dialog");
  dialog.querySelector("pre").textContent = String(await client.preview(row, label));
  dialog.showModal();
  dialog.onclose = async () => {
    dialog.querySelector("pre").textContent = "";
    if (dialog.returnValue !== "agree") status.textContent = "Nothing was sent.";
    else if ((await client.grant()).state === "ready") await client.report(row, label);
  };
}

const formXml = await (await fetch(form)).text();
const fetchFormAttachment = () => { throw new Error("this form has no attachments"); };
createApp({ render: () => h(OdkWebForm, { formXml, fetchFormAttachment, onSubmit: submit }) })
  .use(webFormsPlugin)
  .mount("#form");
