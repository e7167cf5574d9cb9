/** The topology groups of what a pod asks of its neighbours. */
import type { Pod, PodAffinityTerm, Toleration } from "../../../apis/core/pod.ts";
import type { Topology } from "../topology/topology.ts";
import type { TopologyGroup } from "../topology/topology-group.ts";
import { eligibleNodes, type Wishes } from "./preferences.ts";

/** Whose constraints they are. */
export interface Owner {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly tolerations: readonly Toleration[];
}

/** Pods that ask for the same. */
interface Asking {
  readonly pod: Pod;
  readonly owner: Owner;
  /** Constraint → its group, as far as they are known. */
  readonly groups: Map<object, TopologyGroup>;
}

export const NO_GROUPS: readonly TopologyGroup[] = [];

/** Of all constraints among the wishes, each once. */
export function ownedGroups(
  { owner, groups, pod }: Asking,
  wishes: Wishes,
  topology: Topology,
): readonly TopologyGroup[] {
  if (!asksForNeighbours(wishes)) return NO_GROUPS;
  const found: TopologyGroup[] = [];
  // One term may be written once for both affinities: an anchor of YAML.
  const find = (
    type: TopologyGroup["type"],
    constraint: object,
    create: () => TopologyGroup,
  ): void => {
    const known = groups.get(constraint);
    const group = known?.type === type ? known : create();
    if (group !== known) groups.set(constraint, group);
    if (!found.includes(group)) found.push(group);
  };
  const near = (type: "affinity" | "antiAffinity", terms: readonly PodAffinityTerm[]): void => {
    for (const term of terms) find(type, term, () => topology.affinity(term, type, owner));
  };
  for (const one of wishes.spreads)
    find("spread", one, () => topology.spread(one, owner, eligibleNodes(pod.spec)));
  const { affinity, preferredAffinity, antiAffinity, preferredAntiAffinity } = wishes;
  // Most ask for one of these.
  if (affinity.length > 0) near("affinity", affinity);
  if (preferredAffinity.length > 0) near("affinity", termsOf(preferredAffinity));
  if (antiAffinity.length > 0) near("antiAffinity", antiAffinity);
  if (preferredAntiAffinity.length > 0) near("antiAffinity", termsOf(preferredAntiAffinity));
  return found;
}

function termsOf(preferred: Wishes["preferredAffinity"]): readonly PodAffinityTerm[] {
  return preferred.map(({ term }) => term);
}

function asksForNeighbours(wishes: Wishes): boolean {
  const { spreads, affinity, preferredAffinity, antiAffinity, preferredAntiAffinity } = wishes;
  return (
    spreads.length > 0 ||
    affinity.length > 0 ||
    preferredAffinity.length > 0 ||
    antiAffinity.length > 0 ||
    preferredAntiAffinity.length > 0
  );
}
