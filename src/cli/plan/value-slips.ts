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
  const first = new Map<string, Asked>();
  for (const one of [...pools.flatMap(askedByPool), ...unlikePods(pods).flatMap(askedByPod)])
    within(first, `${one.key}=${one.value}`, () => one);
  const keys = new Set([...first.values()].map(({ key }) => key));
  const known = knownValues(keys, pools, nodes);
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

/** The values of labels with these keys. A key that no instance type has is absent. */
function knownValues(
  keys: ReadonlySet<string>,
  pools: readonly PoolInput[],
  nodes: readonly NodeView[],
): Known {
  const known = new Map<string, Set<string>>();
  const types = [...new Set(pools.map(({ instanceTypes }) => instanceTypes))].flat();
  for (const key of keys) {
    const all = new Set<string>();
    for (const { labels } of types) for (const value of labels[key] ?? []) all.add(value);
    if (!types.some(({ labels }) => labels[key] !== undefined)) continue;
    for (const { labels } of nodes) if (labels[key] !== undefined) all.add(labels[key]);
    known.set(key, all);
  }
  return known;
}

function askedByPool({ pool: { id, requirements } }: PoolInput): readonly Asked[] {
  return askedBy(id, requirements);
}

/** The first of the pods that ask for the same nodes. Thousands of waiting pods come from a few templates. */
function unlikePods(pods: readonly Pod[]): readonly Pod[] {
  const first = new Map<string, Pod>();
  for (const pod of pods) {
    const { nodeSelector, affinity } = pod.spec;
    if (nodeSelector === undefined && affinity?.nodeAffinity === undefined) continue;
    within(first, JSON.stringify([nodeSelector, affinity?.nodeAffinity]), () => pod);
  }
  return [...first.values()];
}

function askedByPod(pod: Pod): readonly Asked[] {
  return requiredAlternatives(pod.spec).flatMap((one) => askedBy(keyOf(pod), one.specs()));
}

function askedBy(by: string, specs: readonly RequirementSpec[]): readonly Asked[] {
  return specs.flatMap(({ key, operator, values = [] }) =>
    operator === "In" ? values.map((value) => ({ by, key, value })) : [],
  );
}
