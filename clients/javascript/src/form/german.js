/** What the form says in German; it is loaded when it is needed. */

/** @type {import("./words.js").Words} */
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
  drawTable:
    "Wenn Sie zustimmen, ersetzt dieses Gerät Ihre Antworten auf eine oder mehrere Fragen{0} durch zufällige. Nur " +
    "die zufälligen Antworten werden gesendet, einmal.",
  promise:
    "Was gesendet wird, ändert das Wahrscheinlichkeitsverhältnis zweier Antworten höchstens um den Faktor " +
    "{0}. Wer etwas über Sie für ebenso wahrscheinlich wahr wie falsch hält, kann sich danach höchstens zu " +
    "{1} sicher sein.",
  address: "Die Sammelstelle sieht Ihre Netzwerkadresse wie jede Website, aber nicht Ihre Antworten.",
  relayed:
    "Ein Vermittler leitet die zufällige Antwort weiter. Er sieht Ihre Netzwerkadresse, kann die Antwort aber nicht " +
    "lesen. Die Sammelstelle kann sie lesen, aber nicht sehen, wer sie gesendet hat. Was sie sieht, ändert das " +
    "Verhältnis höchstens um den Faktor {0}, mit einem Rest von höchstens 1 zu {1}, wenn {2} der {3} Antworten, die " +
    "zusammen weitergehen, von Menschen kommen, die der Sammelstelle nicht helfen. Arbeiten Vermittler und " +
    "Sammelstelle zusammen, gilt nur die nächste Grenze.",
  all:
    "Alle Ihre Antworten werden gesendet, jede für sich zufällig verändert. Der Vermittler mischt die Antworten " +
    "aller Menschen, Frage für Frage.",
  drawAll:
    "Ihre wahren Antworten bleiben auf diesem Gerät. Wenn Sie zustimmen, sendet es an Stelle jeder von ihnen " +
    "eine zufällige, alle auf einmal.",
  drawModelAll:
    "Ihre wahren Antworten bleiben auf diesem Gerät. Wenn Sie zustimmen, prüft es, ob ein veröffentlichtes Modell " +
    "sie errät, und sendet an Stelle jedes Ergebnisses ein zufälliges, alle auf einmal.",
  relayedAll:
    "Der Vermittler sieht Ihre Netzwerkadresse, kann die Antworten aber nicht lesen. Die Sammelstelle kann sie " +
    "lesen, aber nicht sehen, wer sie gesendet hat. Was sie sieht, ändert das Wahrscheinlichkeitsverhältnis " +
    "zwischen je zwei Möglichkeiten, alles zu beantworten, höchstens um den Faktor {0}, mit einem Rest von höchstens " +
    "1 zu {1}, wenn {2} der {3} Nachrichten, die zusammen weitergehen, von Menschen kommen, die der Sammelstelle " +
    "nicht helfen.",
  together:
    "Arbeiten Vermittler und Sammelstelle zusammen, können sie die meisten Ihrer Antworten erfahren: Bis zu {0} der " +
    "Ja-Nein-Antworten werden unverändert gesendet.",
  togetherOdds:
    "Arbeiten Vermittler und Sammelstelle zusammen, ändert das, was sie sehen, das Verhältnis höchstens um den " +
    "Faktor {0}.",
  sameOrigin: "Die Sammelstelle liefert auch diese Seite und könnte daher ändern, wie sie Sie schützt.",
  invited: "Wer weiß, wer Ihre Einladung bekommen hat, weiß, dass die zufällige Antwort Ihre ist.",
  questions: "Fragen",
  several: "Wählen Sie alles Zutreffende",
  none: "Nichts davon",
  choose: "Bitte wählen",
  noAnswer: "Ich möchte nicht antworten",
  range: "Eine Zahl von {0} bis {1}. Für weniger geben Sie {0} ein, für mehr {1}.",
  thousands: " Lassen Sie Tausendertrennzeichen weg.",
  needed: "Bitte beantworten Sie dies.",
  problems: "Es wurde nichts gesendet. Bitte sehen Sie sich diese Fragen an:",
  show: "Zeigen, was gesendet würde",
  drawn: "Die zufällige Antwort auf „{0}“ könnte von jeder dieser Antworten stammen:",
  caption: "Was die Sammelstelle schließen könnte, wenn vorher alle Antworten gleich wahrscheinlich wären",
  captionRelay:
    "Was Vermittler und Sammelstelle nur gemeinsam schließen könnten, wenn vorher alle Antworten gleich " +
    "wahrscheinlich wären",
  likely: "Wie wahrscheinlich",
  example: "Das ist ein Beispiel. Wenn Sie zustimmen, wird neu gezogen.",
  bytes: "Seine Bytes",
  consent: "Nehmen Sie teil?",
  choice:
    "Es ist Ihre Entscheidung. Vor Ihrer Zustimmung wird nichts gespeichert oder gesendet. Sie können " +
    "widerrufen, bis die zufällige Antwort angekommen ist, aber nicht später.",
  choiceRelay:
    "Es ist Ihre Entscheidung. Vor Ihrer Zustimmung wird nichts gespeichert oder gesendet. Sie können " +
    "widerrufen, bis der Vermittler es weitergibt, aber nicht später.",
  wave: "Sie werden einmal gefragt, in {0}, von {1} bis {2}. Sonst wird nichts gesendet.",
  waves:
    "Gefragt wird in {0} Wellen, von {1} bis {2}, und Sie werden in einer davon gefragt. Dieses Gerät lost aus, in " +
    "welcher, wenn Sie zustimmen.",
  takePart: "Ja, ich nehme teil",
  agree: "Ja, eine zufällige Antwort senden",
  agreeTable: "Ja, zufällige Antworten senden",
  agreeAll: "Ja, alle Antworten zufällig verändert senden",
  decline: "Nein, nichts senden",
  result: "Ihre Antwort",
  withdraw: "Meine Antwort widerrufen",
  rules: "Regeln dieser Umfrage",
  rehearsal: "Das ist eine Probe: Nichts wird gespeichert oder gesendet.",
  no_consent: "Es wurde nichts gesendet. Bitte entscheiden Sie am Ende.",
  declined: "Sie nehmen nicht teil. Es wurde nichts gesendet. Sie können noch zustimmen.",
  ready: "Sie haben zugestimmt, aber noch nicht geantwortet.",
  waiting: "Bitte öffnen Sie diese Seite dann wieder.",
  missed: "Ihre Zeit zum Antworten ist vorbei. Es wird nichts mehr gesendet.",
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
  "network-full":
    "Aus Ihrem Netz haben schon zu viele Menschen geantwortet. Versuchen Sie ein anderes, zum Beispiel mobile Daten.",
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
  point: ",",
};
