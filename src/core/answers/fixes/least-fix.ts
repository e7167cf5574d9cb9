/**
 * Makes a fix smaller while it is still enough: drops edits that are not needed, loosens a spread instead of dropping
 * it, and changes amounts as little as possible. Each check whether edits are enough needs a plan of the whole batch,
 * so amounts are found by halving intervals.
 */

import type { Pod } from "../../../apis/core/pod.ts";
import { podRequests } from "../../../apis/core/pod-resources.ts";
import { deepEqual, fieldOf } from "../../../base/json.ts";
import type { Steps } from "../../../base/steps.ts";
import { type Edit, editedPod, isRequiredOver, type PodEdit, requestEdits } from "./edits.ts";

/** Limits are raised by multiples of these units: cores, gibibytes; 1 for other resources. */
const LIMIT_UNITS: Readonly<Record<string, number>> = {
  cpu: 1_000,
  memory: 2 ** 30,
  "ephemeral-storage": 2 ** 30,
};
/** Requests are lowered by multiples of these units: mebibytes; 1 for other resources (one millicore for CPU). */
const REQUEST_UNITS: Readonly<Record<string, number>> = {
  memory: 2 ** 20,
  "ephemeral-storage": 2 ** 20,
};

/** The smallest step by which a request of this resource is lowered. */
export function requestUnit(resource: string): number {
  return fieldOf(REQUEST_UNITS, resource) ?? 1;
}

/**
 * If there are at most this many possible amounts of a limit, each is tried, the lowest first. Halving would not find
 * all of them, because a higher limit may place fewer pods: an earlier node then becomes a larger type and uses more of
 * the limit.
 */
const TRIED_ONE_BY_ONE = 20;

/**
 * With at most this many edits, each subset of them is tried. With more, each edit is left out once. A fix has so many
 * edits only if a request is lowered in all containers of a pod with many containers.
 */
const TRIED_IN_ALL_PARTS = 4;

/** The largest increase of maxSkew that is tried. With more, the spread would have little effect. */
const MORE_SKEW = 20;

/**
 * The smallest fix that is found. `edits`: a fix that is enough for this pod. `isEnough`: checks edits by a plan; it
 * returns false if no further plan is allowed.
 */
export function* leastFix(
  edits: readonly Edit[],
  pod: Pod,
  isEnough: IsEnough,
): Steps<readonly Edit[]> {
  let least = yield* withoutNeedless(edits, isEnough);
  // A smaller edit can make another one smaller, because pods are then placed differently. So this repeats until
  // nothing changes.
  for (let round = 0; ; round++) {
    const before = least;
    const asking = { pod, isEnough, again: round > 0 };
    for (const at of least.keys()) {
      least = yield* withLooserSpread(least, least[at] as Edit, asking);
      least = yield* withLeastAmount(least, least[at] as Edit, asking);
    }
    const lowered = least.flatMap((edit) => (edit.change === "request" ? edit.resource : []));
    for (const resource of new Set(lowered)) least = yield* leastLowered(least, resource, asking);
    least = yield* withoutNeedless(least, isEnough);
    if (least === before) return least;
  }
}

/** Whether the edits are enough. */
type IsEnough = (edits: readonly Edit[]) => Steps<boolean>;

/** The answer that edits are not enough, because no further plan is allowed. */
// biome-ignore lint/correctness/useYield: the answer needs no plan.
export function* notEnough(): Steps<boolean> {
  return false;
}

/** The pod that needs a fix, and the check whether edits are enough. */
interface Asking {
  readonly pod: Pod;
  readonly isEnough: IsEnough;
  /** Whether an earlier round has found the smallest amounts. Then one unit less is tried first, and mostly fails. */
  readonly again: boolean;
}

/** The first of these lists of edits that is enough. */
export function* firstEnough(
  tried: readonly (readonly Edit[])[],
  isEnough: IsEnough,
): Steps<readonly Edit[] | undefined> {
  for (const edits of tried) if (yield* isEnough(edits)) return edits;
  return undefined;
}

function* withoutNeedless(edits: readonly Edit[], isEnough: IsEnough): Steps<readonly Edit[]> {
  if (edits.length <= TRIED_IN_ALL_PARTS)
    return (yield* firstEnough(partsOf(edits), isEnough)) ?? edits;
  let least = edits;
  for (const edit of edits) {
    const others = least.filter((one) => one !== edit);
    if (yield* isEnough(others)) least = others;
  }
  return least;
}

