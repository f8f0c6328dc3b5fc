/**
 * What the form says besides the survey's texts, in English and German. Authors add further languages as JSON.
 *
 * {0} and {1} are holes. A language may leave out any of these words: the English ones then stand for them.
 */

/** @typedef {Readonly<typeof ENGLISH>} Words */

export const ENGLISH = {
  language: "Language",
  purpose: "Purpose",
  contact: "Contact",
  ethics: "Ethical approval",
  retention: "How long results are kept",
  loading: "The survey is loading",
  happens: "What happens with your answers",
  stay: "Your answers stay on this device. They are neither stored nor sent.",
  draw:
    "If you agree, this device replaces your answer to one question{0} with a random one. Only the random " +
    "answer is sent, once.",
  drawModel:
    "If you agree, this device checks whether a published model guesses your answers, and replaces the result " +
    "with a random one. Only the random answer is sent, once.",
  promise:
    "What is sent changes the odds between any two answers by a factor of at most {0}. Anyone who thinks " +
    "that something about you is as likely true as false can be at most {1} sure of it afterwards.",
  address: "The collector sees your network address, as every website does, but not your answers.",
  relayed:
    "A relay passes the random answer on. It sees your network address, but cannot read the answer. The collector " +
    "can read it, but cannot see who sent it. What it sees changes the odds by a factor of at most {0}, with a " +
    "remainder of at most 1 in {1}, if {2} of the {3} answers that leave together come from people who do not help " +
    "it. If relay and collector work together, only the limit above holds.",
  sameOrigin: "The collector delivers this page too, so its operator could change how it protects you.",
  invited: "People who know who received your invitation know that the random answer is yours.",
  questions: "Questions",
  several: "Select all that apply",
  none: "None of these",
  choose: "Please choose",
  noAnswer: "I do not want to answer",
  range: "A number from {0} to {1}, without thousands separators. If yours is outside, the nearest of the two.",
  needed: "Please answer this.",
  problems: "Nothing was sent. Please look at these questions:",
  show: "Show what would be sent",
  drawn: "Question: {0}. The random answer that is sent fits all of these:",
  caption: "What the collector could conclude if it thought all answers equally likely before",
  likely: "How likely",
  example: "This is an example. If you agree, this device draws again at random.",
  bytes: "Its bytes",
  consent: "Do you take part?",
  choice:
    "It is your choice. Nothing is stored or sent before you agree. You can withdraw until the random answer " +
    "has arrived, but not later, because it is only counted.",
  agree: "Yes, send one random answer",
  decline: "No, send nothing",
  result: "Your answer",
  withdraw: "Withdraw my answer",
  rules: "Rules of this survey",
  rehearsal: "This is a rehearsal: nothing is sent or stored.",
  no_consent: "Nothing was sent. Please decide at the end.",
  declined: "You do not take part. Nothing was sent. You can still agree.",
  ready: "You have agreed, but not answered yet.",
  queued:
    "Your random answer is stored in this browser and waits to be sent. If you close this page, it is sent when " +
    "you open it again.",
  sent: "Your random answer has arrived. Thank you!",
  held: "The relay has your random answer. It is counted when enough others have answered. Thank you!",
  already_reported: "This survey was answered in this browser. Nothing new was sent.",
  withdrawn: "You have withdrawn. Nothing more is sent.",
  expired: "The survey is closed. Nothing more is sent.",
  rejected: "Your random answer was refused and does not count.",
  unavailable: "That did not work.",
  "do-not-track": "Your browser asks websites not to share data (Global Privacy Control), so nothing is sent.",
  "insecure-context": "This page was not loaded over https, so others could have changed it. Open it with https://.",
  "journal-unavailable":
    "Your browser does not let this page remember that you have answered. Allow it cookies and site data.",
  "storage-full": "The storage of this browser is full. Free some space and try again.",
  "storage-lost": "The storage of this browser is lost. Close the browser and open this page again.",
  evicted:
    "This browser has deleted your random answer. It may have arrived. If you answer again, you reveal more.",
  framed: "To answer, open this survey in a window of its own.",
  again: "Try again",
  "collector-unreachable": "The collector cannot be reached at the moment.",
  "relay-unreachable": "The relay cannot be reached at the moment. If it has your random answer, that may be counted.",
  "passed-on": "The relay had already passed on your random answer, so it is counted.",
  "plan-changed": "This page was made for another version of the survey. Please tell its author.",
  "bad-signature": "The survey lacks its author's signature, or this browser is too old to check it.",
  "invalid-token": "Your invitation is missing, or is not for this survey. Please open the link that you received.",
  "id-reused": "Your invitation was used before, and the first answer counts.",
  "closed-once": "The survey is closed. If it stays closed, the answer is deleted.",
  yes: "yes",
  no: "no",
  missing: "no answer",
  below: "below {0}",
  between: "{0} to {1}",
  above: "{0} and more",
  squared: "{0} (squared distance)",
  andLabel: " and your answer to “{0}”",
  preview: "What would be sent",
};

