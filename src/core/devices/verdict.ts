/**
 * Explains why a node lacks a pod's devices: the request that fails, how many devices fail at each step, and the device
 * that comes closest.
 */
import { capacityOf, shortDimension } from "./capacity.ts";
import type { Alternative } from "./claim-specs.ts";
import { shortCounter } from "./counters.ts";
import { nameOf, type PooledDevice } from "./inventory.ts";
import type { Need } from "./needs.ts";
import { type DeviceQuestion, isShared, type SearchFailure } from "./search.ts";

/** The steps of the check, in order. A device counts for the first step that it fails. */
const STEPS = ["pool", "class", "selector", "taint", "capacity", "inUse", "counters"] as const;
type Step = (typeof STEPS)[number];

const PLURAL: Readonly<Record<Step, string>> = {
  pool: "in a pool that offers nothing now",
  class: "not of the class",
  selector: "refused by a selector",
  taint: "tainted",
  capacity: "without the capacity",
  inUse: "in use",
  counters: "without counters left",
};

interface Fallen {
  readonly step: Step;
  readonly text: string;
}

/** The result for one alternative of a request on one node. */
interface RequestVerdict {
  readonly claim: string;
  readonly alternative: Alternative;
  readonly seen: number;
  readonly left: number;
  readonly fallen: ReadonlyMap<Step, number>;
  /** The device that passed the most steps, and the step that it failed. */
  readonly nearest: (Fallen & { readonly device: PooledDevice }) | undefined;
}

/** The explanation by {@link deviceRefusalOf}. */
export interface DeviceRefusal {
  readonly text: string;
  /** The text without the name of the nearest device, so that nodes with equal devices have equal texts. */
  readonly brief: string;
  /** How near the node is to having the devices. The number is larger if its devices pass more steps of the check. */
  readonly nearness: number;
}

/** Explains a failed search. `claims`: the claims of the question, in the same order. */
export function deviceRefusalOf<S>(
  question: DeviceQuestion<S>,
  claims: readonly Need[],
  failure: SearchFailure,
): DeviceRefusal {
  const all = claims.flatMap(({ name, spec }) =>
    spec.requests.map((ways) => ways.map((way) => requestVerdict(question, name, way))),
  );
  const short = all.find((ways) => ways.every(isShort));
  const nearness = all.flat().reduce((sum, one) => sum + one.left + progress(one), 0);
  const brief = briefOf(claims, failure, short);
  if (failure.outOfSteps === true || failure.problem !== undefined || short === undefined)
    return { text: brief, brief, nearness };
  const text = short.map((one) => `${requestText(one)}${nearestText(one)}`).join("; or ");
  return { text, brief, nearness };
}

function briefOf(
  claims: readonly Need[],
  { outOfSteps, problem }: SearchFailure,
  short: readonly RequestVerdict[] | undefined,
): string {
  if (outOfSteps === true) return "no devices were found in the steps that one search may take";
  return problem ?? short?.map(requestText).join("; or ") ?? togetherText(claims);
}

/** The explanation if each request alone can be satisfied, but not all together. */
function togetherText(claims: readonly Need[]): string {
  const constraints = claims.flatMap(({ name, spec }) =>
    spec.constraints.map(({ matchAttribute, distinctAttribute }) =>
      matchAttribute === undefined
        ? `claim ${name} wants devices that differ by ${distinctAttribute}`
        : `claim ${name} wants devices that agree in ${matchAttribute}`,
    ),
  );
  const why = constraints.length === 0 ? "its requests want the same ones" : constraints.join(", ");
  return `there are devices for each request, but not for all together: ${why}`;
}

function isShort({ alternative, left }: RequestVerdict): boolean {
  return alternative.wantsAll ? left === 0 : left < alternative.count;
}

function progress({ nearest, seen }: RequestVerdict): number {
  if (nearest === undefined) return seen > 0 ? 1 : 0;
  return (STEPS.indexOf(nearest.step) + 1) / (STEPS.length + 1);
}

function requestVerdict<S>(
  question: DeviceQuestion<S>,
  claim: string,
  alternative: Alternative,
): RequestVerdict {
  const { devices } = question.list;
  const fallen = new Map<Step, number>();
  let nearest: RequestVerdict["nearest"];
  let left = 0;
  for (const device of devices) {
    const fell = fallenAt(question, alternative, device);
    if (fell === undefined) {
      left += shares(question, alternative, device);
      continue;
    }
    fallen.set(fell.step, (fallen.get(fell.step) ?? 0) + 1);
    if (nearest === undefined || STEPS.indexOf(fell.step) > STEPS.indexOf(nearest.step))
      nearest = { ...fell, device };
  }
  return { claim, alternative, seen: devices.length, left, fallen, nearest };
}

/** How many times the request can use the device. A shared device may be used several times. */
function shares<S>(
  { matcher, taken }: DeviceQuestion<S>,
  alternative: Alternative,
  device: PooledDevice,
): number {
  const { count, wantsAll, adminAccess } = alternative;
  if (!isShared(device) || wantsAll || adminAccess) return 1;
  const match = matcher.of(alternative, device);
  if (match.mismatch !== undefined) return 0;
  const whole = capacityOf(device.device);
  const used = [...taken.consumed(device)];
  let times = 0;
  while (times < count && shortDimension(whole, used, match.consumes) === undefined) {
    used.push(match.consumes);
    times++;
  }
  return times;
}

function fallenAt<S>(
  { list, matcher, taken }: DeviceQuestion<S>,
  alternative: Alternative,
  one: PooledDevice,
): Fallen | undefined {
  const { pool, device } = one;
  const closed = list.closed.get(pool) ?? (pool.isComplete ? undefined : "is not complete yet");
  if (closed !== undefined) return { step: "pool", text: `its pool ${pool.name} ${closed}` };
  const match = matcher.of(alternative, one);
  if (match.mismatch !== undefined) {
    const { step, text } = match.mismatch;
    return { step, text: step === "taint" ? `taint ${text}` : text };
  }
  if (alternative.adminAccess) return undefined;
  if (isShared(one)) {
    const name = shortDimension(capacityOf(device), taken.consumed(one), match.consumes);
    if (name !== undefined) return { step: "inUse", text: `too little ${name} is left of it` };
    if (taken.has(one)) return undefined;
  } else if (taken.has(one)) return { step: "inUse", text: "it is in use" };
  if (device.consumesCounters === undefined) return undefined;
  const counter = shortCounter(pool.counters, taken.counters(pool), device);
  if (counter === undefined) return undefined;
  return { step: "counters", text: `too little of counter ${counter} is left` };
}

function requestText({ claim, alternative, seen, left, fallen }: RequestVerdict): string {
  const { name, className, count, wantsAll } = alternative;
  const wanted = wantsAll ? "all devices" : count === 1 ? "1 device" : `${count} devices`;
  const head = `claim ${claim}, request ${name} wants ${wanted} of class ${className}`;
  if (seen === 0) return `${head}, and there are none`;
  const steps = STEPS.flatMap((step) => {
    const number = fallen.get(step);
    return number === undefined ? [] : [`${number} ${PLURAL[step]}`];
  });
  const fell = steps.length === 0 ? "" : ` (${steps.join(", ")})`;
  return `${head}: there is room for ${left} among ${seen}${fell}`;
}

function nearestText({ nearest, seen }: RequestVerdict): string {
  if (nearest === undefined || seen === 0) return "";
  return `; the nearest is ${nameOf(nearest.device)}: ${nearest.text}`;
}
