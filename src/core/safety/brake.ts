/**
 * The brake on ends that nobody asked for. If many nodes seem to be broken together, Karpenter's own picture is
 * probably wrong. When a tenth of the fleet has ended within ten minutes, the brake goes on. No more nodes then end
 * until an hour has passed or a person releases the brake. karpenter-ts only.
 */

/** Milliseconds over which ends are counted. */
const WINDOW_MS = 10 * 60_000;
/** Milliseconds for which the brake stays on. */
export const HOLD_MS = 60 * 60_000;

/** How many nodes may end without a user's request before the brake goes on. */
export interface BrakeLimit {
  /** The number of nodes that may end within the window, in a fleet of any size. */
  readonly nodes: number;
  /** The share of the fleet that may end within the window, if that is more. */
  readonly percent: number;
}

/** The larger of the two counts. */
export const DEFAULT_BRAKE_LIMIT: BrakeLimit = { nodes: 5, percent: 10 };

/** An object that ends. `name`: for messages. `machine`: what the brake counts. */
export interface Counted {
  readonly name: string;
  readonly machine: string;
}

/** Times are elapsed milliseconds of this process, which do not change when the clock is set. */
export class Brake {
  readonly #limit: BrakeLimit;
  readonly #listeners = new Set<() => void>();
  /** The ends within the window: each machine, and when it ended. */
  #ended = new Map<string, number>();
  #sinceMs: number | undefined;
  /** The names of objects that the brake keeps from ending. */
  readonly #held = new Set<string>();

  constructor(limit: BrakeLimit) {
    this.#limit = limit;
  }

  /** How many nodes of a fleet of this size may end within the window. */
  most(fleet: number): number {
    return Math.max(this.#limit.nodes, Math.floor((fleet * this.#limit.percent) / 100));
  }

  /**
   * Whether the object may end; if so, its end is counted. False: the brake is on. Several objects of one machine
   * count once. Without a `machine` the name is counted.
   */
  take(one: string | Counted, nowMs: number, fleet: number): boolean {
    const { name, machine } = typeof one === "string" ? { name: one, machine: one } : one;
    if (this.isOn(nowMs)) {
      this.#held.add(name);
      return false;
    }
    this.#forgetOld(nowMs);
    // The same end is tried again, or the Node ends after its claim.
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

  /** When the brake went on, in elapsed time. Undefined: it is off. */
  get sinceMs(): number | undefined {
    return this.#sinceMs;
  }

  /** The names of the objects that it keeps from ending. */
  get held(): readonly string[] {
    return [...this.#held].sort();
  }

  /** When each counted end happened, in elapsed time. */
  counted(nowMs: number): readonly number[] {
    this.#forgetOld(nowMs);
    return [...this.#ended.values()];
  }

  /** Adds ends that an earlier process counted. */
  recall(endedMs: readonly number[]): void {
    for (const [at, atMs] of endedMs.entries()) this.#ended.set(`recalled/${at}`, atMs);
  }

  /** Switches the brake on since this time, because an earlier process had it on. */
  resume(sinceMs: number): void {
    if (this.#sinceMs === undefined) this.#set(sinceMs);
  }

  /** Switches the brake off and forgets all counted ends. Called when a person releases it or the hour is over. */
  release(): void {
    if (this.#sinceMs === undefined) return;
    this.#ended.clear();
    this.#held.clear();
    this.#set(undefined);
  }

  /** Calls `listener` when the brake goes on or off. The returned function ends that. */
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
 * Reads `5,10%`: a count of nodes, a share of the fleet, or both. Undefined for anything else.
 * `0` allows no end that nobody asked for. `100%` switches the brake off.
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

/** What is wrong with the text of a limit. Undefined: nothing. */
export function brakeLimitProblem(text: string): string | undefined {
  return parseBrakeLimit(text) === undefined
    ? "give a count of nodes, a share of at most 100%, or both: 5,10%"
    : undefined;
}
