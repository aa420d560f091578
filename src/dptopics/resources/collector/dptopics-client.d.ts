/** The browser's side of local collection with dptopics. */
export const SCHEMA: number;

export type ErrorCode =
  | "damaged-collection" | "damaged-memory" | "newer-collection" | "no-crypto" | "no-limit" | "no-locks" | "no-storage"
  | "not-kept" | "not-reached" | "over-limit" | "refused" | "sent-already" | "unknown-kind";

export class ClientError extends Error {
  readonly code: ErrorCode;
  readonly values: Record<string, unknown>;
}

export interface Collection {
  schema: number;
  collection: string;
  version: string;
  kind: "bits" | "pair" | "three-words";
  settings: { f?: number; max_words?: number; per?: "document" | "word"; epsilon?: number; delta?: number; topics?: string[][] };
  text: { language: string; min_length: number; max_length: number; lemmas: boolean; ngrams: number };
  words: string[];
  stop_words: string[];
}

export interface Sent {
  collection: string;
  version: string;
  epsilon: number;
  digest: string;
  report: string;
  data: string;
  accepted: boolean;
}

export interface Card {
  epsilon: number;
  total: number;
  after: number;
  limit: number;
  already: boolean;
  fits: boolean;
}

export class Draws {
  constructor(fill: (buffer: BigUint64Array) => unknown);
  word(): bigint;
  words(n: number): bigint[];
  below(n: number): number;
}

export function secureDraws(source?: Crypto): Draws;
export function checked(data: unknown): Collection;
export function epsilonOf(collection: Collection): number;
export function wordsOf(text: string, collection: Collection): string[];
export function hashing(epsilon: number): { nBuckets: number; keep: number; keepBelow: bigint };
export function randomise(collection: Collection, document: string[], draws: Draws): Uint8Array;
export function fetchCollection(address: string | URL): Promise<Collection>;

export class Client {
  constructor(options: { maxEpsilon: number; storage?: Storage });
  readonly maxEpsilon: number;
  readonly total: number;
  sent(): Sent[];
  drawnFor(collection: Collection): Sent | undefined;
  card(collection: Collection): Card;
  report(collection: Collection, text: string): Promise<Sent>;
  send(address: string | URL, report: Sent, options?: { token?: string; pauses?: number[] }): Promise<void>;
}
