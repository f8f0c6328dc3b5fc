/** What the form says in English of relays, waves, tables and models; it is loaded for such surveys. See words.js. */

export const FURTHER = {
  drawModel:
    "If you agree, this device checks whether a published model guesses your answers, and replaces the result " +
    "with a random one. Only the random answer is sent, once.",
  invited: "People who know who received your invitation know that the random answer is yours.",
  drawTable:
    "If you agree, this device replaces your answers to one or more questions{0} with random ones. Only the random " +
    "answers are sent, once.",
  agreeTable: "Yes, send random answers",
  relayed:
    "A relay passes the random answer on. It sees your network address, but cannot read the answer. The collector " +
    "can read it, but cannot see who sent it. What it sees changes the odds by a factor of at most {0}, with a " +
    "remainder of at most 1 in {1}, if {2} of the {3} answers that leave together come from people who do not help " +
    "the collector. If relay and collector work together, only the next limit holds.",
  all:
    "All your answers are sent, each changed at random by itself. The relay mixes the answers of all people, " +
    "question by question.",
  drawAll:
    "Your true answers stay on this device. If you agree, it sends a random answer in place of each of them, all at " +
    "once.",
  drawModelAll:
    "Your true answers stay on this device. If you agree, it checks whether a published model guesses them, and " +
    "sends a random answer in place of each result, all at once.",
  relayedAll:
    "The relay sees your network address, but cannot read the answers. The collector can read them, but cannot see " +
    "who sent them. What it sees changes the odds between any two sets of answers by a factor of at most {0}, with a " +
    "remainder of at most 1 in {1}, if {2} of the {3} messages that leave together come from people who do not help " +
    "the collector.",
  together:
    "If relay and collector work together, they can learn most of your answers: up to {0} of yes/no answers are sent " +
    "as they are.",
  togetherOdds: "If relay and collector work together, what they see changes the odds by a factor of at most {0}.",
  captionRelay:
    "What relay and collector could conclude only together, if all answers were equally likely before",
  choiceRelay:
    "It is your choice. Nothing is stored or sent before you agree. You can withdraw until the relay passes " +
    "it on, but not later.",
  waves:
    "This is asked in {0} waves, from {1} to {2}, and you are asked in one of them. This device draws which one when " +
    "you agree.",
  takePart: "Yes, I take part",
  held: "The relay has your random answer. It is counted when enough others have answered. Thank you!",
  "relay-unreachable": "The relay cannot be reached now. If it has your random answer, that may be counted.",
  "passed-on": "The relay had already passed on your random answer, so it is counted.",
  agreeAll: "Yes, send all answers, each changed at random",
};
