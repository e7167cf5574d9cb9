/**
 * Pods that wait for nothing but their pool's limits. kube-scheduler gives them the first room that comes up, and that
 * is the room of a replacement. Most pods that were to have it wait in their turn; one that must not end before another
 * of its workload runs never gets away then, and its node leaves for ever, unless it has a terminationGracePeriod. So
 * such a move is not begun while somebody waits who could take its room.
 * Upstream plans for waiting pods and moved ones alike, largest first: there they hold up moves that they do not touch.
 */
import { isActive, type Pod } from "../../apis/core/pod.ts";
import { podRequests } from "../../apis/core/pod-resources.ts";
import { firstUntolerated } from "../../apis/core/tolerations.ts";
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
import type { InstanceType } from "../cloudprovider/instance-type.ts";
import type { PlannedClaim } from "../provisioning/result.ts";
import type { Stranded } from "../provisioning/what-if/prepared-cluster.ts";
import { requiredAlternatives } from "../scheduling/pod-requirements.ts";
import { oneOf } from "../scheduling/requirement.ts";
import { Requirements } from "../scheduling/requirements.ts";
import type { NodeView } from "../state/node-view.ts";
import type { Candidate } from "./candidates.ts";
import type { Command, Objection } from "./command.ts";

/** How many pods each budget has lost already, or is about to. */
type Losses = ReadonlyMap<PodDisruptionBudget, number>;

/** Who is asked about. */
interface Facts {
  /** Asked for only where somebody could suffer from them. */
  readonly stranded: () => readonly Stranded[];
  /** As {@link leavingUnder}. */
  readonly leaving: () => Losses;
  readonly pdbs: readonly PodDisruptionBudget[];
  /** Whether the pod ends only once a new one of its workload runs elsewhere. */
  readonly movesFirst: (pod: Pod) => boolean;
  /** Labels that a node may have though its plan says nothing of them. */
  readonly wellKnownLabels: readonly string[];
}

/** Why the command had better not begin now: who would take the room of whom. */
export function rivalry(
  { candidates, replacements }: Pick<Command, "candidates" | "replacements">,
  facts: Facts,
): Objection | undefined {
  if (replacements.length === 0) return undefined;
  const kept = keptPods(candidates, facts);
  if (kept.size === 0) return undefined;
  const wellKnown = new Set(facts.wellKnownLabels);
  for (const plan of replacements) {
    const one = plan.pods.find((pod) => kept.has(pod));
    const rival = one === undefined ? undefined : rivalOn(plan, facts.stranded(), wellKnown);
    if (one === undefined || rival === undefined) continue;
    const waits = `pod "${keyOf(rival)}" waits because its nodepools are at their limits`;
    const takes = `could take the room on a new node that pod "${keyOf(one)}" must have before it may go`;
    return { message: `${waits}, and ${takes}` };
  }
  return undefined;
}

/** How many pods of nodes that are on their way out each budget is still to let go. */
export function leavingUnder(
  nodes: readonly NodeView[],
  pdbs: readonly PodDisruptionBudget[],
): Losses {
  if (pdbs.length === 0) return new Map();
  const pods = nodes.flatMap((node) => (node.deleting ? node.pods.filter(isActive) : []));
  return countByBudget(pods, pdbs);
}

/** Pods that leave only after another of their workload runs: no drain ends without. */
export function keptPods(
  candidates: readonly Pick<Candidate, "claim" | "reschedulablePods">[],
  { leaving, pdbs, movesFirst }: Pick<Facts, "leaving" | "pdbs" | "movesFirst">,
): ReadonlySet<Pod> {
  const going = candidates.flatMap(({ reschedulablePods }) => reschedulablePods);
  const lost = countByBudget(going, pdbs);
  const isShort = (pdb: PodDisruptionBudget) => {
    const allowed = pdb.status?.disruptionsAllowed ?? 0;
    return (lost.get(pdb) ?? 0) + (leaving().get(pdb) ?? 0) > allowed;
  };
  const endless = candidates.filter(({ claim }) => claim.spec.terminationGracePeriod === undefined);
  const pods = endless.flatMap(({ reschedulablePods }) => reschedulablePods);
  return new Set(pods.filter((pod) => movesFirst(pod) || holdingBudgets(pod, pdbs).some(isShort)));
}

