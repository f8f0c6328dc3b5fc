/** Words of previews; `node build.js --page` copies them from encoders/explain/words.json. */

export const ANSWERS = {
  "yes": "yes",
  "no": "no",
  "missing": "(missing)",
  "below": "below {0}",
  "between": "{0} to {1}",
  "above": "{0} and more",
  "squared": "{0} (squared distance)"
};

export const SENTENCES = {
  "asked": "One question is asked, {0}: {1}.",
  "drawn": "drawn at random with probability {0}, without looking at the answers",
  "wave": "You are asked once, in the wave {0}, from {1} to {2}. Nothing is sent in other waves.",
  "waves": "You are asked once, in one of {0} waves, from {1} to {2}. Nothing is sent in other waves.",
  "invited": "chosen by the invitation",
  "square": "It asks for the squared distance of {0} from {1}, the middle of its range.",
  "squareEnds": "The squared distance is 0 at {0} and 1 at both ends, {1} and {2}.",
  "squares": "It asks for the squared distances of {0} from the middle of their ranges.",
  "squaresEnds": "A squared distance is 0 in the middle of the range and 1 at both ends.",
  "truth": "The true answer, which stays on the device:",
  "clipped": "{0} is outside its range: the device moves it to the nearest end.",
  "mechanism": "The device sends a random answer instead, drawn by the mechanism {0}",
  "bytes": "What would be sent, {0} bytes:",
  "invitation": "People who know that you were given this invitation know that the report is yours.",
  "every": "Every possible answer can lead to this report.",
  "beliefs": "If all of the following were equally likely before, their probabilities after it are:",
  "bound": "No report of this survey changes the odds between any two answers by more than the " +
    "factor e^{0} = {1}.",
  "spends": "Sending it spends epsilon = {0}",
  "all": "All your answers are sent, each changed at random by itself. The relay mixes the answers of all " +
    "people, question by question.",
  "relayed": "The relay cannot read them, but knows that you take part; the collector cannot see who sent " +
    "which answers. What the collector sees changes the odds of any two sets of answers of yours by at most " +
    "{0} times, with a remainder of at most 1 in {1}, if at least {2} of the {3} messages that leave together " +
    "come from people who do not help it.",
  "together": "If relay and collector work together, they can learn most of your answers: up to {0} of " +
    "yes/no answers are sent as they are.",
  "togetherOdds": "If relay and collector work together, by at most {0} times.",
  "answered": "Question {0} of {1}: {2}",
  "spendsAll": "Sending all answers spends epsilon = {0} together"
};
