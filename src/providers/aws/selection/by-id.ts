/**
 * Asks EC2 for objects by their IDs. An ID that EC2 does not know makes the whole call fail, so a refused list is
 * halved until each unknown ID is alone. Requests that arrive shortly after each other share a call.
 */
import type { Clock } from "../../../base/clock.ts";
import { AwsError } from "../api/call.ts";
import { Batcher } from "../batch/batcher.ts";

/**
 * What EC2 answered about an ID: the object, or that there is none with this ID. Undefined: the answer does not
 * contain the object and does not say that there is none, or the call failed.
 */
export type ById<T> = T | "unknown" | undefined;

const IDLE_MS = 100;
const MAX_MS = 1_000;
const MAX_IDS = 200;

/** Creates the questions by ID for one kind of object. */
export function createById<T>(
  clock: Clock,
  describe: (ids: readonly string[]) => Promise<readonly T[]>,
  idOf: (one: T) => string,
): Batcher<string, ById<T>> {
  return new Batcher<string, ById<T>>({
    clock,
    idleMs: IDLE_MS,
    maxMs: MAX_MS,
    maxItems: MAX_IDS,
    keyOf: () => "",
    execute: async (asked) => {
      const answers = new Map<string, ById<T>>();
      await ask([...new Set(asked)].sort());
      return asked.map((id) => answers.get(id));

      async function ask(ids: readonly string[]): Promise<void> {
        try {
          for (const one of await describe(ids)) answers.set(idOf(one), one);
        } catch (error) {
          if (!isAboutIds(error)) return;
          if (ids.length === 1) {
            answers.set(ids[0] as string, "unknown");
            return;
          }
          const half = Math.ceil(ids.length / 2);
          await Promise.all([ask(ids.slice(0, half)), ask(ids.slice(half))]);
        }
      }
    },
  });
}

/** Whether EC2 says that an ID is no object's: `InvalidSubnetID.NotFound`, `InvalidGroupId.Malformed`, … */
function isAboutIds(error: unknown): boolean {
  return (
    error instanceof AwsError &&
    /^Invalid(Subnet|Group|AMI|CapacityReservation)(ID)?\.(NotFound|Malformed|Unavailable)$/i.test(
      error.code,
    )
  );
}
