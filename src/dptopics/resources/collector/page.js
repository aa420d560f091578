// A page that a survey can copy: it shows the card, asks, and sends one randomised report.
import { Client, ClientError, epsilonOf, fetchCollection, hashing, ownHash } from "./dptopics-client.js";

const LIMIT = "limit";

/** A price for people: three digits, rounded up. */
function shown(number, language) {
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.max(number, 1e-9))));
  const scale = 10 ** digits;
  const up = Math.ceil(number * scale * (1 - 1e-9)) / scale;
  return up.toLocaleString(language, { maximumFractionDigits: Math.min(digits, 12) });
}

const percent = (share, language) => share.toLocaleString(language, { style: "percent", maximumFractionDigits: 1 });

const SAY = {
  en: {
    title: "Survey",
    named: (v) => `Survey: ${v.name}`,
    ask: "Your answer",
    limit: "My limit (ε) for all reports from this browser to this site",
    limitHelp: "You choose it, nobody else. Small is safer: 1 hides well, 4 hides somewhat, 10 hides little.",
    cardTitle: "What is sent, and what it reveals",
    agree: "I have read this, and I want to send one report.",
    send: "Randomise here and send",
    again: "Send the same report again",
    waiting: "The survey is being fetched.",
    sending: "Your report is randomised and kept. It is being sent.",
    done: "Thank you. Your report was accepted.",
    before: "A report for this survey was accepted before. Nothing more will be sent.",
    pending: "Your report was drawn and counted, but the collector has not answered yet. Sending it again reveals nothing more.",
    stays: "Your text stays on this device. It is neither sent nor kept.",
    bits: (v) => `Sent is one yes or no for each of ${v.words} public words: whether your text holds it. Each answer is made false with a chance of ${v.lie}, by lot.`,
    pair: (v) => `Sent is one number, made from one word of your text and from the public topic that fits it best. It is the true number with a chance of ${v.keep}; else it is drawn by lot.`,
    "three-words": (v) => `Sent are three numbers, each made from one word of your text. Each is the true one with a chance of ${v.keep}; else it is drawn by lot.`,
    epsilon: (v) => `This report costs ε = ${v.epsilon}. Whoever guesses what your text says can improve their odds at most ${v.fold}-fold by seeing it.`,
    total: (v) => `Reports from this browser to this site so far: ε = ${v.total}. With this one: ε = ${v.after}.`,
    none: "The collector keeps no time.",
    day: "The collector keeps the day on which your report comes, and no finer time.",
    week: "The collector keeps the week in which your report comes, and no finer time.",
    hidden: "That you took part is not hidden. Reports to other sites or from other devices are not counted here.",
    "damaged-collection": "The survey's description is damaged. Nothing was sent.",
    "damaged-memory": "What this browser sent before cannot be read, so nothing is sent. Treat your limit as reached.",
    "newer-collection": "The survey is newer than this page. Nothing was sent.",
    "no-crypto": "This browser has no secure randomness here (WebCrypto, over https). Nothing was sent.",
    "no-limit": "Choose a limit above zero. Nothing was sent.",
    "no-storage": "This browser keeps nothing for this page, so a report could not be counted. Nothing was sent.",
    "not-kept": "The report was not kept in this browser, so it is not sent.",
    "not-reached": "The collector cannot be reached. Try again later: the same report will be sent.",
    "over-limit": (v) => `This would make ε = ${v.after} in all, more than your limit of ${v.limit}. Nothing was sent.`,
    refused: "The collector refused the report. Trying again will not help.",
    "sent-already": "A report for this survey was drawn already, for other words or settings of it. A second one would reveal more: none is sent.",
    "too-old": "This browser is too old to count reports safely. Nothing was sent.",
    "unknown-kind": "The survey asks for something that this page does not know. Nothing was sent.",
    same: (v) => `The program that randomises here, dptopics-client.js, has the fingerprint ${v.hash}. The collector names the same one. Compare it with the one that was published with the survey.`,
    other: (v) => `The program that randomises here, dptopics-client.js, has the fingerprint ${v.hash}. The collector names another one. Compare it with the one that was published with the survey.`,
    fault: "This page failed. Nothing more is sent.",
  },
  de: {
    title: "Umfrage",
    named: (v) => `Umfrage: ${v.name}`,
    ask: "Ihre Antwort",
    limit: "Meine Grenze (ε) für alle Berichte aus diesem Browser an diese Seite",
    limitHelp: "Sie allein bestimmen sie. Klein ist sicherer: 1 verbirgt gut, 4 einigermaßen, 10 wenig.",
    cardTitle: "Was gesendet wird und was es verrät",
    agree: "Ich habe das gelesen und möchte einen Bericht senden.",
    send: "Hier verrauschen und senden",
    again: "Denselben Bericht noch einmal senden",
    waiting: "Die Umfrage wird geholt.",
    sending: "Ihr Bericht ist verrauscht und gemerkt. Er wird gesendet.",
    done: "Danke. Ihr Bericht wurde angenommen.",
    before: "Ein Bericht für diese Umfrage wurde schon angenommen. Es wird nichts mehr gesendet.",
    pending: "Ihr Bericht ist gezogen und gezählt, aber die Sammelstelle hat noch nicht geantwortet. Ihn noch einmal zu senden verrät nichts weiter.",
    stays: "Ihr Text bleibt auf diesem Gerät. Er wird weder gesendet noch gespeichert.",
    bits: (v) => `Gesendet wird ein Ja oder Nein für jedes von ${v.words} öffentlichen Wörtern: ob es in Ihrem Text steht. Jede Antwort wird mit ${v.lie} Wahrscheinlichkeit durch Los verfälscht.`,
    pair: (v) => `Gesendet wird eine Zahl aus einem Wort Ihres Textes und dem öffentlichen Thema, das am besten passt. Mit ${v.keep} Wahrscheinlichkeit ist es die wahre Zahl, sonst eine ausgeloste.`,
    "three-words": (v) => `Gesendet werden drei Zahlen aus je einem Wort Ihres Textes. Jede ist mit ${v.keep} Wahrscheinlichkeit die wahre, sonst eine ausgeloste.`,
    epsilon: (v) => `Dieser Bericht kostet ε = ${v.epsilon}. Wer rät, was in Ihrem Text steht, verbessert seine Chancen durch ihn höchstens auf das ${v.fold}-Fache.`,
    total: (v) => `Berichte aus diesem Browser an diese Seite bisher: ε = ${v.total}. Mit diesem: ε = ${v.after}.`,
    none: "Die Sammelstelle merkt sich keine Zeit.",
    day: "Die Sammelstelle merkt sich den Tag, an dem Ihr Bericht kommt, und keine genauere Zeit.",
    week: "Die Sammelstelle merkt sich die Woche, in der Ihr Bericht kommt, und keine genauere Zeit.",
    hidden: "Dass Sie teilnehmen, bleibt nicht verborgen. Berichte an andere Seiten oder von anderen Geräten sind hier nicht mitgezählt.",
    "damaged-collection": "Die Beschreibung der Umfrage ist beschädigt. Es wurde nichts gesendet.",
    "damaged-memory": "Was dieser Browser schon gesendet hat, ist nicht lesbar; darum wird nichts gesendet. Betrachten Sie Ihre Grenze als erreicht.",
    "newer-collection": "Die Umfrage ist neuer als diese Seite. Es wurde nichts gesendet.",
    "no-crypto": "Dieser Browser hat hier keinen sicheren Zufall (WebCrypto, über https). Es wurde nichts gesendet.",
    "no-limit": "Wählen Sie eine Grenze über null. Es wurde nichts gesendet.",
    "no-storage": "Dieser Browser merkt sich nichts für diese Seite; ein Bericht könnte nicht gezählt werden. Es wurde nichts gesendet.",
    "not-kept": "Der Bericht ist in diesem Browser nicht gemerkt und wird darum nicht gesendet.",
    "not-reached": "Die Sammelstelle ist nicht erreichbar. Versuchen Sie es später: Es wird derselbe Bericht gesendet.",
    "over-limit": (v) => `Damit wären es insgesamt ε = ${v.after}, mehr als Ihre Grenze von ${v.limit}. Es wurde nichts gesendet.`,
    refused: "Die Sammelstelle hat den Bericht abgelehnt. Noch ein Versuch hilft nicht.",
    "sent-already": "Für diese Umfrage wurde schon ein Bericht gezogen, für andere Wörter oder Einstellungen. Ein zweiter würde mehr verraten: Es wird keiner gesendet.",
    "too-old": "Dieser Browser ist zu alt, um Berichte sicher zu zählen. Es wurde nichts gesendet.",
    "unknown-kind": "Die Umfrage fragt etwas, das diese Seite nicht kennt. Es wurde nichts gesendet.",
    same: (v) => `Das Programm, das hier verrauscht, dptopics-client.js, hat den Fingerabdruck ${v.hash}. Die Sammelstelle nennt denselben. Vergleichen Sie ihn mit dem, der mit der Umfrage veröffentlicht wurde.`,
    other: (v) => `Das Programm, das hier verrauscht, dptopics-client.js, hat den Fingerabdruck ${v.hash}. Die Sammelstelle nennt einen anderen. Vergleichen Sie ihn mit dem, der mit der Umfrage veröffentlicht wurde.`,
    fault: "Diese Seite hat versagt. Es wird nichts mehr gesendet.",
  },
};