/** All subsets, the smallest first, except the empty one and the whole. */
function partsOf<T>(all: readonly T[]): T[][] {
  const every = 2 ** all.length - 1;
  return Array.from({ length: Math.max(0, every - 1) }, (_, at) =>
    all.filter((_one, bit) => (at + 1) & (1 << bit)),
  ).sort((a, b) => a.length - b.length);
}

/** Replaces a dropped spread by a looser one, with smaller minDomains or larger maxSkew. */
function* withLooserSpread(
  edits: readonly Edit[],
  edit: Edit,
  { pod: { spec }, isEnough }: Asking,
): Steps<readonly Edit[]> {
  if (edit.change !== "dropRule" || edit.rule !== "spread") return edits;
  const { topologyKey } = edit;
  const own = spec.topologySpreadConstraints?.find((one) => isRequiredOver(one, topologyKey));
  if (own === undefined) return edits;
  const { maxSkew, minDomains = 1 } = own;
  const loosened = { on: "pod", change: "loosen", topologyKey } as const;
  const looser: PodEdit[] = [
    ...(minDomains > 1
      ? [{ ...loosened, field: "minDomains" as const, from: minDomains, to: 1 }]
      : []),
    { ...loosened, field: "maxSkew", from: maxSkew, to: maxSkew + MORE_SKEW },
  ];
  const tried = looser.map((other) => edits.map((one) => (one === edit ? other : one)));
  return (yield* firstEnough(tried, isEnough)) ?? edits;
}

/** Makes one amount as small as is enough: a raised limit, a lowered minValues, or a looser spread. */
function* withLeastAmount(
  edits: readonly Edit[],
  edit: Edit,
  { isEnough, again }: Asking,
): Steps<readonly Edit[]> {
  if (edit.change !== "limit" && edit.change !== "minValues" && edit.change !== "loosen")
    return edits;
  const unit = edit.change === "limit" ? (fieldOf(LIMIT_UNITS, edit.resource) ?? 1) : 1;
  let least = edits;
  const allows = function* (units: number): Steps<boolean> {
    const tried = edits.map((one) => (one === edit ? { ...edit, to: units * unit } : one));
    if (!(yield* isEnough(tried))) return false;
    least = tried;
    return true;
  };
  const [most, from] = [Math.ceil(edit.to / unit), Math.floor(edit.from / unit)];
  if (again) {
    const next = most + Math.sign(from - most);
    if (next !== most && next !== from && (yield* allows(next))) yield* halve(next, from, allows);
  } else if (edit.change !== "limit" || most - from > TRIED_ONE_BY_ONE)
    yield* halve(most, from, allows);
  else for (let step = 1; from + step < most && !(yield* allows(from + step)); step++);
  return least;
}

function* leastLowered(
  edits: readonly Edit[],
  resource: string,
  { pod, isEnough }: Asking,
): Steps<readonly Edit[]> {
  const others: Edit[] = [];
  const lowered: PodEdit[] = [];
  for (const edit of edits) {
    if (edit.change === "request" && edit.resource === resource) lowered.push(edit);
    else others.push(edit);
  }
  const unit = requestUnit(resource);
  const from = podRequests(pod)[resource] ?? 0;
  const to = podRequests(lowered.reduce(editedPod, pod))[resource] ?? 0;
  let least = edits;
  const allows = function* (units: number): Steps<boolean> {
    const parts = requestEdits(pod, resource, to + units * unit);
    const tried = [...others, ...(parts ?? [])];
    if (parts === undefined || !(yield* isEnough(tried))) return false;
    least = tried;
    return true;
  };
  // A container that requests less than the peak of the init phase need not be lowered. So fewer edits may give the
  // same total.
  const same = requestEdits(pod, resource, to);
  if (same !== undefined && same.length <= lowered.length && !deepEqual(same, lowered))
    yield* allows(0);
  // The amount is mostly what an instance type offers. Then one unit more is not enough, and the search ends here.
  if (to + unit !== to && (yield* allows(1)))
    yield* halve(1, Math.ceil((from - to) / unit), allows);
  return least;
}

/** Halves the interval between an amount that is enough and one that is not, until they are neighbours. */
function* halve(
  enough: number,
  tooLittle: number,
  isEnough: (middle: number) => Steps<boolean>,
): Steps<void> {
  let [good, bad] = [enough, tooLittle];
  for (;;) {
    const middle = Math.trunc((good + bad) / 2);
    // Between two large amounts such as 8Ei, there may be no other floating-point number.
    if (middle === good || middle === bad) return;
    if (yield* isEnough(middle)) good = middle;
    else bad = middle;
  }
}
