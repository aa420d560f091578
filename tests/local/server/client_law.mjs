// Reads a job from standard input, writes reports as lines of hex: the JavaScript side of the tests of the law.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const job = JSON.parse(readFileSync(0, "utf8"));
const client = await import(pathToFileURL(job.module));
const MASK = (1n << 64n) - 1n;

/** splitmix64 from a seed: the fixed generator of the golden tests. */
function fixed(seed) {
  let state = BigInt(seed);
  return new client.Draws((buffer) => {
    for (let i = 0; i < buffer.length; i++) {
      state = (state + 0x9e3779b97f4a7c15n) & MASK;
      let x = state;
      x = ((x ^ (x >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
      x = ((x ^ (x >> 27n)) * 0x94d049bb133111ebn) & MASK;
      buffer[i] = x ^ (x >> 31n);
    }
  });
}

const collection = client.checked(job.collection);
const lines = [];
if (job.below) {
  const given = (buffer) => buffer.set(job.given.map(BigInt)); // these words come first
  const draws = job.given === undefined ? client.secureDraws() : new client.Draws(given);
  for (let i = 0; i < job.times; i++) lines.push(draws.below(job.below));
} else {
  const draws = client.secureDraws();
  for (const text of job.texts) {
    const words = client.wordsOf(text, collection);
    if (job.words) lines.push(JSON.stringify(words));
    for (let i = 0; !job.words && i < job.times; i++) {
      const source = job.seed === undefined ? draws : fixed(job.seed + i);
      lines.push(Buffer.from(client.randomise(collection, words, source)).toString("hex"));
    }
  }
}
process.stdout.write(JSON.stringify({ epsilon: client.epsilonOf(collection) }) + "\n" + lines.join("\n") + "\n");
