// A form in React: the client is made and closed in an effect, so strict mode's second run makes a new one.
import { StrictMode, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { Client } from "ldp-bayes";
import { fromAnswers } from "ldp-bayes/answers";

function Survey({ url }) {
  const [client, setClient] = useState();
  const [survey, setSurvey] = useState();
  const [status, setStatus] = useState("");

  useEffect(() => {
    const made = new Client(url, { person: null, onOutcome: (receipt) => setStatus(String(receipt)) });
    setClient(made);
    made.status().then((receipt) => setStatus(String(receipt)));
    Promise.all([made.plan(), made.texts(navigator.languages)])
      .then(([plan, texts]) => setSurvey({ plan, texts }), ({ message }) => setStatus(message));
    return () => void made.close();
  }, [url]);

  async function submit(event) {
    event.preventDefault(); // the answers stay in the page
    const { label, problems, row } = fromAnswers(survey.plan, new FormData(event.target));
    if (problems.length) return setStatus(problems.map(({ field, why }) => `${field} ${why}`).join("; "));
    if (event.nativeEvent.submitter.value !== "agree") return setStatus(String(await client.preview(row, label)));
    const granted = await client.grant();
    if (granted.state === "ready") await client.report(row, label);
    event.target.reset();
  }

  if (!survey) return <p role="status">{status}</p>;
  const { plan: { entries, rowSchema }, texts } = survey;
  return (
    <form autoComplete="off" onSubmit={submit}>
      <h1>{texts.title}</h1>
      {entries.map(({ kind, name }) => <Question key={name} kind={kind} name={name} {...texts.features.get(name)} />)}
      {texts.label && <Question name={rowSchema.label.name} {...texts.label} />}
      <button value="preview">Show what would be sent</button>
      <button value="agree">Yes, send one random answer</button>
      <pre role="status">{status}</pre>
    </form>
  );
}

function Question({ kind, name, title, values }) {
  const listed = [...values].filter(([value]) => value !== "(missing)");
  if (!listed.length) return <label>{title} <input name={name} inputMode="decimal" /></label>;
  return (
    <fieldset>
      <legend>{title}</legend>
      {listed.map(([value, text]) => (
        <label key={value}><input type={kind === "choices" ? "checkbox" : "radio"} name={name} value={value} /> {text}</label>
      ))}
    </fieldset>
  );
}

const root = document.getElementById("root");
createRoot(root).render(<StrictMode><Survey url={root.dataset.survey} /></StrictMode>);