const at = (id) => document.getElementById(id);
const address = new URL(document.querySelector("meta[name=collector]").content || ".", location.href);
const token = new URLSearchParams(location.hash.slice(1)).get("token") ?? undefined; // a fragment is not sent
let language = navigator.language?.startsWith("de") ? "de" : "en";
let status = ["waiting"];
let collection;
let client;
let card; // what the client says about the collection, and what it drew for it, as of the last look
let drawnBefore;
let hash;

function sentence(key, values = {}) {
  const found = SAY[language][key] ?? SAY[language].fault;
  return typeof found === "function" ? found(values) : found;
}

function numbers(values) {
  const said = {};
  for (const name of ["epsilon", "total", "after", "limit"]) said[name] = shown(values[name] ?? 0, language);
  said.fold = values.epsilon < 700 ? shown(Math.exp(values.epsilon ?? 0), language) : "∞";
  return said;
}

function cardLines() {
  const { kind, settings, words } = collection;
  const values = kind === "bits"
    ? { words: words.length.toLocaleString(language), lie: percent(settings.f / 2, language) }
    : { keep: percent(hashing(kind === "pair" ? settings.epsilon : settings.epsilon / 3).keep, language) };
  const said = numbers(card);
  const noted = sentence(collection.period ?? "none");
  return [sentence("stays"), sentence(kind, values), sentence("epsilon", said), sentence("total", said), noted, sentence("hidden")];
}