/** @type {Words} */
export const GERMAN = {
  language: "Sprache",
  purpose: "Zweck",
  contact: "Kontakt",
  ethics: "Ethische Genehmigung",
  retention: "Aufbewahrung der Ergebnisse",
  loading: "Die Umfrage wird geladen",
  happens: "Was mit Ihren Antworten geschieht",
  stay: "Ihre Antworten bleiben auf diesem Gerät. Sie werden weder gespeichert noch gesendet.",
  draw:
    "Wenn Sie zustimmen, ersetzt dieses Gerät Ihre Antwort auf eine Frage{0} durch eine zufällige. Nur die " +
    "zufällige Antwort wird gesendet, einmal.",
  drawModel:
    "Wenn Sie zustimmen, prüft dieses Gerät, ob ein veröffentlichtes Modell Ihre Antworten errät, und " +
    "ersetzt das Ergebnis durch ein zufälliges. Nur die zufällige Antwort wird gesendet, einmal.",
  promise:
    "Was gesendet wird, ändert das Wahrscheinlichkeitsverhältnis zweier Antworten höchstens um den Faktor " +
    "{0}. Wer etwas über Sie für ebenso wahrscheinlich wahr wie falsch hält, kann sich danach höchstens zu " +
    "{1} sicher sein.",
  address: "Die Sammelstelle sieht Ihre Netzwerkadresse wie jede Website, aber nicht Ihre Antworten.",
  relayed:
    "Ein Vermittler leitet die zufällige Antwort weiter. Er sieht Ihre Netzwerkadresse, kann die Antwort aber nicht " +
    "lesen. Die Sammelstelle kann sie lesen, aber nicht sehen, wer sie gesendet hat. Was sie sieht, ändert das " +
    "Verhältnis höchstens um den Faktor {0}, mit einem Rest von höchstens 1 zu {1}, wenn {2} der {3} Antworten, die " +
    "zusammen weitergehen, von Menschen kommen, die ihr nicht helfen. Arbeiten Vermittler und Sammelstelle " +
    "zusammen, gilt nur die obige Grenze.",
  sameOrigin: "Die Sammelstelle liefert auch diese Seite und könnte daher ändern, wie sie Sie schützt.",
  invited: "Wer weiß, wer Ihre Einladung bekommen hat, weiß, dass die zufällige Antwort Ihre ist.",
  questions: "Fragen",
  several: "Wählen Sie alles Zutreffende",
  none: "Nichts davon",
  choose: "Bitte wählen",
  noAnswer: "Ich möchte nicht antworten",
  range: "Eine Zahl von {0} bis {1} ohne Tausendertrennzeichen. Liegt Ihre außerhalb, die nähere der beiden.",
  needed: "Bitte beantworten Sie dies.",
  problems: "Es wurde nichts gesendet. Bitte sehen Sie sich diese Fragen an:",
  show: "Zeigen, was gesendet würde",
  drawn: "Frage: {0}. Die zufällige Antwort, die gesendet wird, passt zu allen diesen:",
  caption: "Was die Sammelstelle schließen könnte, wenn sie vorher alle Antworten für gleich wahrscheinlich hielte",
  likely: "Wie wahrscheinlich",
  example: "Das ist ein Beispiel. Wenn Sie zustimmen, wird neu gezogen.",
  bytes: "Seine Bytes",
  consent: "Nehmen Sie teil?",
  choice:
    "Es ist Ihre Entscheidung. Vor Ihrer Zustimmung wird nichts gespeichert oder gesendet. Sie können " +
    "widerrufen, bis die zufällige Antwort angekommen ist, aber nicht später, weil sie nur gezählt wird.",
  agree: "Ja, eine zufällige Antwort senden",
  decline: "Nein, nichts senden",
  result: "Ihre Antwort",
  withdraw: "Meine Antwort widerrufen",
  rules: "Regeln dieser Umfrage",
  rehearsal: "Das ist eine Probe: Nichts wird gespeichert oder gesendet.",
  no_consent: "Es wurde nichts gesendet. Bitte entscheiden Sie am Ende.",
  declined: "Sie nehmen nicht teil. Es wurde nichts gesendet. Sie können noch zustimmen.",
  ready: "Sie haben zugestimmt, aber noch nicht geantwortet.",
  queued:
    "Ihre zufällige Antwort ist in diesem Browser gespeichert und wartet auf das Senden. Wenn Sie diese Seite " +
    "schließen, wird sie gesendet, sobald Sie sie wieder öffnen.",
  sent: "Ihre zufällige Antwort ist angekommen. Vielen Dank!",
  held: "Der Vermittler hat Ihre zufällige Antwort. Sie zählt, wenn genug andere geantwortet haben. Vielen Dank!",
  already_reported: "Diese Umfrage wurde in diesem Browser beantwortet. Es wurde nichts Neues gesendet.",
  withdrawn: "Sie haben widerrufen. Es wird nichts mehr gesendet.",
  expired: "Die Umfrage ist geschlossen. Es wird nichts mehr gesendet.",
  rejected: "Ihre zufällige Antwort wurde abgelehnt und zählt nicht.",
  unavailable: "Das hat nicht geklappt.",
  "do-not-track":
    "Ihr Browser bittet Websites, keine Daten weiterzugeben (Global Privacy Control). Deshalb wird nichts " +
    "gesendet.",
  "insecure-context":
    "Diese Seite wurde nicht über https geladen, andere könnten sie verändert haben. Öffnen Sie sie mit " +
    "https://.",
  "journal-unavailable":
    "Ihr Browser lässt diese Seite sich nicht merken, dass Sie geantwortet haben. Erlauben Sie ihr Cookies und " +
    "Websitedaten.",
  "storage-full": "Der Speicher dieses Browsers ist voll. Schaffen Sie Platz und versuchen Sie es erneut.",
  "storage-lost":
    "Der Speicher dieses Browsers ist verloren. Schließen Sie den Browser und öffnen Sie diese Seite erneut.",
  evicted:
    "Dieser Browser hat Ihre zufällige Antwort gelöscht. Vielleicht ist sie angekommen. Wenn Sie erneut antworten, " +
    "geben Sie mehr preis.",
  framed: "Öffnen Sie diese Umfrage zum Antworten in einem eigenen Fenster.",
  again: "Erneut versuchen",
  "collector-unreachable": "Die Sammelstelle ist gerade nicht erreichbar.",
  "relay-unreachable":
    "Der Vermittler ist gerade nicht erreichbar. Wenn er Ihre zufällige Antwort hat, zählt sie vielleicht.",
  "passed-on": "Der Vermittler hatte Ihre zufällige Antwort schon weitergeleitet, daher zählt sie.",
  "plan-changed":
    "Diese Seite wurde für eine andere Fassung der Umfrage gemacht. Bitte sagen Sie es den Verantwortlichen.",
  "bad-signature":
    "Der Umfrage fehlt die Unterschrift ihrer Autoren, oder dieser Browser ist zu alt, um sie zu prüfen.",
  "invalid-token":
    "Ihre Einladung fehlt oder gilt nicht für diese Umfrage. Bitte öffnen Sie den Link, den Sie bekommen haben.",
  "id-reused": "Ihre Einladung wurde schon benutzt, und die erste Antwort zählt.",
  "closed-once": "Die Umfrage ist geschlossen. Wenn sie es bleibt, wird die Antwort gelöscht.",
  yes: "ja",
  no: "nein",
  missing: "keine Antwort",
  below: "unter {0}",
  between: "{0} bis {1}",
  above: "{0} und mehr",
  squared: "{0} (quadrierter Abstand)",
  andLabel: " und Ihre Antwort auf „{0}“",
  preview: "Was gesendet würde",
};

