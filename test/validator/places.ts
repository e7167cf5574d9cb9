/**
 * The nodes of a plan in all their possible outcomes. An existing node has its labels. A new node is any of the claim's
 * types, in any zone and capacity type that its requirements allow.
 */
import {
  type Amounts,
  amounts,
  type Json,
  type Labels,
  meets,
  minus,
  tolerates,
  wantsNode,
} from "./kubernetes.ts";

export const ZONE = "topology.kubernetes.io/zone";
const CAPACITY_TYPE = "karpenter.sh/capacity-type";
const INSTANCE_TYPE = "node.kubernetes.io/instance-type";
const NODE_POOL = "karpenter.sh/nodepool";
export const HOSTNAME = "kubernetes.io/hostname";

/** One possible outcome of a node. */
export interface Outcome {
  readonly labels: Labels;
  readonly allocatable: Amounts;
  readonly capacity: Amounts;
  readonly priceMicroUsd: number;
  readonly instanceType: string;
}

export interface Place {
  readonly name: string;
  readonly taints: readonly Json[];
  readonly outcomes: readonly Outcome[];
  /** Pods that run there already. */
  readonly running: readonly Json[];
  readonly pods: Json[];
  /** Set for a planned node. */
  readonly claim?: Json;
  readonly pool?: Json;
}

/** All types and offerings that a NodePool's requirements allow for new nodes. */
export function outcomesOf(
  pool: Json,
  requirements: readonly Json[],
  types: readonly Json[],
): Outcome[] {
  const template = pool.spec.template;
  const all = [...(template.spec.requirements ?? []), ...requirements];
  const fixed = { ...template.metadata?.labels, [NODE_POOL]: pool.metadata.name };
  const asked = new Set(all.map(({ key }) => key as string));
  return types.flatMap((type) => {
    const own = labelsOf(type);
    return (type.offerings ?? [])
      .filter((one: Json) => one.available !== false)
      .flatMap((offering: Json) =>
        combinations(own, asked).flatMap((typeLabels) => {
          const labels: Record<string, string> = {
            ...fixed,
            ...typeLabels,
            [INSTANCE_TYPE]: type.name,
            [ZONE]: offering.zone,
            [CAPACITY_TYPE]: offering.capacityType,
          };
          const custom = customLabels(all, labels, own);
          if (custom === undefined) return [];
          Object.assign(labels, custom);
          const bound = all.filter((one) => one.key !== HOSTNAME);
          if (!bound.every((one) => meets(one, labels))) return [];
          return [
            {
              labels,
              instanceType: type.name as string,
              capacity: amounts(type.capacity),
              allocatable: minus(amounts(type.capacity), amounts(type.overhead)),
              priceMicroUsd: offering.priceMicroUsdPerHour as number,
            },
          ];
        }),
      );
  });
}

/** Labels of an offering, not of the type. */
const OFFERED: ReadonlySet<string> = new Set([ZONE, CAPACITY_TYPE, INSTANCE_TYPE]);

/** A type may have several values of a label, such as the operating system of an image. */
function labelsOf(type: Json): Record<string, readonly string[]> {
  const own: Record<string, readonly string[]> = {};
  for (const [key, value] of Object.entries(type.labels ?? {})) {
    own[key] = Array.isArray(value) ? (value as string[]) : [value as string];
  }
  return own;
}

function combinations(
  own: Record<string, readonly string[]>,
  asked: ReadonlySet<string>,
): Record<string, string>[] {
  let found: Record<string, string>[] = [{}];
  for (const [key, values] of Object.entries(own)) {
    if (values.length === 0 || OFFERED.has(key)) continue;
    // If no rule uses the key, one value represents all.
    const some = asked.has(key) ? values : values.slice(0, 1);
    found = found.flatMap((one) => some.map((value) => ({ ...one, [key]: value })));
  }
  return found;
}

/** Keys that no type has. If such a label is required, the node gets the lowest value that all requirements allow. */
function customLabels(
  requirements: readonly Json[],
  known: Labels,
  own: Record<string, readonly string[]>,
): Record<string, string> | undefined {
  const labels: Record<string, string> = {};
  for (const { key } of requirements) {
    if (known[key] !== undefined || key in own || key in labels || key === HOSTNAME) continue;
    const all = requirements.filter((one) => one.key === key);
    const needed = all.some(({ operator }) => !["NotIn", "DoesNotExist"].includes(operator));
    if (!needed) continue;
    const values = all.flatMap(({ operator, values: some }) => (operator === "In" ? some : []));
    const guesses = values.length > 0 ? [...values].sort() : ["validator"];
    const value = guesses.find((one) => all.every((each) => meets(each, { [key]: one })));
    if (value === undefined) return undefined;
    labels[key] = value;
  }
  return labels;
}

export function existingPlace(node: Json, running: readonly Json[]): Place {
  const allocatable = amounts(node.status?.allocatable ?? node.status?.capacity);
  const labels = { [HOSTNAME]: node.metadata.name, ...node.metadata.labels };
  const outcome = {
    labels,
    allocatable,
    capacity: allocatable,
    priceMicroUsd: 0,
    instanceType: "",
  };
  return {
    name: node.metadata.name,
    taints: node.spec?.taints ?? [],
    outcomes: [outcome],
    running,
    pods: [],
  };
}

/** The DaemonSet's pods that would run there. `name`: of an existing node. */
export function daemonPods(
  daemonSets: readonly Json[],
  taints: readonly Json[],
  labels: Labels,
  name?: string,
): Json[] {
  return daemonSets
    .map(({ metadata, spec }) => ({
      metadata: { ...metadata, ...spec.template.metadata },
      spec: spec.template.spec,
    }))
    .filter(
      ({ spec }) =>
        wantsNode(spec, labels, name) &&
        taints.every(
          (taint) =>
            taint.effect === "PreferNoSchedule" || tolerates(spec.tolerations ?? [], taint),
        ),
    );
}

/** The name in the manifest, for an existing node. */
export function nodeNameOf({ name, claim }: Place): string | undefined {
  return claim === undefined ? name : undefined;
}

/** Possible values of the label there. Empty: the node has no such label. */
export function domainsOf(place: Place, key: string): ReadonlySet<string> {
  if (key === HOSTNAME) return new Set([place.name]);
  return new Set(place.outcomes.flatMap(({ labels }) => labels[key] ?? []));
}
