// The browser's side of local collection: read a text, randomise it on this device, keep what was drawn, send it.
// No dependencies. The text itself is never stored and never sent; only the randomised bytes are.
// The law is that of dptopics.local (Python): docs/guarantees/local.md has the proof.

export const SCHEMA = 1;
const DATABASE = "dptopics";
const KEPT = "kept";
const LOCK = "dptopics.sent";
const SLACK = 1 + 1e-9; // a limit of 4 takes an ε of 4 that floating point computed a little above
const WORD_RANGE = 1n << 64n;
const MASK = WORD_RANGE - 1n;
const PAUSES = [1000, 2000, 4000, 8000];

/** Something was refused. `code` names the reason (page.js has the sentences); nothing was sent unless it says so. */
export class ClientError extends Error {
  constructor(code, values = {}) {
    super(code);
    this.name = "ClientError";
    this.code = code;
    this.values = values;
  }
}

// --- randomness ---

/** Random 64-bit words, and numbers below n without modulo bias. `fill` puts random words into a BigUint64Array. */
export class Draws {
  constructor(fill) {
    this.fill = fill;
    this.buffer = new BigUint64Array(512);
    this.next = this.buffer.length;
  }

  word() {
    if (this.next === this.buffer.length) {
      this.fill(this.buffer);
      this.next = 0;
    }
    const word = this.buffer[this.next];
    this.buffer[this.next++] = 0n; // used once, and not left in memory
    return word;
  }

  words(n) {
    return Array.from({ length: n }, () => this.word());
  }

  /** One of 0 … n − 1, all alike: a word beyond the last full multiple of n is thrown away. */
  below(n) {
    if (n === 1) return 0;
    const range = BigInt(n);
    const end = WORD_RANGE - (WORD_RANGE % range);
    for (;;) {
      const word = this.word();
      if (word < end) return Number(word % range);
    }
  }
}

/** Draws from the operating system (WebCrypto). There is no other source, and no seed. */
export function secureDraws(source = globalThis.crypto) {
  if (typeof source?.getRandomValues !== "function" || typeof source.subtle?.digest !== "function") {
    throw new ClientError("no-crypto");
  }
  return new Draws((buffer) => source.getRandomValues(buffer));
}

// --- collections ---

const isCount = (value) => Number.isSafeInteger(value) && value >= 1;
const isWords = (value) => Array.isArray(value) && value.every((word) => typeof word === "string");

/** A collection as the collector describes it, refused unless this client understands all that decides a report. */
export function checked(data) {
  const damaged = (ok) => {
    if (!ok) throw new ClientError("damaged-collection");
  };
  damaged(data !== null && typeof data === "object" && isCount(data.schema));
  if (data.schema > SCHEMA) throw new ClientError("newer-collection");
  const { settings, text, words } = data;
  damaged(typeof data.collection === "string" && data.collection.trim() !== "" && typeof data.version === "string");
  damaged(typeof (data.question ?? "") === "string");
  damaged(isWords(words) && words.length > 0 && new Set(words).size === words.length);
  damaged(settings !== null && typeof settings === "object" && text !== null && typeof text === "object");
  damaged(isCount(text.min_length) && isCount(text.max_length) && isWords(data.stop_words));
  if (text.lemmas !== false || text.ngrams !== 1) throw new ClientError("unknown-kind");
  if (!["none", "day", "week"].includes(data.period ?? "none")) throw new ClientError("unknown-kind");
  if (data.kind === "bits") {
    damaged(typeof settings.f === "number" && settings.f > 0 && settings.f <= 1 && isCount(settings.max_words));
    damaged(settings.per === "document" || settings.per === "word");
  } else if (data.kind === "pair" || data.kind === "three-words") {
    damaged(typeof settings.epsilon === "number" && settings.epsilon > 0 && settings.epsilon <= (data.kind === "pair" ? 20 : 60));
    if (data.kind === "pair") damaged(Array.isArray(settings.topics) && settings.topics.length > 0);
    if (data.kind === "pair") damaged(settings.topics.every((topic) => isWords(topic) && topic.length > 0));
  } else {
    throw new ClientError("unknown-kind");
  }
  return data;
}

