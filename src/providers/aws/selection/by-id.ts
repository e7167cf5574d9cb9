/**
 * Asks EC2 for objects by their IDs. One ID that EC2 does not know, or does not show to this account, makes the whole
 * call fail. So a refused list is halved until each such ID is alone. Requests that arrive shortly after each other
 * share a call. An answer is kept for the refresh time and never longer, because nodes drift by it.
 */
import type { Clock } from "../../../base/clock.ts";
import type { Logger } from "../../../base/log.ts";
import { StandingProblems } from "../../../base/standing-problems.ts";
import { AwsError } from "../api/call.ts";
import { RequestBatcher } from "../batch/batcher.ts";
import { TtlCache } from "../cache/ttl-cache.ts";
import { describeError, isThrottled } from "../errors.ts";

/**
 * What EC2 answered about an ID: the object, or that there is none with this ID. Undefined: the answer does not
 * contain the object and does not say that there is none.
 */
export type ById<T> = T | "unknown" | undefined;

const IDLE_MS = 100;
const MAX_MS = 1_000;
const MAX_IDS = 200;
/** Calls for one list of IDs. Halving a list of 200 for three bad IDs takes about 40. */
const MAX_CALLS = 50;

/** How EC2 is asked for one kind of object by ID. */
export interface ByIdKind<T> {
  /** The plural for the log, such as `subnets`. */
  readonly plural: string;
  /** The prefix of all IDs of the kind, such as `subnet-`. EC2 is not asked for other IDs. */
  readonly idPrefix: string;
  idOf(one: T): string;
  /** Rejects with EC2's error if there is no object with one of the IDs. */
  byId(ids: readonly string[]): Promise<readonly T[]>;
}

/** The dependencies of AnswersById. */
interface AnswersByIdDeps<T> {
  readonly kind: ByIdKind<T>;
  readonly clock: Clock;
  readonly log: Logger;
  /** How long an answer is kept. */
  readonly refreshMs: number;
}

/** EC2's answers by ID for one kind of object. */
export class AnswersById<T> {
  readonly #kind: ByIdKind<T>;
  readonly #problems: StandingProblems;
  readonly #answers: TtlCache<ById<T>>;
  readonly #batcher: RequestBatcher<string, ById<T>>;

  constructor({ kind, clock, log, refreshMs }: AnswersByIdDeps<T>) {
    this.#kind = kind;
    this.#problems = new StandingProblems(log, clock);
    this.#answers = new TtlCache(clock, refreshMs, 0);
    this.#batcher = new RequestBatcher({
      ...{ clock, idleMs: IDLE_MS, maxMs: MAX_MS, maxItems: MAX_IDS },
      keyOf: () => "",
      execute: (ids) => this.#execute(ids),
    });
  }

  /** The answer about each ID. Rejects if EC2 throttles the call, or does not answer. */
  async ask(ids: readonly string[]): Promise<ReadonlyMap<string, ById<T>>> {
    const answers = await Promise.all(
      [...new Set(ids)].map(async (id) => {
        const answer = isShaped(id, this.#kind.idPrefix)
          ? await this.#answers.get(id, () => this.#batcher.ask(id))
          : undefined;
        return [id, answer] as const;
      }),
    );
    return new Map(answers);
  }

  async #execute(asked: readonly string[]): Promise<readonly ById<T>[]> {
    const { plural, idOf, byId } = this.#kind;
    const answers = new Map<string, ById<T>>();
    let calls = 0;
    const ask = async (ids: readonly string[]): Promise<void> => {
      if (++calls > MAX_CALLS) return;
      try {
        for (const one of await byId(ids)) answers.set(idOf(one), one);
      } catch (error) {
        if (!isRefused(error)) throw error;
        if (ids.length > 1) {
          const half = Math.ceil(ids.length / 2);
          await ask(ids.slice(0, half));
          await ask(ids.slice(half));
        } else if (isNoObject(error)) answers.set(ids[0] as string, "unknown");
        else {
          const fields = { id: ids[0] as string, error: describeError(error) };
          this.#problems.tell(error.code, `EC2 does not describe one of the ${plural}`, fields);
        }
      }
    };
    await ask([...new Set(asked)].sort());
    if (calls > MAX_CALLS)
      this.#problems.tell("calls", `EC2 refuses too many IDs of ${plural} to ask for each`, {
        ids: asked.length,
        calls: MAX_CALLS,
      });
    return asked.map((id) => answers.get(id));
  }
}

function isShaped(id: string, prefix: string): boolean {
  return id.startsWith(prefix) && /^[0-9A-Za-z-]{1,64}$/.test(id);
}

/** Whether EC2 refuses the call because of its content, so that a call with other IDs may succeed. */
function isRefused(error: unknown): error is AwsError {
  return (
    error instanceof AwsError &&
    error.status >= 400 &&
    error.status < 500 &&
    error.code !== "UnauthorizedOperation" &&
    !isThrottled(error)
  );
}

/** Whether EC2 says that an ID is no object's: `InvalidSubnetID.NotFound`, `InvalidGroupId.Malformed`, … */
function isNoObject({ code }: AwsError): boolean {
  return /^Invalid(Subnet|Group|AMI|CapacityReservation)(ID)?\.(NotFound|Malformed|Unavailable)$/i.test(
    code,
  );
}
