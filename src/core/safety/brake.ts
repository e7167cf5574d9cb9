/**
 * The brake on terminations that nobody requested, such as node repair and garbage collection. If very many nodes seem
 * to be broken at the same time, Karpenter's view of the cluster is probably wrong. By default, a tenth of all nodes
 * may be terminated within ten minutes, or five if that is more. The next termination sets the brake. Then no node is
 * terminated without a request until an hour has passed or a person releases the brake. karpenter-ts only.
 */

/** The time window in which terminations are counted, in milliseconds. */
const WINDOW_MS = 10 * 60_000;
/** How long the brake stays on, in milliseconds. */
export const HOLD_MS = 60 * 60_000;

/** How many nodes may be terminated within the window before the brake is set. The larger of the two numbers counts. */
export interface BrakeLimit {
  /** A number of nodes. */
  readonly nodes: number;
  /** A share of all nodes, in percent. */
  readonly percent: number;
}

/** The limit if the operator sets none. */
export const DEFAULT_BRAKE_LIMIT: BrakeLimit = { nodes: 5, percent: 10 };

/**
 * An object that is to be terminated. `name`: its name in messages. `machine`: the key by which the brake counts, which
 * is the same for an instance, its claim and its Node.
 */
export interface CountedObject {
  readonly name: string;
  readonly machine: string;
}

/**
 * The brake. All times are elapsed milliseconds of this process. Unlike the time of day, elapsed time does not jump
 * when the clock is set.
 */
export class Brake {
  readonly #limit: BrakeLimit;
  readonly #listeners = new Set<() => void>();
  /** The terminations within the window: the key of each counted instance, and when it was terminated. */
  #ended = new Map<string, number>();
  #sinceMs: number | undefined;
  /** The names of objects that may not be terminated until the brake is released. */
  readonly #held = new Set<string>();

  constructor(limit: BrakeLimit) {
    this.#limit = limit;
  }

  /** How many nodes may be terminated within the window, if there are `fleet` nodes in all. */
  most(fleet: number): number {
    return Math.max(this.#limit.nodes, Math.floor((fleet * this.#limit.percent) / 100));
  }

  /**
   * Whether the object may be terminated. If so, the brake counts it. False: the brake is on, or this call has set it.
   * Objects with the same key `machine` count once. Instead of an object, a name may be given; it is also the key.
   */
  take(one: string | CountedObject, nowMs: number, fleet: number): boolean {
    const { name, machine } = typeof one === "string" ? { name: one, machine: one } : one;
    if (this.isOn(nowMs)) {
      this.#held.add(name);
      return false;
    }
    this.#forgetOld(nowMs);
    // The instance is counted already: the act is tried again, or the Node is deleted after its claim.
    if (this.#ended.has(machine)) return true;
    if (this.#ended.size < this.most(fleet)) {
      this.#ended.set(machine, nowMs);
      return true;
    }
    this.#held.add(name);
    this.#set(nowMs);
    return false;
  }

  isOn(nowMs: number): boolean {
    if (this.#sinceMs !== undefined && nowMs - this.#sinceMs >= HOLD_MS) this.release();
    return this.#sinceMs !== undefined;
  }

  /** When the brake was set, in elapsed time. Undefined: it is off. */
  get sinceMs(): number | undefined {
    return this.#sinceMs;
  }

  /** The names of the objects that the brake has stopped, sorted. */
  get held(): readonly string[] {
    return [...this.#held].sort();
  }

  /** When each counted termination happened, in elapsed time. */
  counted(nowMs: number): readonly number[] {
    this.#forgetOld(nowMs);
    return [...this.#ended.values()];
  }

  /** Adds terminations that an earlier process counted, in elapsed time. Their keys are not known any more. */
  recall(endedMs: readonly number[]): void {
    for (const [at, atMs] of endedMs.entries()) this.#ended.set(`recalled/${at}`, atMs);
  }

  /** Sets the brake as if it had been set at this time, because an earlier process had set it. */
  resume(sinceMs: number): void {
    if (this.#sinceMs === undefined) this.#set(sinceMs);
  }

  /**
   * Releases the brake and forgets all counted terminations. Called when a person releases it, or when the hour is
   * over.
   */
  release(): void {
    if (this.#sinceMs === undefined) return;
    this.#ended.clear();
    this.#held.clear();
    this.#set(undefined);
  }

  /** Calls `listener` when the brake is set or released. The returned function removes the listener. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #forgetOld(nowMs: number): void {
    for (const [name, atMs] of this.#ended) if (nowMs - atMs >= WINDOW_MS) this.#ended.delete(name);
  }

  #set(sinceMs: number | undefined): void {
    this.#sinceMs = sinceMs;
    for (const listener of this.#listeners) listener();
  }
}

/**
 * Parses `5,10%`: a number of nodes, a share of all nodes, or both. Undefined for anything else. `0` allows no
 * termination that nobody requested. `100%` turns the brake off.
 */
export function parseBrakeLimit(text: string): BrakeLimit | undefined {
  const limit = { nodes: 0, percent: 0 };
  for (const part of text.split(",")) {
    const match = /^\s*(\d{1,9})(%?)\s*$/.exec(part);
    const amount = Number(match?.[1]);
    if (match === null || (match[2] === "%" && amount > 100)) return undefined;
    if (match[2] === "%") limit.percent = amount;
    else limit.nodes = amount;
  }
  return limit;
}

/** The fault in the text of a limit. Undefined: the text is valid. */
export function brakeLimitProblem(text: string): string | undefined {
  return parseBrakeLimit(text) === undefined
    ? "give a count of nodes, a share of at most 100%, or both: 5,10%"
    : undefined;
}
