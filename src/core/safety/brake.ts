/**
 * The brake on ends that nobody asked for. One or two broken machines are normal; a tenth of the fleet within ten
 * minutes is rather a fault of what we see. Then no more end until an hour has passed or a person says so.
 * karpenter-ts only.
 */

/** Ends are counted over this time. */
const WINDOW_MS = 10 * 60_000;
/** How long the brake holds once it is on. */
export const HOLD_MS = 60 * 60_000;

/** How many nodes may end without a user's request before the brake goes on. */
export interface BrakeLimit {
  /** So many nodes may end within the window, however small the fleet. */
  readonly nodes: number;
  /** Or this share of the fleet, if that is more. */
  readonly percent: number;
}

/** The larger of the two counts. */
export const DEFAULT_BRAKE_LIMIT: BrakeLimit = { nodes: 5, percent: 10 };

/** `name` is what a person is told, `machine` what is counted. */
export interface Counted {
  readonly name: string;
  readonly machine: string;
}

/** Times are elapsed milliseconds of one process: a clock that is set changes nothing. */
export class Brake {
  readonly #limit: BrakeLimit;
  readonly #listeners = new Set<() => void>();
  /** Ends within the window: machine → elapsed time. */
  #ended = new Map<string, number>();
  #sinceMs: number | undefined;
  /** Objects whose end is held, by name. */
  readonly #held = new Set<string>();

  constructor(limit: BrakeLimit) {
    this.#limit = limit;
  }

  /** How many nodes of a fleet of this size may end within the window. */
  most(fleet: number): number {
    return Math.max(this.#limit.nodes, Math.floor((fleet * this.#limit.percent) / 100));
  }

  /**
   * Takes one of the ends that are left; false: the brake is on, now or since before. `machine` is counted once, though
   * several objects that stand for it end; absent: the name.
   */
  take(one: string | Counted, nowMs: number, fleet: number): boolean {
    const { name, machine } = typeof one === "string" ? { name: one, machine: one } : one;
    if (this.isOn(nowMs)) {
      this.#held.add(name);
      return false;
    }
    this.#forgetOld(nowMs);
    // Tried again, or its Node follows it.
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

  /** Elapsed time at which the brake came on; undefined: it is off. */
  get sinceMs(): number | undefined {
    return this.#sinceMs;
  }

  /** What it keeps from ending, by name. */
  get held(): readonly string[] {
    return [...this.#held].sort();
  }

  /** When what is counted ended, in elapsed time. */
  counted(nowMs: number): readonly number[] {
    this.#forgetOld(nowMs);
    return [...this.#ended.values()];
  }

  /** Another process counted these. */
  recall(endedMs: readonly number[]): void {
    for (const [at, atMs] of endedMs.entries()) this.#ended.set(`recalled/${at}`, atMs);
  }

  /** Another process had it on, since then. */
  resume(sinceMs: number): void {
    if (this.#sinceMs === undefined) this.#set(sinceMs);
  }

  /** A person has looked, or the hour is over: counting begins anew. */
  release(): void {
    if (this.#sinceMs === undefined) return;
    this.#ended.clear();
    this.#held.clear();
    this.#set(undefined);
  }

  /** Calls back when it comes on or goes off. Returns the stop. */
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
 * `0` lets nothing end that nobody asked for; `100%` takes the brake away.
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

/** What is wrong with the text of a limit; undefined: nothing. */
export function brakeLimitProblem(text: string): string | undefined {
  return parseBrakeLimit(text) === undefined
    ? "give a count of nodes, a share of at most 100%, or both: 5,10%"
    : undefined;
}
