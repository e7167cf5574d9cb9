/**
 * Every call that reached the simulated AWS, with its input, in order. Tests and scenarios use it to check
 * what Karpenter asked for. The number of entries is limited; the oldest are dropped first.
 */
import { isObject } from "../../../base/json.ts";

/** The outcome of a call. Calls named Describe… or Get… keep no output. */
export type CallOutcome =
  | { readonly ok: true; readonly output?: unknown }
  | { readonly ok: false; readonly code: string; readonly message: string };

/** One call, with its input and its outcome. */
export interface JournalEntry {
  readonly sequence: number;
  readonly atMs: number;
  /** The name of the service, such as `ec2`, `ssm` or `zonalShift`. */
  readonly service: string;
  /** The name as AWS spells it, such as `CreateFleet`. */
  readonly action: string;
  /** The caller's input with AWS's member names. It is shared, so do not change it. */
  readonly input: unknown;
  readonly outcome: CallOutcome;
}

/** Selects entries of the journal. Without fields it selects all. */
export interface JournalQuery {
  readonly service?: string;
  readonly action?: string;
  /** The sequence number after which entries are selected. */
  readonly after?: number;
  readonly failed?: boolean;
}

const LIMIT = 20_000;

/** Every call to the simulated account, in order. */
export class Journal {
  #entries: JournalEntry[] = [];
  #sequence = 0;

  /** The number of the newest entry. Pass it to `calls({after})` later to get only newer entries. */
  get mark(): number {
    return this.#sequence;
  }

  record(entry: Omit<JournalEntry, "sequence">): void {
    this.#sequence++;
    this.#entries.push({ sequence: this.#sequence, ...entry });
    if (this.#entries.length > 2 * LIMIT) this.#entries = this.#entries.slice(-LIMIT);
  }

  /** The entries that match, oldest first. */
  calls(query: JournalQuery = {}): readonly JournalEntry[] {
    return this.#entries.filter(
      (entry) =>
        (query.service === undefined || entry.service === query.service) &&
        (query.action === undefined || entry.action === query.action) &&
        (query.after === undefined || entry.sequence > query.after) &&
        (query.failed === undefined || entry.outcome.ok !== query.failed),
    );
  }

  /** The inputs of all calls of one action, oldest first, cast to the caller's type. Dry runs are left out. */
  inputs<Input>(action: string): readonly Input[] {
    return this.calls({ action })
      .filter(({ input }) => !(isObject(input) && input["DryRun"] === true))
      .map((entry) => entry.input as Input);
  }

  /** How often each action was called, sorted by action. */
  counts(): Readonly<Record<string, number>> {
    const counts = new Map<string, number>();
    for (const entry of this.#entries)
      counts.set(entry.action, (counts.get(entry.action) ?? 0) + 1);
    return Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  clear(): void {
    this.#entries = [];
  }
}
