/**
 * Holds off a command if a pending pod could take the room that its moved pods need on a replacement.
 * A pod may be pending only because its NodePools are at their limits. kube-scheduler gives it the first room that
 * appears, which may be on a replacement. Then a moved pod gets no place there. A protected pod is evicted only after
 * another pod of its workload runs. So it would never be evicted, and its node never drained without a
 * terminationGracePeriod.
 * karpenter-ts only: upstream plans pending and moved pods together, and also delays commands that cannot do harm.
 */
import { isActive, type Pod } from "../../apis/core/pod.ts";
import { podRequests } from "../../apis/core/pod-resources.ts";
import { keyOf } from "../../apis/meta.ts";
import type { PodDisruptionBudget } from "../../apis/policy/kinds.ts";
import { holdingBudgets } from "../../apis/policy/pdb.ts";
import {
  addResources,
  fits,
  NO_RESOURCES,
  type Resources,
  subtractResources,
} from "../../apis/resources.ts";
import { within } from "../../base/within.ts";
import type { InstanceType } from "../cloudprovider/instance-type.ts";
import type { PlannedClaim } from "../provisioning/result.ts";
import type { PodsOverLimits } from "../provisioning/what-if/prepared-cluster.ts";
import { requiredAlternatives } from "../scheduling/pod-requirements.ts";
import { oneOf } from "../scheduling/requirement.ts";
import { Requirements } from "../scheduling/requirements.ts";
import { forbiddingTaints } from "../scheduling/taints.ts";
import type { NodeView } from "../state/node-view.ts";
import type { Candidate } from "./candidates.ts";
import type { Command, HoldOff } from "./command.ts";

/** For each PodDisruptionBudget: a number of its pods that must be evicted. */
type EvictionCounts = ReadonlyMap<PodDisruptionBudget, number>;

/** What decides which pods are protected: they are evicted only after another pod of their workload runs. */
export interface Evictions {
  /** The evictions in progress, see {@link pendingEvictions}. */
  readonly pending: () => EvictionCounts;
  readonly pdbs: readonly PodDisruptionBudget[];
  /** Whether the pod is moved without downtime: its workload first gets a new pod elsewhere. */
  readonly movesFirst: (pod: Pod) => boolean;
}

interface Competition extends Evictions {
  /** Pending pods that have no place because of limits of NodePools. Called only if a protected pod is moved. */
  readonly podsOverLimits: () => readonly PodsOverLimits[];
  /** Labels that a node may get although its plan does not name them. */
  readonly wellKnownLabels: readonly string[];
}

/** Why the command must not begin: a pending pod could take the room of a protected pod. Undefined: it may begin. */
export function competitionHoldOff(
  { candidates, replacements }: Pick<Command, "candidates" | "replacements">,
  competition: Competition,
): HoldOff | undefined {
  if (replacements.length === 0) return undefined;
  const kept = protectedPods(candidates, competition);
  if (kept.size === 0) return undefined;
  const wellKnown = new Set(competition.wellKnownLabels);
  for (const plan of replacements) {
    const one = plan.pods.find((pod) => kept.has(pod));
    const competitor =
      one === undefined ? undefined : competitorOn(plan, competition.podsOverLimits(), wellKnown);
    if (one === undefined || competitor === undefined) continue;
    const waits = `pod "${keyOf(competitor)}" waits because its nodepools are at their limits`;
    const takes = `could take the room on a new node that pod "${keyOf(one)}" must have before it may go`;
    return { message: `${waits}, and ${takes}` };
  }
  return undefined;
}

/** For each PodDisruptionBudget: how many pods on leaving nodes must still be evicted. */
export function pendingEvictions(
  nodes: readonly NodeView[],
  pdbs: readonly PodDisruptionBudget[],
): EvictionCounts {
  if (pdbs.length === 0) return new Map();
  const pods = nodes.flatMap((node) => (node.deleting ? node.pods.filter(isActive) : []));
  return countByBudget(pods, pdbs);
}

