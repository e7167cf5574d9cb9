/**
 * Runs one input through one target and reports what must not happen: an unexpected error, a changed prototype, or more
 * CPU time than the length of the input justifies.
 */
import { Random } from "../../../src/base/random.ts";
import type { Target } from "./target.ts";

/**
 * CPU time that any input may take, and that each character may add. Both allow for a slow machine, and quadratic loops
 * take far more.
 */
const MOST_MS = 2_000;
const MOST_MS_PER_CHARACTER = 0.02;

const PROTOTYPES = [Object.prototype, Array.prototype, String.prototype, Function.prototype];
const SOUND = PROTOTYPES.map((one) => Reflect.ownKeys(one).length);

/** The input of the target for a seed. */
export function inputOf(target: Target, seed: number): string {
  return target.draw(new Random(`${target.name} ${seed}`));
}

/**
 * The fault of the input; undefined if there is none. `isAlone`: nothing else runs in this process, so its CPU time is
 * that of the input.
 */
export async function faultOf(
  target: Target,
  text: string,
  isAlone = false,
): Promise<string | undefined> {
  const before = process.cpuUsage();
  const fault = await answerFault(target, text);
  const { user } = process.cpuUsage(before);
  const polluted = PROTOTYPES.findIndex((one, at) => Reflect.ownKeys(one).length !== SOUND[at]);
  if (polluted >= 0) return `a prototype was changed: ${PROTOTYPES[polluted]?.constructor.name}`;
  const most = MOST_MS + MOST_MS_PER_CHARACTER * text.length;
  if (isAlone && user / 1_000 > most) return `took more than ${Math.round(most)} ms`;
  return fault;
}

async function answerFault(target: Target, text: string): Promise<string | undefined> {
  try {
    const complaint = await target.run(text);
    return typeof complaint === "string" ? complaint : undefined;
  } catch (error) {
    if (target.expected.some((one) => error instanceof one)) return undefined;
    return error instanceof Error ? (error.stack ?? error.message) : `threw ${typeof error}`;
  }
}

/** The kind of a fault. It must stay the same while the input shrinks. */
function kindOf(fault: string): string {
  const [first = "", second = ""] = fault.split("\n");
  return `${first.slice(0, 40)} ${second.replace(/:\d+:\d+/, "")}`;
}

/** A shorter input with the same kind of fault. Halves, quarters and so on are removed as long as the fault stays. */
export async function shrunk(target: Target, text: string, maxTries = 2_000): Promise<string> {
  const fault = await faultOf(target, text, true);
  if (fault === undefined) return text;
  const kind = kindOf(fault);
  let [best, tries] = [text, 0];
  for (let size = Math.ceil(best.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let at = 0; at < best.length && tries < maxTries; tries++) {
      const smaller = best.slice(0, at) + best.slice(at + size);
      const still = await faultOf(target, smaller, true);
      if (still !== undefined && kindOf(still) === kind) best = smaller;
      else at += size;
    }
  }
  return best;
}
