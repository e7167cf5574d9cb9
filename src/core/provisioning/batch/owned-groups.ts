/** Finds the topology groups of a pod's own rules. A group counts the pods that a rule selects, in each domain. */
import type { Pod, PodAffinityTerm, Toleration } from "../../../apis/core/pod.ts";
import { requiredAlternatives } from "../../scheduling/pod-requirements.ts";
import type { Topology } from "../topology/topology.ts";
import type { TopologyGroup } from "../topology/topology-group.ts";
import type { Wishes } from "./preferences.ts";

/** What the topology group of a rule depends on, besides the rule: facts about the pod that has it. */
export interface Owner {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly tolerations: readonly Toleration[];
}

interface Asking {
  readonly pod: Pod;
  readonly owner: Owner;
  /** The topology groups that are known already, by rule. Filled on demand. */
  readonly groups: Map<object, TopologyGroup>;
}

export const NO_GROUPS: readonly TopologyGroup[] = [];

/** The topology groups of the pod's own spreads and affinities, each group once. */
export function ownedGroups(
  { owner, groups, pod }: Asking,
  wishes: Wishes,
  topology: Topology,
): readonly TopologyGroup[] {
  const found: TopologyGroup[] = [];
  // A YAML anchor may make one object an affinity and an anti-affinity term, so the type is compared, too.
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
  // A spread counts pods on nodes that satisfy any required node affinity term of the pod, as in kube-scheduler.
  for (const one of wishes.spreads)
    find("spread", one, () => topology.spread(one, owner, requiredAlternatives(pod.spec)));
  const { affinity, preferredAffinity, antiAffinity, preferredAntiAffinity } = wishes;
  near("affinity", affinity);
  near("affinity", termsOf(preferredAffinity));
  near("antiAffinity", antiAffinity);
  near("antiAffinity", termsOf(preferredAntiAffinity));
  return found;
}

function termsOf(preferred: Wishes["preferredAffinity"]): readonly PodAffinityTerm[] {
  return preferred.map(({ term }) => term);
}
