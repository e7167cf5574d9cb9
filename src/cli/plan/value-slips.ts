/**
 * Notes about misspelled values of labels that instance types have: `capacity-type: ondemand`, a type `c6i.larg`. Such
 * a value is valid, so nothing refuses it, but no node can have it.
 */
import type { Pod } from "../../apis/core/pod.ts";
import type { RequirementSpec } from "../../apis/karpenter/nodepool.ts";
import { keyOf } from "../../apis/meta.ts";
import { meantName } from "../../base/slips.ts";
import { within } from "../../base/within.ts";
import type { PoolInput } from "../../core/provisioning/scheduling-input.ts";
import { requiredAlternatives } from "../../core/scheduling/pod-requirements.ts";
import type { NodeView } from "../../core/state/node-view.ts";

type Known = ReadonlyMap<string, ReadonlySet<string>>;

/** A value that an object asks for. */
interface Asked {
  readonly by: string;
  readonly key: string;
  readonly value: string;
}

/** A note for each value that resembles one that exists. If several objects have it, the first is named. */
export function valueNotes(
  pools: readonly PoolInput[],
  pods: readonly Pod[],
  nodes: readonly NodeView[],
): readonly string[] {
  const known = knownValues(pools, nodes);
  const first = new Map<string, Asked>();
  for (const one of [...pools.flatMap(askedByPool), ...pods.flatMap(askedByPod)])
    within(first, `${one.key}=${one.value}`, () => one);
  return [...first.values()].flatMap(({ by, key, value }) => {
    const values = known.get(key);
    if (values === undefined || values.has(value)) return [];
    const meant = meantName(value, withDigitsOf(value, values));
    return meant === undefined
      ? []
      : [`${by}: no instance type has ${key} ${value}; did you mean ${meant}?`];
  });
}

/** Values with other digits are other choices: `c5.large` is no slip for `c6.large`. */
function withDigitsOf(value: string, values: ReadonlySet<string>): readonly string[] {
  const digits = digitsOf(value);
  return [...values].filter((one) => digitsOf(one) === digits);
}

function digitsOf(value: string): string {
  return value.replaceAll(/\D/g, "");
}

function knownValues(pools: readonly PoolInput[], nodes: readonly NodeView[]): Known {
  const known = new Map<string, Set<string>>();
  for (const types of new Set(pools.map(({ instanceTypes }) => instanceTypes)))
    for (const { labels } of types)
      for (const [key, values] of Object.entries(labels)) {
        const all = within(known, key, () => new Set<string>());
        for (const value of values) all.add(value);
      }
  for (const { labels } of nodes)
    for (const [key, value] of Object.entries(labels)) known.get(key)?.add(value);
  return known;
}

function askedByPool({ pool: { id, requirements } }: PoolInput): readonly Asked[] {
  return askedBy(id, requirements);
}

function askedByPod(pod: Pod): readonly Asked[] {
  return requiredAlternatives(pod.spec).flatMap((one) => askedBy(keyOf(pod), one.specs()));
}

function askedBy(by: string, specs: readonly RequirementSpec[]): readonly Asked[] {
  return specs.flatMap(({ key, operator, values = [] }) =>
    operator === "In" ? values.map((value) => ({ by, key, value })) : [],
  );
}
