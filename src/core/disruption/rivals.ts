/**
 * Pods that wait for nothing but their pool's limits. kube-scheduler gives
 * them the first room that comes up, and that is the room of a replacement. Most pods that were to have it wait in
 * their turn; one that must not end before another of its workload runs never gets away then, and its node leaves for
 * ever. So such a move is not begun while somebody waits who could take its room.
 * Upstream plans for waiting pods and moved ones alike, largest first: there they hold up moves that they do not touch.
 */
import type { Pod } from "../../apis/core/pod.ts";
import { podRequests } from "../../apis/core/pod-resources.ts";
import { firstUntolerated } from "../../apis/core/tolerations.ts";
import { keyOf } from "../../apis/meta.ts";
import type { PodDisruptionBudget } from "../../apis/policy/kinds.ts";
import { budgetsOf } from "../../apis/policy/pdb.ts";
import { addResources, fits, NO_RESOURCES, subtractResources } from "../../apis/resources.ts";
import type { InstanceType } from "../cloudprovider/instance-type.ts";
import type { PlannedClaim } from "../provisioning/result.ts";
import type { Stranded } from "../provisioning/what-if/prepared-cluster.ts";
import { requiredAlternatives } from "../scheduling/pod-requirements.ts";
import { oneOf } from "../scheduling/requirement.ts";
import { Requirements } from "../scheduling/requirements.ts";
import type { Command, Objection } from "./command.ts";

/** Who is asked about. */
interface Facts {
  /** Asked for only where somebody could suffer from them. */
  readonly stranded: () => readonly Stranded[];
  /** Pods of nodes that are on their way out. */
  readonly leaving: () => readonly Pod[];
  readonly pdbs: readonly PodDisruptionBudget[];
  /** Whether the pod ends only once a new one of its workload runs elsewhere. */
  readonly movesFirst: (pod: Pod) => boolean;
  /** Labels that a node may have though its plan says nothing of them. */
  readonly wellKnownLabels: readonly string[];
}

/** Why the command had better not begin now: who would take the room of whom. */
export function rivalry(
  { replacements }: Pick<Command, "replacements">,
  { stranded, leaving, pdbs, movesFirst, wellKnownLabels }: Facts,
): Objection | undefined {
  const guards = new Guards(pdbs, leaving);
  for (const plan of replacements) {
    const kept = plan.pods.find((pod) => movesFirst(pod) || guards.keep(pod));
    const rival = kept === undefined ? undefined : rivalOn(plan, stranded(), wellKnownLabels);
    if (kept === undefined || rival === undefined) continue;
    const waits = `pod "${keyOf(rival)}" waits because its nodepools are at their limits`;
    const takes = `could take the room on a new node that pod "${keyOf(kept)}" must have before it may go`;
    return { message: `${waits}, and ${takes}` };
  }
  return undefined;
}

/** Which pods their budgets do not let go at once with those before them, and with those that leave already. */
class Guards {
  readonly #pdbs: readonly PodDisruptionBudget[];
  readonly #leaving: () => readonly Pod[];
  readonly #going = new Map<PodDisruptionBudget, number>();

  constructor(pdbs: readonly PodDisruptionBudget[], leaving: () => readonly Pod[]) {
    this.#pdbs = pdbs;
    this.#leaving = leaving;
  }

  keep(pod: Pod): boolean {
    const kept = budgetsOf(pod, this.#pdbs).filter((pdb) => {
      const allowed = pdb.status?.disruptionsAllowed ?? 0;
      const going = (this.#going.get(pdb) ?? (allowed > 0 ? this.#leavingUnder(pdb) : 0)) + 1;
      this.#going.set(pdb, going);
      return going > allowed;
    });
    return kept.length > 0;
  }

  #leavingUnder(pdb: PodDisruptionBudget): number {
    return this.#leaving().filter((pod) => budgetsOf(pod, this.#pdbs).includes(pdb)).length;
  }
}

/** The first who could be there with so many of its like that they and the planned pods have no room together. */
function rivalOn(
  plan: PlannedClaim,
  stranded: readonly Stranded[],
  wellKnownLabels: readonly string[],
): Pod | undefined {
  const { taints } = plan.pool;
  const willing = stranded.filter(
    ({ sample: { spec } }) => firstUntolerated(spec.tolerations, taints) === undefined,
  );
  if (willing.length === 0) return undefined;
  const wellKnown = new Set(wellKnownLabels);
  const requirements = Requirements.fromSpecs(plan.requirements);
  const moved = plan.pods.reduce((sum, pod) => addResources(sum, podRequests(pod)), NO_RESOURCES);
  const daemons = subtractResources(plan.requests, moved);
  for (const type of plan.instanceTypes) {
    const allocatable = subtractResources(type.capacity, type.overhead);
    const node = requirements.and(labelsOf(type));
    let all = plan.requests;
    for (const { sample, count, places } of willing) {
      const wanted = podRequests(sample);
      if (!fits(addResources(daemons, wanted), allocatable)) continue;
      const isWanted = (one: Requirements) => node.accepts(one, wellKnown);
      if (!requiredAlternatives(sample.spec).some(isWanted)) continue;
      if (places.length > 0 && !places.some(isWanted)) continue;
      for (let pods = 0; pods < count; pods++) {
        all = addResources(all, wanted);
        if (!fits(all, allocatable)) return sample;
      }
    }
  }
  return undefined;
}

function labelsOf({ labels }: InstanceType): Requirements {
  const known = Object.entries(labels).filter(([, values]) => values.length > 0);
  return Requirements.of(known.map(([key, values]) => oneOf(key, values)));
}
