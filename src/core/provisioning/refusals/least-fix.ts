/**
 * Makes a fix smaller while it is still enough: leaves out edits that it can do without, and changes amounts
 * no further than it must. Each question costs a plan, so amounts that are far apart are found by halving.
 */
import type { Pod } from "../../../apis/core/pod.ts";
import { podRequests } from "../../../apis/core/pod-resources.ts";
import { type Edit, editedPod, type PodEdit, requestEdits } from "./edits.ts";

/** Limits are raised by whole ones of these: cores, gibibytes. Of other resources, by one. */
const LIMIT_UNITS: Readonly<Record<string, number>> = {
  cpu: 1_000,
  memory: 2 ** 30,
  "ephemeral-storage": 2 ** 30,
};
/** Requests are lowered by whole ones of these: millicores, mebibytes. */
const REQUEST_UNITS: Readonly<Record<string, number>> = {
  memory: 2 ** 20,
  "ephemeral-storage": 2 ** 20,
};

/**
 * A higher limit may place fewer pods than a lower one: an earlier node becomes one of larger types then, which
 * count. So amounts between that are not too many are tried from below.
 */
const TRIED_ONE_BY_ONE = 20;

/** `edits` are enough for pods like this one. `isEnough` may say no when it must not be asked any more. */
export function leastFix(
  edits: readonly Edit[],
  pod: Pod,
  isEnough: (edits: readonly Edit[]) => boolean,
): readonly Edit[] {
  let least = withoutNeedless(edits, isEnough);
  for (const edit of least) {
    if (edit.change === "limit" || edit.change === "minValues")
      least = withLeastAmount(least, edit, isEnough);
  }
  const lowered = least.flatMap((edit) => (edit.change === "request" ? edit.resource : []));
  for (const resource of new Set(lowered)) least = leastLowered(least, pod, resource, isEnough);
  // A limit that is lower may let pods go together otherwise.
  return withoutNeedless(least, isEnough);
}

function withoutNeedless(
  edits: readonly Edit[],
  isEnough: (edits: readonly Edit[]) => boolean,
): readonly Edit[] {
  let least = edits;
  for (const edit of edits) {
    const others = least.filter((one) => one !== edit);
    if (others.length > 0 && isEnough(others)) least = others;
  }
  return least;
}

function withLeastAmount(
  edits: readonly Edit[],
  edit: Edit & { readonly from: number; readonly to: number },
  isEnough: (edits: readonly Edit[]) => boolean,
): readonly Edit[] {
  const unit = edit.change === "limit" ? (LIMIT_UNITS[edit.resource] ?? 1) : 1;
  let least = edits;
  const allows = (units: number) => {
    const tried = edits.map((one) => (one === edit ? { ...edit, to: units * unit } : one));
    if (!isEnough(tried)) return false;
    least = tried;
    return true;
  };
  const [most, from] = [Math.ceil(edit.to / unit), Math.floor(edit.from / unit)];
  if (edit.change !== "limit" || most - from > TRIED_ONE_BY_ONE) halve(most, from, allows);
  else for (let units = from + 1; units < most && !allows(units); units++);
  return least;
}

function leastLowered(
  edits: readonly Edit[],
  pod: Pod,
  resource: string,
  isEnough: (edits: readonly Edit[]) => boolean,
): readonly Edit[] {
  const others: Edit[] = [];
  const lowered: PodEdit[] = [];
  for (const edit of edits) {
    if (edit.change === "request" && edit.resource === resource) lowered.push(edit);
    else others.push(edit);
  }
  const unit = REQUEST_UNITS[resource] ?? 1;
  const from = podRequests(pod)[resource] ?? 0;
  const to = podRequests(lowered.reduce(editedPod, pod))[resource] ?? 0;
  let least = edits;
  const allows = (units: number) => {
    const parts = requestEdits(pod, resource, to + units * unit);
    const tried = [...others, ...(parts ?? [])];
    if (parts === undefined || !isEnough(tried)) return false;
    least = tried;
    return true;
  };
  // Mostly it is as much as a type has: then one step less is not enough.
  if (allows(1)) halve(1, Math.ceil((from - to) / unit), allows);
  return least;
}

/** Asks about whole numbers between one that is enough and one that is not, until they are neighbours. */
function halve(enough: number, tooLittle: number, isEnough: (middle: number) => boolean): void {
  let [good, bad] = [enough, tooLittle];
  while (Math.abs(bad - good) > 1) {
    const middle = Math.trunc((good + bad) / 2);
    if (isEnough(middle)) good = middle;
    else bad = middle;
  }
}