/** The protected pods of these nodes. A node with a terminationGracePeriod has none, because its drain always ends. */
export function protectedPods(
  candidates: readonly Pick<Candidate, "claim" | "reschedulablePods">[],
  { pending, pdbs, movesFirst }: Evictions,
): ReadonlySet<Pod> {
  const moved = candidates.flatMap(({ reschedulablePods }) => reschedulablePods);
  const lost = countByBudget(moved, pdbs);
  const isShort = (pdb: PodDisruptionBudget) => {
    const allowed = pdb.status?.disruptionsAllowed ?? 0;
    return (lost.get(pdb) ?? 0) + (pending().get(pdb) ?? 0) > allowed;
  };
  const endless = candidates.filter(({ claim }) => claim.spec.terminationGracePeriod === undefined);
  const pods = endless.flatMap(({ reschedulablePods }) => reschedulablePods);
  return new Set(pods.filter((pod) => movesFirst(pod) || holdingBudgets(pod, pdbs).some(isShort)));
}

function countByBudget(pods: readonly Pod[], pdbs: readonly PodDisruptionBudget[]): EvictionCounts {
  const counts = new Map<PodDisruptionBudget, number>();
  for (const pdb of pods.flatMap((pod) => holdingBudgets(pod, pdbs)))
    counts.set(pdb, (counts.get(pdb) ?? 0) + 1);
  return counts;
}

/** The first pending pod that may run on the planned node and, with equal pods, could leave too little room there. */
function competitorOn(
  plan: PlannedClaim,
  podsOverLimits: readonly PodsOverLimits[],
  wellKnown: ReadonlySet<string>,
): Pod | undefined {
  const node = Requirements.fromSpecs(plan.requirements);
  const tolerant = podsOverLimits.filter(
    ({ sample: { spec } }) => forbiddingTaints(spec.tolerations, plan.pool.taints).length === 0,
  );
  const competitors = tolerant.flatMap((one) => {
    const { requests, alternatives } = needsOf(one);
    const open = alternatives.map((some) =>
      some.filter((wanted) => node.accepts(wanted, wellKnown)),
    );
    return open.every((some) => some.length > 0) ? [{ ...one, requests, alternatives: open }] : [];
  });
  if (competitors.length === 0) return undefined;
  const moved = plan.pods.reduce((sum, pod) => addResources(sum, podRequests(pod)), NO_RESOURCES);
  const daemons = subtractResources(plan.requests, moved);
  for (const type of plan.instanceTypes) {
    const { allocatable, labels } = factsOf(type);
    let all = plan.requests;
    for (const { sample, count, requests, alternatives } of competitors) {
      if (!fits(addResources(daemons, requests), allocatable)) continue;
      if (!alternatives.every((some) => some.some((wanted) => mayHaveLabels(labels, wanted))))
        continue;
      for (let pods = 0; pods < count; pods++) {
        all = addResources(all, requests);
        if (!fits(all, allocatable)) return sample;
      }
    }
  }
  return undefined;
}

interface PodNeeds {
  readonly requests: Resources;
  /** The node must satisfy one entry of each list: the pod's node affinity, and the places of its volumes. */
  readonly alternatives: readonly (readonly Requirements[])[];
}

/** The needs of each group of equal pods. They are cached, because a round needs them for each node. */
const needsByKind = new WeakMap<PodsOverLimits, PodNeeds>();

function needsOf(one: PodsOverLimits): PodNeeds {
  return within(needsByKind, one, () => {
    const own = requiredAlternatives(one.sample.spec);
    const alternatives = one.places.length === 0 ? [own] : [own, one.places];
    return { requests: podRequests(one.sample), alternatives };
  });
}

interface TypeFacts {
  readonly allocatable: Resources;
  readonly labels: Requirements;
}

const factsByType = new WeakMap<InstanceType, TypeFacts>();

function factsOf(type: InstanceType): TypeFacts {
  return within(factsByType, type, () => {
    const labels = Object.entries(type.labels).filter(([, values]) => values.length > 0);
    return {
      allocatable: subtractResources(type.capacity, type.overhead),
      labels: Requirements.of(labels.map(([key, values]) => oneOf(key, values))),
    };
  });
}

function mayHaveLabels(labels: Requirements, wanted: Requirements): boolean {
  return labels.accepts(wanted, new Set(wanted.keys()));
}