/** ε of one report for a whole text, at δ = 0, from the numbers that draw it and not from what a collector says. */
export function epsilonOf({ kind, settings, words }) {
  if (kind !== "bits") return settings.epsilon;
  const bits = settings.per === "word" ? words.length : Math.min(2 * settings.max_words, words.length);
  return bits * Math.log((1 - settings.f / 2) / (settings.f / 2));
}

/** A text without web and e-mail addresses: the two expressions of TextSettings. */
function withoutLinks(text) {
  const web = /(?:[hH][tT][tT][pP][sS]?:\/\/|(^|[^A-Za-z0-9])(?:www|WWW)\.)[!#-;=?-~]+/g;
  const mail = /(^|[^A-Za-z0-9._%+-])[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+/g;
  return text.replace(web, "$1 | ").replace(mail, "$1 | ");
}

/** Words of a text as the collection reads them: NFKC, links, lower case, length and stop-word filters. */
export function wordsOf(text, collection) {
  const { min_length: low, max_length: high } = collection.text;
  const stop = new Set(collection.stop_words);
  const whole = text.normalize("NFKC");
  const plain = collection.text.links === false ? withoutLinks(whole) : whole;
  const found = plain.toLowerCase().match(/\p{L}[\p{L}\p{M}\p{Nd}]*/gu) ?? [];
  return found.filter((word) => {
    const length = [...word].length;
    return low <= length && length <= high && !stop.has(word);
  });
}

// --- randomisers ---

/** splitmix64: the public hash that both sides know. */
function mixed(seed, i) {
  let x = (seed + BigInt(i) * 0x9e3779b97f4a7c15n) & MASK;
  x = ((x ^ (x >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
  x = ((x ^ (x >> 27n)) * 0x94d049bb133111ebn) & MASK;
  return x ^ (x >> 31n);
}

function bucketOf(seed, value, nBuckets) {
  return Number(((mixed(seed, value + 1) >> 32n) * BigInt(nBuckets)) >> 32n);
}

/** Buckets and the chance that the true one is sent: optimised local hashing at this ε. */
export function hashing(epsilon) {
  const odds = Math.exp(epsilon);
  const nBuckets = Math.min(2 ** 31, Math.max(2, Math.round(odds) + 1));
  const keep = odds / (odds + nBuckets - 1);
  return { nBuckets, keep, keepBelow: BigInt(Math.floor(keep * 2 ** 64)) };
}

function hashed(values, epsilon, draws) {
  const { nBuckets, keepBelow } = hashing(epsilon);
  const seeds = draws.words(values.length);
  const lots = draws.words(values.length);
  const others = values.map(() => draws.below(nBuckets - 1));
  const bytes = new DataView(new ArrayBuffer(12 * values.length));
  values.forEach((value, i) => {
    const truth = bucketOf(seeds[i], value, nBuckets);
    const other = others[i] + (others[i] >= truth ? 1 : 0); // one of the g − 1 others, all alike
    bytes.setBigUint64(12 * i, seeds[i], true);
    bytes.setUint32(12 * i + 8, lots[i] < keepBelow ? truth : other, true);
  });
  return new Uint8Array(bytes.buffer);
}

/** So many of the items, drawn without replacement: those with the smallest lots. */
function drawn(items, n, draws) {
  const lots = draws.words(items.length);
  const order = items.map((_, i) => i).sort((a, b) => (lots[a] < lots[b] ? -1 : lots[a] > lots[b] ? 1 : a - b));
  return order.slice(0, n).map((i) => items[i]);
}

function bits({ settings, words }, document, draws) {
  const index = new Map(words.map((word, i) => [word, i]));
  let present = [...new Set(document.filter((word) => index.has(word)).map((word) => index.get(word)))];
  present.sort((a, b) => a - b);
  if (settings.per === "document" && present.length > settings.max_words) {
    present = drawn(present, settings.max_words, draws);
  }
  const there = new Set(present);
  const flipBelow = BigInt(Math.ceil(settings.f * 2 ** 63)); // exact: f/2 of 2⁶⁴, rounded up to more noise
  const bytes = new Uint8Array(Math.ceil(words.length / 8));
  words.forEach((_, i) => {
    if (there.has(i) !== draws.word() < flipBelow) bytes[i >> 3] |= 0x80 >> (i & 7);
  });
  return bytes;
}

function pair({ settings, words }, document, draws) {
  const index = new Map(words.map((word, i) => [word, i]));
  let known = document.filter((word) => index.has(word)).map((word) => index.get(word));
  let value = settings.topics.length * words.length; // a text without a known word
  if (known.length > 0) {
    const times = new Map();
    for (const word of known) times.set(word, (times.get(word) ?? 0) + 1);
    const repeated = known.filter((word) => times.get(word) > 1);
    if (repeated.length > 0) known = repeated;
    const word = known[draws.below(known.length)];
    const fit = settings.topics.map((topic) => {
      const listed = new Set(topic);
      return document.filter((one) => listed.has(one)).length;
    });
    value = fit.indexOf(Math.max(...fit)) * words.length + word;
  }
  return hashed([value], settings.epsilon, draws);
}

function threeWords({ settings, words }, document, draws) {
  const index = new Map(words.map((word, i) => [word, i]));
  const known = document.filter((word) => index.has(word)).map((word) => index.get(word));
  const values = drawn(known, 3, draws);
  while (values.length < 3) values.push(words.length); // "no word"
  return hashed(values, settings.epsilon / 3, draws);
}

const RANDOMISERS = { bits, pair, "three-words": threeWords };

/** The randomised bytes of one report. Everything a collector learns of the text is in here. */
export function randomise(collection, document, draws) {
  return RANDOMISERS[collection.kind](collection, document, draws);
}

// --- memory and sending ---

const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const base64 = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));

/** SHA-256 of this very module, written as Subresource Integrity does: a person can compare it with a published one. */
export async function ownHash() {
  const answer = await fetch(import.meta.url, { credentials: "omit", cache: "force-cache" });
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", await answer.arrayBuffer()));
  return `sha256-${base64(hash)}`;
}

const settled = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = request.onblocked = () => reject(request.error);
  });

/**
 * What this browser keeps for pages of this site: IndexedDB with `durability: "strict"`. A write is done when it is on
 * disk. Local storage would do without a database, but browsers write it down seconds later: after a crash the report
 * would be sent, and forgotten, and the next one a second draw.
 */
export class BrowserMemory {
  constructor(database) {
    this.database = database;
  }

  static async open() {
    if (!("durability" in (globalThis.IDBTransaction?.prototype ?? {}))) throw new ClientError("too-old");
    const request = globalThis.indexedDB.open(DATABASE, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(KEPT);
    return new BrowserMemory(await settled(request));
  }

  async read(key) {
    return (await settled(this.database.transaction(KEPT, "readonly").objectStore(KEPT).get(key))) ?? null;
  }

  /** Returns when the value is on disk. */
  async write(key, value) {
    const transaction = this.database.transaction(KEPT, "readwrite", { durability: "strict" });
    const complete = new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onabort = () => reject(transaction.error);
    });
    transaction.objectStore(KEPT).put(value, key);
    await complete;
  }
}

