/** The browser's side of local collection with dptopics. */
export const SCHEMA: number;

export type ErrorCode =
  | "damaged-collection" | "damaged-memory" | "newer-collection" | "no-crypto" | "no-limit" | "no-storage"
  | "not-kept" | "not-reached" | "over-limit" | "refused" | "sent-already" | "too-old" | "unknown-kind";

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
  text: { language: string; min_length: number; max_length: number; lemmas: boolean; links?: boolean; stop_words?: string[]; ngrams: number };
  words: string[];
  question?: string;
  period?: "none" | "day" | "week";
  stop_words: string[];
  client?: string;
}

export interface Sent {
  collection: string;
  version: string;
  epsilon: number;
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
export function ownHash(): Promise<string>;
export function fetchCollection(address: string | URL): Promise<Collection>;

/** Where a client keeps what it drew. A write must be durable when its promise is kept. */
export interface Memory {
  read(key: string): Promise<string | null>;
  write(key: string, value: string): Promise<void>;
}

export class BrowserMemory implements Memory {
  private constructor();
  static open(): Promise<BrowserMemory>;
  read(key: string): Promise<string | null>;
  write(key: string, value: string): Promise<void>;
}

export class Client {
  private constructor();
  static open(options: { maxEpsilon: number; memory?: Memory }): Promise<Client>;
  readonly maxEpsilon: number;
  readonly memory: Memory;
  sent(): Promise<Sent[]>;
  drawnFor(collection: Collection): Promise<Sent | undefined>;
  card(collection: Collection): Promise<Card>;
  report(collection: Collection, text: string): Promise<Sent>;
  send(address: string | URL, report: Sent, options?: { token?: string; pauses?: number[] }): Promise<void>;
}