function draw() {
  document.documentElement.lang = language;
  for (const part of document.querySelectorAll("[data-say]")) part.textContent = sentence(part.dataset.say);
  if (collection) at("name").textContent = sentence("named", { name: collection.collection });
  at("question").textContent = collection?.question ?? "";
  document.title = at("name").textContent;
  for (const button of document.querySelectorAll("[data-language]")) {
    button.setAttribute("aria-pressed", String(button.dataset.language === language));
  }
  at("card-lines").replaceChildren(...(card && collection ? cardLines() : []).map((line) => {
    const item = document.createElement("li");
    item.textContent = line;
    return item;
  }));
  at("client").textContent = hash && collection ? sentence(hash === collection.client ? "same" : "other", { hash }) : "";
  const [key, values] = status;
  at("status").textContent = key === "" ? "" : sentence(key, values === undefined ? {} : numbers(values));
}

async function look() {
  card = client && collection ? await client.card(collection) : undefined;
  drawnBefore = card ? await client.drawnFor(collection) : undefined;
}

function tell(key, values) {
  status = [key, values];
  at("send").disabled = !collection || key === "sending" || drawnBefore !== undefined;
  at("again").hidden = drawnBefore === undefined || drawnBefore.accepted || key === "sending";
  draw();
}

function tellDrawn() {
  tell(drawnBefore === undefined ? "" : drawnBefore.accepted ? "before" : "pending");
}

async function failed(error) {
  await look().catch(() => {
    card = drawnBefore = collection = undefined; // what was sent cannot be read: nothing may be drawn
  });
  if (error instanceof ClientError) tell(error.code, error.values.after === undefined ? undefined : error.values);
  else tell("fault");
}

async function bring(report) {
  await look();
  tell("sending");
  await client.send(address, report, { token });
  await look();
  tell("done");
}

at("languages").addEventListener("click", (event) => {
  language = event.target.dataset.language ?? language;
  draw();
});

at("survey").addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    at("send").disabled = true; // until tell() says otherwise: a second click draws nothing
    const limit = at("limit").valueAsNumber;
    client = await Client.open({ maxEpsilon: limit });
    await client.memory.write(LIMIT, String(limit));
    await look();
    if (drawnBefore !== undefined) return tellDrawn(); // in another tab: what is typed here was not asked for
    const report = await client.report(collection, at("text").value);
    at("text").value = "";
    await bring(report);
  } catch (error) {
    await failed(error);
  }
});

at("again").addEventListener("click", () => bring(drawnBefore).catch(failed));

try {
  draw();
  client = await Client.open({ maxEpsilon: Number.MAX_VALUE }); // to read what was sent; a limit is set before anything is drawn
  at("limit").value = (await client.memory.read(LIMIT)) ?? "";
  collection = await fetchCollection(address);
  epsilonOf(collection);
  hash = await ownHash().catch(() => undefined);
  await look();
  tellDrawn();
} catch (error) {
  collection = undefined;
  await failed(error);
}