const isSent = (one) =>
  typeof one?.collection === "string" && typeof one.version === "string" && Number.isFinite(one.epsilon) &&
  one.epsilon >= 0 && /^[0-9a-f]{32}$/.test(one.report) && typeof one.data === "string" &&
  typeof one.accepted === "boolean";

/** Reports once for each collection from this browser, and no more in total than `maxEpsilon` allows. */
export class Client {
  /** Use `Client.open`. */
  constructor(maxEpsilon, memory) {
    if (!(maxEpsilon > 0 && maxEpsilon < Infinity)) throw new ClientError("no-limit");
    this.maxEpsilon = maxEpsilon;
    this.memory = memory;
    this.draws = secureDraws();
    if (typeof navigator?.locks?.request !== "function") throw new ClientError("too-old");
  }

  /** A client with the memory of this browser, after a look whether the browser can keep anything at all. */
  static async open({ maxEpsilon, memory }) {
    const client = new Client(maxEpsilon, memory);
    try {
      client.memory ??= await BrowserMemory.open();
      await client.memory.write("try", "1");
    } catch (error) {
      throw error instanceof ClientError ? error : new ClientError("no-storage");
    }
    await navigator.locks.request(LOCK, async () => {
      const sent = await client.sent();
      // Development versions kept a keyed hash of the text, beside its key: a later page could have tested guesses.
      if (sent.some((one) => "digest" in one)) await client.keep(sent.map(({ digest, ...rest }) => rest));
    });
    return client;
  }

