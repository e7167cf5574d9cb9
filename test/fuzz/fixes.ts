/**
 * Rules for the fixes that a plan proposes. If the fix is made in the manifests, all its pods are placed. No edit can
 * be left out, and none raises or lowers more than necessary. If a fix takes several edits, no single edit is enough.
 * If the plan names no fix, there is none.
 */
import { type PlannedEdit, plannedEdit } from "../../src/cli/plan/planned-edit.ts";
import type { Fix, Remedy } from "../../src/core/answers/fixes/remedy.ts";
import { remedies } from "../../src/core/answers/fixes/remedy.ts";
import { solve } from "../../src/core/provisioning/solve.ts";
import type { Json } from "../validator/kubernetes.ts";
import { keyOf, type Scenario } from "../validator/validate.ts";
import { limitPairs, looserSpreads, madeIn, singleEdits } from "./make-edit.ts";
import { inputOf } from "./ours.ts";

export interface FixVerdict {
  readonly faults: readonly string[];
  /** Number of kinds of pending pods with a fix, and without. */
  readonly fixed: number;
  readonly unfixed: number;
}

/** Pods with the same fix. */
interface Group {
  readonly keys: ReadonlySet<string>;
  readonly remedy: Remedy;
}

export function fixVerdict(scenario: Scenario): FixVerdict {
  const input = inputOf(scenario);
  const found = remedies(input, solve(input));
  const groups = new Map<Remedy, Group & { keys: Set<string> }>();
  for (const [key, remedy] of found) {
    const group = groups.get(remedy) ?? { keys: new Set<string>(), remedy };
    group.keys.add(key);
    groups.set(remedy, group);
  }
  const all = [...groups.values()];
  const fixed = all.filter(({ remedy }) => remedy.fix !== undefined);
  return {
    faults: all.flatMap((group) => groupFaults(scenario, group, lendersOf(group, all))),
    fixed: fixed.length,
    unfixed: all.length - fixed.length,
  };
}

/**
 * The pods for which the group's fix was found, if it was found for other pods and also helps these. Such a fix
 * can be larger than the group's pods alone need.
 */
function lendersOf({ keys, remedy: { fix } }: Group, all: readonly Group[]): readonly string[] {
  if (fix === undefined || [...keys].some((key) => fix.pods.has(key))) return [];
  return all.flatMap((one) => [...one.keys].filter((key) => fix.pods.has(key)));
}

/** Checks the fix of one group. `lenders`: pods that a smaller fix must place as well. */
function groupFaults(
  scenario: Scenario,
  { keys, remedy }: Group,
  lenders: readonly string[],
): string[] {
  const { fix, nearest } = remedy;
  const [first = ""] = keys;
  const pod = scenario.manifests.find((one) => one.kind === "Pod" && keyOf(one) === first) as Json;
  const faults: string[] = [];
  const wanted = new Set([...keys, ...lenders]);
  const places = (edits: readonly PlannedEdit[], pods: ReadonlySet<string> = keys) =>
    leftOf(edits.reduce((made, edit) => madeIn(made, edit, pods), scenario)).every(
      (key) => !wanted.has(key),
    );
  if (nearest === undefined) faults.push(`${first}: no place is said to come closest`);
  const edits = fix === undefined ? [] : fix.edits.map((edit) => plannedEdit(edit, first));
  const text = `${first} (of ${keys.size}): "${fix?.text ?? "no fix"}"`;
  if (fix !== undefined) {
    if (!places(edits, fix.pods)) faults.push(`${text}: made, and a pod of these is left`);
    const enough = partsOf(edits).find((some) => places(some, fix.pods));
    if (enough !== undefined)
      faults.push(`${text}: ${enough.map(({ field }) => field).join(", ")} alone is enough`);
    for (const [at, edit] of fix.edits.entries()) {
      const less = oneLess(edit);
      if (less !== undefined && places(edits.with(at, plannedEdit(less, first)), fix.pods))
        faults.push(`${text}: ${edits[at]?.field} goes further than it must`);
      const looser = looserSpreads(edits[at] as PlannedEdit, pod).find((other) =>
        places(edits.with(at, other), fix.pods),
      );
      if (looser !== undefined) faults.push(`${text}: ${looser.field} ${looser.value} is enough`);
    }
  }
  if (edits.length !== 1) {
    const enough = singleEdits(scenario, pod).find((edit) => places([edit]));
    if (enough !== undefined)
      faults.push(`${text}: ${enough.field} ${enough.value} of ${enough.object} is enough`);
  }
  if (edits.length !== 1 && edits.length !== 2) {
    const two = limitPairs(scenario).find((pair) => places(pair));
    if (two !== undefined)
      faults.push(`${text}: ${two.map(({ field }) => field).join(" and ")} are enough`);
  }
  return faults;
}

/** All subsets, except the empty and the full one. */
function partsOf<T>(all: readonly T[]): T[][] {
  const every = 2 ** all.length - 1;
  return Array.from({ length: Math.max(0, every - 1) }, (_, at) =>
    all.filter((_, bit) => (at + 1) & (1 << bit)),
  );
}

/** The edit with its amount one step smaller. Undefined: the edit has no amount, or no smaller one. */
function oneLess(edit: Fix["edits"][number]): Fix["edits"][number] | undefined {
  if (!("from" in edit)) return undefined;
  const { from, to } = edit;
  const step = edit.change === "limit" ? LIMIT_STEPS : edit.change === "request" ? STEPS : {};
  const size = step["resource" in edit ? edit.resource : ""] ?? 1;
  const less = from > to ? to + size : to - size;
  return (from > to ? less < from : less > from) ? { ...edit, to: less } : undefined;
}

const LIMIT_STEPS: Readonly<Record<string, number>> = { cpu: 1_000, memory: 2 ** 30 };
const STEPS: Readonly<Record<string, number>> = { memory: 2 ** 20 };

function leftOf(scenario: Scenario): string[] {
  return solve(inputOf(scenario)).unschedulable.map(({ pod }) => keyOf(pod));
}
