/**
 * Every call that reached the simulated AWS, with its parsed input, in order: what tests and
 * scenarios look at to say what the product really asked for. Bounded, the oldest entries go
 * first.
 */
import { isObject } from "../../../base/json.ts";

/** The output is kept of calls that change something; what describe calls answered is not. */
export type CallOutcome =
  | { readonly ok: true; readonly output?: unknown }
  | { readonly ok: false; readonly code: string; readonly message: string };

/** One call, with its input and its outcome. */
export interface JournalEntry {
  readonly sequence: number;
  readonly atMs: number;
  /** `ec2`, `ssm`, `iam`, `eks`, `pricing`, `sts`, `sqs`, `events`. */
  readonly service: string;
  /** AWS's spelling: `CreateFleet`. */
  readonly action: string;
  /** As the caller gave it, in AWS's member names. Not to be changed. */
  readonly input: unknown;
  readonly outcome: CallOutcome;
}

/** Which entries to return; without fields, all. */
export interface JournalQuery {
  readonly service?: string;
  readonly action?: string;
  /** Only entries after this sequence number. */
  readonly after?: number;
  readonly failed?: boolean;
}

const LIMIT = 20_000;

/** Every call to the simulated account, in order. */
export class Journal {
  #entries: JournalEntry[] = [];
  #sequence = 0;

  /** The sequence number of the newest entry: the mark to ask `calls({after})` from. */
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

  /**
   * The inputs of all calls of one action, oldest first, as the type the caller knows them to be. Trials
   * (`DryRun`) do nothing and are left out.
   */
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