  /**
   * What was drawn in this browser, for pages of this site: the reports, and what they cost. Nothing else in it depends
   * on a text: a hash of it, keyed or not, would let any later page of this site test guesses.
   */
  async sent() {
    let found;
    try {
      found = JSON.parse((await this.memory.read("sent")) ?? '{"schema":1,"sent":[]}');
    } catch {
      throw new ClientError("damaged-memory");
    }
    if (found?.schema !== 1 || !Array.isArray(found.sent) || !found.sent.every(isSent)) {
      throw new ClientError("damaged-memory");
    }
    return found.sent;
  }

  /** The report that was drawn for this collection, sent or not; undefined if there is none. */
  async drawnFor(collection) {
    return (await this.sent()).find((one) => one.collection === collection.collection);
  }

  /** Numbers of the card: what is asked, and what was sent before. */
  async card(collection) {
    const sent = await this.sent();
    const epsilon = epsilonOf(collection);
    const already = sent.some((one) => one.collection === collection.collection);
    const total = sent.reduce((sum, one) => sum + one.epsilon, 0);
    const after = already ? total : total + epsilon;
    return { epsilon, total, after, limit: this.maxEpsilon, already, fits: after <= this.maxEpsilon * SLACK };
  }

  /** Draw one report about one text, and keep it. Asked again, it gives the same bytes again, whatever the text says. */
  async report(collection, text) {
    return navigator.locks.request(LOCK, async () => {
      const sent = await this.sent();
      const before = sent.find((one) => one.collection === collection.collection);
      if (before !== undefined) {
        if (before.version !== collection.version) throw new ClientError("sent-already");
        return before;
      }
      const card = await this.card(collection);
      if (!card.fits) throw new ClientError("over-limit", card);
      const number = crypto.getRandomValues(new Uint8Array(16));
      const data = base64(randomise(collection, wordsOf(text, collection), this.draws));
      const report = {
        collection: collection.collection, version: collection.version, epsilon: card.epsilon,
        report: hex(number), data, accepted: false,
      };
      await this.keep([...sent, report]);
      return report;
    });
  }

  /** Write all that is kept, and see that it is there: only then may anything be sent. */
  async keep(sent) {
    const value = JSON.stringify({ schema: 1, sent });
    try {
      await this.memory.write("sent", value);
      if ((await this.memory.read("sent")) === value) return;
    } catch {
      // full or forbidden: as below
    }
    throw new ClientError("no-storage");
  }

  /** Bring a kept report to the collector; a retry brings the same bytes. Returns when it is accepted. */
  async send(address, report, { token, pauses = PAUSES } = {}) {
    const { collection, version, report: number, data } = report;
    const known = await this.sent();
    if (!known.some((one) => one.report === number && one.data === data)) throw new ClientError("not-kept");
    const headers = { "Content-Type": "application/json" };
    if (token) headers.Authorization = `Bearer ${token}`;
    const body = JSON.stringify({ collection, version, report: number, data });
    const options = { method: "POST", headers, body, credentials: "omit", referrerPolicy: "no-referrer", cache: "no-store" };
    for (const pause of [...pauses, null]) {
      const status = await fetch(new URL("reports", address), options).then((answer) => answer.status, () => 0);
      if (status === 200) break;
      if (![0, 408, 429, 502, 503, 504].includes(status)) throw new ClientError("refused", { status });
      if (pause === null) throw new ClientError("not-reached");
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
    await navigator.locks.request(LOCK, async () =>
      this.keep((await this.sent()).map((one) => (one.report === number ? { ...one, accepted: true } : one))));
  }
}

/** The public description of what a collector asks. */
export async function fetchCollection(address) {
  const options = { credentials: "omit", referrerPolicy: "no-referrer", cache: "no-cache" };
  let data;
  try {
    const answer = await fetch(new URL("collection", address), options);
    if (!answer.ok) throw new ClientError("not-reached");
    data = await answer.json();
  } catch {
    throw new ClientError("not-reached");
  }
  return checked(data);
}
