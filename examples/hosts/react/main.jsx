// A form in React, of a survey without `ask_if`. The clean-up of the effect closes its client, also in strict mode.
import { StrictMode, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { Client } from "ldp-bayes";
import { fromAnswers } from "ldp-bayes/answers";

function Survey({ digest, survey: url }) {
  const [client, setClient] = useState();
  const [survey, setSurvey] = useState();
  const [receipt, setReceipt] = useState();
  const [message, setMessage] = useState("");
  const fail = (error) => setMessage(String(error));
  useEffect(() => {
    const made = new Client(url, { digest, person: null, onOutcome: setReceipt });
    setClient(made);
    made.status().then(setReceipt);
    const load = async () => setSurvey({ plan: await made.plan(), texts: await made.texts(navigator.languages) });
    load().catch(fail); // without a plan, as under Global Privacy Control, the form asks nothing
    return () => void made.close();
  }, [digest, url]);
  async function submit(event) {
    event.preventDefault(); // the answers stay in the page
    const { label, problems, row, unused } = fromAnswers(survey.plan, new FormData(event.target));
    if (unused.length) console.warn("The survey does not ask for", unused);
    if (problems.length) return setMessage(problems.map(({ field, why }) => `${field} ${why}`).join("; "));
    if (event.nativeEvent.submitter?.value !== "agree") return setMessage(String(await client.preview(row, label)));
    setMessage("");
    const granted = await client.grant();
    setReceipt(granted.state === "ready" ? await client.report(row, label) : granted);
  }
  async function decline() {
    setMessage("");
    setReceipt(await client.withdraw()); // if the person had agreed before; deletes a report that waits
  }
  const mayAnswer = survey && ["no_consent", "ready", "invalid", "unavailable"].includes(receipt?.state);
  const handlers = { onInput: () => setMessage(""), onReset: decline, onSubmit: (event) => submit(event).catch(fail) };
  return <form autoComplete="off" {...handlers}>
    {mayAnswer && <Questions {...survey} />}
    <pre role="status">{message || String(receipt ?? "")}</pre>
    {receipt?.state === "queued" && <button type="reset">Withdraw</button>}
  </form>;
}
const Questions = ({ plan: { entries, rowSchema }, texts: { about, features, help, label, title } }) => <>
  <h1>{title}</h1>
  <pre>{[help, about.purpose, about.contact, about.ethics, about.retention].filter(Boolean).join("\n")}</pre>
  {entries.map(({ kind, name }) => <Question key={name} {...features.get(name)} {...{ kind, name }} />)}
  {label && <Question {...label} name={rowSchema.label.name} />}
  <button value="preview">Show what would be sent</button>
  <button value="agree">Yes, send one random answer</button>
  <button type="reset">No, send nothing</button>
</>;
function Question({ help, kind, name, title, values }) {
  const type = kind === "choices" ? "checkbox" : "radio";
  const listed = [...values].filter(([value]) => value !== "(missing)"); // an empty field is a missing answer
  const options = listed.map(([value, text]) => <label key={value}><input {...{ name, type, value }} /> {text}</label>);
  const number = <input name={name} inputMode="decimal" aria-label={title} />;
  return <fieldset><legend>{title}</legend>{help}{listed.length ? options : number}</fieldset>;
}
const root = document.getElementById("root");
createRoot(root).render(<StrictMode><Survey {...root.dataset} /></StrictMode>);