function countByBudget(pods: readonly Pod[], pdbs: readonly PodDisruptionBudget[]): Losses {
  const counts = new Map<PodDisruptionBudget, number>();
  for (const pdb of pods.flatMap((pod) => holdingBudgets(pod, pdbs)))
    counts.set(pdb, (counts.get(pdb) ?? 0) + 1);
  return counts;
}

/** The first who could be there with so many of its like that they and the planned pods have no room together. */
function rivalOn(
  plan: PlannedClaim,
  stranded: readonly Stranded[],
  wellKnown: ReadonlySet<string>,
): Pod | undefined {
  const node = Requirements.fromSpecs(plan.requirements);
  const willing = stranded.filter(
    ({ sample: { spec } }) =>
      firstUntolerated(spec.tolerations, plan.pool.taints, HARD) === undefined,
  );
  const rivals = willing.flatMap((one) => {
    const { requests, ways } = wishesOf(one);
    const open = ways.map((way) => way.filter((wanted) => node.accepts(wanted, wellKnown)));
    return open.every((way) => way.length > 0) ? [{ ...one, requests, ways: open }] : [];
  });
  if (rivals.length === 0) return undefined;
  const moved = plan.pods.reduce((sum, pod) => addResources(sum, podRequests(pod)), NO_RESOURCES);
  const daemons = subtractResources(plan.requests, moved);
  for (const type of plan.instanceTypes) {
    const { allocatable, labels } = factsOf(type);
    let all = plan.requests;
    for (const { sample, count, requests, ways } of rivals) {
      if (!fits(addResources(daemons, requests), allocatable)) continue;
      if (!ways.every((way) => way.some((wanted) => hasNothingAgainst(labels, wanted)))) continue;
      for (let pods = 0; pods < count; pods++) {
        all = addResources(all, requests);
        if (!fits(all, allocatable)) return sample;
      }
    }
  }
  return undefined;
}

/** kube-scheduler passes by the others where nothing better is there. */
const HARD = { effects: ["NoSchedule", "NoExecute"] } as const;

interface Wishes {
  readonly requests: Resources;
  /** Of each list one must be met: the pod's own terms, and where its volumes may be. */
  readonly ways: readonly (readonly Requirements[])[];
}

/** The same pods and types are asked about for each node that is to go. */
const wishesByKind = new WeakMap<Stranded, Wishes>();

function wishesOf(one: Stranded): Wishes {
  const known = wishesByKind.get(one);
  if (known !== undefined) return known;
  const own = requiredAlternatives(one.sample.spec);
  const ways = one.places.length === 0 ? [own] : [own, one.places];
  const wishes = { requests: podRequests(one.sample), ways };
  wishesByKind.set(one, wishes);
  return wishes;
}

interface TypeFacts {
  readonly allocatable: Resources;
  readonly labels: Requirements;
}

const factsByType = new WeakMap<InstanceType, TypeFacts>();

function factsOf(type: InstanceType): TypeFacts {
  const known = factsByType.get(type);
  if (known !== undefined) return known;
  const labels = Object.entries(type.labels).filter(([, values]) => values.length > 0);
  const facts = {
    allocatable: subtractResources(type.capacity, type.overhead),
    labels: Requirements.of(labels.map(([key, values]) => oneOf(key, values))),
  };
  factsByType.set(type, facts);
  return facts;
}

function hasNothingAgainst(labels: Requirements, wanted: Requirements): boolean {
  return labels.accepts(wanted, new Set(wanted.keys()));
}