/** Scripts and languages that are written from right to left. */
const RIGHT_TO_LEFT =
  /^(ar[cyz]?|ckb|dv|fa|iw|he|ks|nqo|ps|sd|syr|ug|ur|yi)\b(?!-(latn|deva))|-(arab|hebr|nkoo|syrc|thaa)\b/i;

/**
 * Return the words of the first of these languages that there are words in, with the language that they are in.
 *
 * @param {readonly string[]} wanted
 * @param {Readonly<Record<string, Partial<Words>>>} further languages of the author
 * @returns {{ words: Words, language: string }}
 */
export function findWords(wanted, further) {
  const known = Object.entries({ en: ENGLISH, de: GERMAN, ...further });
  for (const tag of wanted) {
    // "de-AT", and "de" for the words that it lacks
    const fits = known.filter(([each]) => `${tag}-`.toLowerCase().startsWith(`${each}-`.toLowerCase()));
    const [language] = fits.sort(([one], [other]) => other.length - one.length)[0] ?? [];
    if (!language) continue;
    const own = fits.map(([each, words]) => ({ ...(each === "de" && GERMAN), ...words })).reverse();
    return { words: Object.assign({ ...ENGLISH }, ...own), language };
  }
  return { words: ENGLISH, language: "en" };
}

/**
 * Return the direction in which a language is written.
 *
 * @param {string} language
 */
export function directionOf(language) {
  return RIGHT_TO_LEFT.test(language) ? "rtl" : "ltr";
}
