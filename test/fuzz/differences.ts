/**
 * Why upstream may place a pod that karpenter-ts leaves pending. Each class has a reason and a test that proves
 * it. docs/reference/placement-differences.md has the list in prose. The best reason is that kube-scheduler
 * refuses the pod on its node of upstream's plan.
 */
import type { Plan } from "../../src/cli/plan/plan.ts";
import { type Json, portsCollide, wantsNode } from "../validator/kubernetes.ts";
import { elsewhereOf, isAhead } from "../validator/neighbours.ts";
import { outcomesOf } from "../validator/places.ts";
import { type Facts, keyOf, type Scenario } from "../validator/validate.ts";
import {
  withoutDaemonPorts,
  withoutLabelKeys,
  withoutLimits,
  withoutNodeLimits,
  withoutPods,
  withoutSpreadOf,
  withoutWishes,
} from "./other-scenarios.ts";
import type { Outcome } from "./upstream.ts";

export interface Difference {
  readonly scenario: Scenario;
  readonly pod: Json;
  /** Why the plan of karpenter-ts leaves the pod pending. */
  readonly reason: string;
  readonly theirs: Outcome;
  readonly ours: Plan;
  /**
   * Pods that kube-scheduler refuses on their node of upstream's plan, and those that it refuses once the first are
   * gone.
   */
  readonly refused: ReadonlySet<string>;
  /**
   * As `refused`, if all nodes of upstream's plan exist before any pod is bound. Before a node exists, its zone or host
   * is no topology domain.
   */
  readonly refusedWhenAllAreUp: () => ReadonlySet<string>;
  /**
   * As `refused`, for each zone and capacity type that the plan leaves open for its nodes. Undefined: there are
   * too many.
   */
  readonly refusedInEachWay: () => readonly ReadonlySet<string>[] | undefined;
  /** As `refused`, for each value of custom labels that the plan leaves open. Undefined: there are too many. */
  readonly refusedByLabels: () => readonly ReadonlySet<string>[] | undefined;
  /** The places of all pods in upstream's plan. */
  readonly theirFacts: Facts;
  /** The plan of karpenter-ts for another scenario, by the greedy rules. */
  readonly oursFor: (scenario: Scenario) => Plan;
  /** Whether karpenter-ts places the pod in another scenario. */
  readonly oursPlaces: (scenario: Scenario) => boolean;
  /** Number of pods that karpenter-ts leaves pending in another scenario. */
  readonly oursLeaves: (scenario: Scenario) => number;
  /**
   * Whether karpenter-ts places the pod in the next pass, when the new nodes are ready and the other pods are
   * bound.
   */
  readonly oursLater: () => boolean;
  /** The plan of karpenter-ts with all plan sources. */
  readonly oursByPlanner: () => Plan;
  /**
   * The plan of karpenter-ts with only the rules of upstream's code (the plan source "upstream-exact greedy").
   * Undefined: that source does not apply.
   */
  readonly oursToTheLetter: () => Plan | undefined;
  /** Results of several runs of upstream for this or another scenario. Upstream picks randomly among equals. */
  readonly theirRuns: (scenario: Scenario) => readonly Outcome[];
  /** How often each side places the pod if all pods get other random UIDs, the same for both sides. */
  readonly byOtherLots: () => Lots;
}

export interface Lots {
  readonly drawings: number;
  readonly ours: number;
  readonly theirs: number;
}

/**
 * Whether all plan sources together place the pod, or as many pods like it as upstream does. Which of several equal
 * pods are placed depends on random UIDs. Exported for tests.
 */
export function plannerPlaces(one: Difference): boolean {
  const ours = one.oursByPlanner();
  if (ours.unschedulable.every(({ pod }) => pod !== keyOf(one.pod))) return true;
  const count = placed({ ...one, ours }, kindOf(one));
  return count.ours >= count.theirs;
}

interface DifferenceClass {
  readonly name: string;
  readonly applies: (one: Difference) => boolean;
}

const of = ({ manifests }: Scenario, kind: string) => manifests.filter((one) => one.kind === kind);

const claimOf = ({ theirs, pod }: Difference) =>
  (theirs.newNodeClaims ?? []).find(({ pods }) => pods.includes(keyOf(pod)));

const poolOf = (one: Difference) =>
  of(one.scenario, "NodePool").find(({ metadata }) => metadata.name === claimOf(one)?.nodePool);

const podsOf = ({ scenario }: Difference) =>
  of(scenario, "Pod").filter(({ spec }) => !spec.nodeName);

/** A key that is equal for pods with the same namespace and spec. */
const kind = ({ metadata, spec }: Json) => JSON.stringify([metadata.namespace, spec]);

function kindOf(one: Difference): readonly Json[] {
  const own = kind(one.pod);
  return podsOf(one).filter((pod) => kind(pod) === own);
}

const isRefused = ({ refused, pod }: Difference) => refused.has(keyOf(pod));

const byKeys = ({ spec }: Json) =>
  [spec.affinity?.podAffinity, spec.affinity?.podAntiAffinity].some((one) =>
    (one?.requiredDuringSchedulingIgnoredDuringExecution ?? []).some(
      (term: Json) => term.matchLabelKeys !== undefined || term.mismatchLabelKeys !== undefined,
    ),
  );

/** Pods that upstream leaves pending, or places where kube-scheduler refuses them. */
function leftByThem({ theirs, refused }: Difference): ReadonlySet<string> {
  return new Set([...Object.keys(theirs.unschedulable), ...refused]);
}

/**
 * Pods that neither side can place, other than this one. A pod that kube-scheduler refuses counts as not placed by
 * upstream.
 */
function placelessBesides(one: Difference): ReadonlySet<string> {
  const left = leftByThem(one);
  const both = one.ours.unschedulable.map(({ pod }) => pod).filter((pod) => left.has(pod));
  return new Set([...both, ...one.refused].filter((pod) => pod !== keyOf(one.pod)));
}

/** Pods that karpenter-ts leaves pending, other than this one, of kinds of which kube-scheduler refuses a pod. */
function rightlyLeft(one: Difference): ReadonlySet<string> {
  const left = new Set(one.ours.unschedulable.map(({ pod }) => pod));
  const refused = podsOf(one).filter((pod) => one.refused.has(keyOf(pod)));
  const kinds = new Set(refused.map(kind));
  const some = podsOf(one).filter((pod) => left.has(keyOf(pod)) && kinds.has(kind(pod)));
  return new Set(some.map(keyOf).filter((name) => name !== keyOf(one.pod)));
}

/**
 * Pods that karpenter-ts leaves pending, other than this one, of kinds of which upstream places more than its own
 * spread rule allows.
 */
function aheadOfTheirRule(one: Difference): ReadonlySet<string> {
  const left = new Set(one.ours.unschedulable.map(({ pod }) => pod));
  const kinds = new Set(
    podsOf(one)
      .filter((pod) => isAhead(pod, one.theirFacts))
      .map(kind),
  );
  const some = podsOf(one).filter((pod) => left.has(keyOf(pod)) && kinds.has(kind(pod)));
  return new Set(some.map(keyOf).filter((name) => name !== keyOf(one.pod)));
}

/** Claims above the node limit of their NodePool; for each NodePool those with the fewest pods. */
export function beyondLimits({
  scenario,
  theirs,
}: Pick<Difference, "scenario" | "theirs">): ReadonlySet<object> {
  const beyond = of(scenario, "NodePool").flatMap(({ metadata, spec }) =>
    (theirs.newNodeClaims ?? [])
      .filter(({ nodePool }) => nodePool === metadata.name)
      .sort((a, b) => b.pods.length - a.pods.length)
      .slice(Number(spec.limits?.nodes ?? Number.POSITIVE_INFINITY)),
  );
  return new Set(beyond);
}

/**
 * How many of these pods each side places. For upstream, pods that kube-scheduler refuses or that are above a node
 * limit do not count.
 */
function placed(one: Difference, pods: readonly Json[]) {
  const { theirs, ours, refused } = one;
  const left = new Set(ours.unschedulable.map(({ pod }) => pod));
  const beyond = beyondLimits(one);
  const taken = new Set([
    ...Object.keys(theirs.existing),
    ...(theirs.newNodeClaims ?? [])
      .filter((claim) => !beyond.has(claim))
      .flatMap((claim) => claim.pods),
  ]);
  const names = pods.map(keyOf);
  return {
    ours: names.filter((name) => !left.has(name)).length,
    theirs: names.filter((name) => taken.has(name) && !refused.has(name)).length,
  };
}

/** Whether kube-scheduler, without the refused pods, accepts no more pods of this kind than karpenter-ts places. */
function keepsOutAsMany(one: Difference, refused: ReadonlySet<string>): boolean {
  const kin = kindOf(one);
  const count = placed({ ...one, refused }, kin);
  return kin.some((pod) => refused.has(keyOf(pod))) && count.ours >= count.theirs;
}

/**
 * The scenario without the node limits that upstream oversteps. They need not be those of this pod's NodePool: pods on
 * a node beyond another's limit leave it room.
 */
export function asTheyLimitIt(one: Pick<Difference, "scenario" | "theirs">): Scenario {
  const beyond = beyondLimits(one);
  const pools = (one.theirs.newNodeClaims ?? [])
    .filter((claim) => beyond.has(claim))
    .map(({ nodePool }) => nodePool);
  return pools.length === 0 ? one.scenario : withoutNodeLimits(one.scenario, new Set(pools));
}

/**
 * Whether some run of upstream leaves this pod pending, with no fewer pending pods than karpenter-ts. Upstream picks
 * randomly among equals, so its runs differ.
 */
function isLeftBySomeRun({ pod, theirRuns, oursLeaves }: Difference, scenario: Scenario): boolean {
  const least = oursLeaves(scenario);
  return theirRuns(scenario).some(
    ({ unschedulable: left }) => keyOf(pod) in left && Object.keys(left).length >= least,
  );
}

const CLASSES: readonly DifferenceClass[] = [
  {
    // For karpenter-ts, a limit of nodes also counts nodes that the batch creates.
    name: "upstream opens more nodes than a NodePool's limit of nodes",
    applies: (one) => {
      const scenario = asTheyLimitIt(one);
      return scenario !== one.scenario && one.oursPlaces(scenario);
    },
  },
  {
    // The kubelet's node would not have the label, so the pod would stay pending.
    name: "the scheduler refuses it: upstream's node cannot have a label that the pod requires",
    applies: (one) => {
      const pool = poolOf(one);
      if (pool === undefined || !isRefused(one)) return false;
      const outcomes = outcomesOf(pool, [], one.scenario.instanceTypes);
      return !outcomes.some(({ labels }) => wantsNode(one.pod.spec, labels));
    },
  },
  {
    // Kubernetes 1.31 and later read these fields. Upstream's topology ignores them.
    name: "the scheduler refuses it: a term with matchLabelKeys or mismatchLabelKeys",
    applies: (one) => isRefused(one) && (byKeys(one.pod) || podsOf(one).some(byKeys)),
  },
  {
    name: "the scheduler refuses it: spread",
    applies: (one) => isRefused(one) && one.pod.spec.topologySpreadConstraints !== undefined,
  },
  { name: "the scheduler refuses it: neighbours", applies: isRefused },
  {
    // A zone counts only when it has a node. Upstream's pods can be bound if that happens before.
    name: "the scheduler refuses it, or one like it, once all of upstream's nodes are up",
    applies: (one) => keepsOutAsMany(one, one.refusedWhenAllAreUp()),
  },
  {
    // The pods of nodes whose zone is still open count for a spread rule in whichever zone the node is launched.
    name: "the scheduler refuses it, or one like it, wherever the nodes come up that upstream leaves open",
    applies: (one) => {
      const ways = one.refusedInEachWay() ?? [];
      return ways.length > 0 && ways.every((refused) => keepsOutAsMany(one, refused));
    },
  },
  {
    // The value of a NodePool's custom label is picked randomly when the claim is created.
    name: "the scheduler refuses it, or one like it, with another value of a label that upstream leaves open",
    applies: (one) => (one.refusedByLabels() ?? []).some((refused) => keepsOutAsMany(one, refused)),
  },
  {
    // A daemon whose pod does not run yet will need the port.
    name: "upstream gives away a host port that a daemon to come needs",
    applies: ({ scenario, pod, theirs, oursPlaces }) =>
      theirs.existing[keyOf(pod)] !== undefined &&
      of(scenario, "DaemonSet").some(({ spec }) => portsCollide([spec.template, pod])) &&
      oursPlaces(withoutDaemonPorts(scenario)),
  },
  {
    // The order of equal pods depends on random UIDs.
    name: "as many pods like it find a place",
    applies: (one) => {
      const count = placed(one, kindOf(one));
      return count.ours >= count.theirs;
    },
  },
  {
    // The same number of pods is placed, but not the same pods: the order of equal pods depends on random UIDs.
    name: "limits leave room for so many; upstream gives it to others",
    applies: (one) => {
      const count = placed(one, podsOf(one));
      const isByLimits = one.reason.includes("limits") && count.ours >= count.theirs;
      return isByLimits && one.oursPlaces(withoutLimits(one.scenario, "everything"));
    },
  },
  {
    // Upstream's counts are wrong in two cases. Rules that differ only in minDomains share one count. And a rule that
    // is created late, when a preference is dropped or by matchLabelKeys, starts from zero.
    name: "upstream's counts forget pods: its own rule would not allow the spread",
    applies: (one) => {
      const kin = kindOf(one);
      const ahead = kin.filter((pod) => isAhead(pod, one.theirFacts)).length;
      if (ahead === 0) return false;
      const scenario = withoutSpreadOf(asTheyLimitIt(one), one.pod);
      if (one.oursPlaces(scenario)) return true;
      // karpenter-ts places as many of this kind as upstream's own rule would allow. Which ones depends on random
      // UIDs.
      const names = new Set(kin.map(keyOf));
      const left = one.oursFor(scenario).unschedulable.filter(({ pod }) => names.has(pod)).length;
      return kin.length - left >= placed(one, kin).theirs - ahead;
    },
  },
  {
    // Larger pods are placed first, and only karpenter-ts has a place for some of them.
    name: "the room goes to pods that upstream leaves: without them ours places it",
    applies: (one) => one.oursPlaces(withoutPods(one.scenario, leftByThem(one))),
  },
  {
    // Upstream ignores matchLabelKeys and mismatchLabelKeys.
    name: "label keys of affinity terms: without them ours places it",
    applies: (one) => podsOf(one).some(byKeys) && one.oursPlaces(withoutLabelKeys(one.scenario)),
  },
  {
    // Pods of equal size are placed in the order of their UIDs.
    name: "by other UIDs ours places it, and upstream leaves it",
    applies: (one) => {
      const { drawings, ours, theirs } = one.byOtherLots();
      return ours > 0 && theirs < drawings;
    },
  },
  {
    // One of the planner's sources is upstream-exact greedy.
    name: "the planner places it",
    applies: plannerPlaces,
  },
  {
    // With host anti-affinity, upstream-exact leaves a planned node all its zones, including that of a large machine.
    // Other pods then get no zone.
    name: "upstream's rules to the letter place it, and fewer pods in all than ours",
    applies: (one) => {
      const letter = one.oursToTheLetter();
      if (letter === undefined) return false;
      const isLeft = letter.unschedulable.some(({ pod }) => pod === keyOf(one.pod));
      return !isLeft && letter.unschedulable.length > one.ours.unschedulable.length;
    },
  },
  {
    // Among equally empty zones karpenter-ts takes the cheapest, whose machines may be small. Upstream picks
    // randomly.
    name: "ours spends a limit of nodes on the cheapest zone: without the limit ours places it",
    applies: (one) =>
      one.reason.includes("node limits") && one.oursPlaces(withoutLimits(one.scenario, "nodes")),
  },
  {
    name: "by other lots upstream leaves it too, and no fewer pods in all than ours",
    applies: (one) => isLeftBySomeRun(one, one.scenario),
  },
  {
    // Upstream launches nodes for pods that kube-scheduler then refuses, and other pods get room elsewhere.
    name: "by other lots upstream leaves it too, without pods that ours leaves and the scheduler some of their kind",
    applies: (one) => {
      const wrong = rightlyLeft(one);
      return wrong.size > 0 && isLeftBySomeRun(one, withoutPods(one.scenario, wrong));
    },
  },
  {
    // Upstream counts a pod on a planned node by the node's requirements only. If the node's types allow only one
    // domain, karpenter-ts counts the pod there, too.
    name: "it is the first of its kind only if it comes before those that are elsewhere: without them ours places it",
    applies: (one) => {
      const elsewhere = new Set(elsewhereOf(one.pod, one.theirFacts).map(keyOf));
      return elsewhere.size > 0 && one.oursPlaces(withoutPods(asTheyLimitIt(one), elsewhere));
    },
  },
  {
    // Pods that are never placed still keep others away. Upstream's rule for this ignores domains that only nodes have.
    name: "upstream leaves it too, in every run, where pods that find no place are not there",
    applies: (one) => {
      const placeless = placelessBesides(one);
      if (placeless.size === 0) return false;
      const runs = one.theirRuns(withoutPods(one.scenario, placeless));
      return runs.every(({ unschedulable }) => keyOf(one.pod) in unschedulable);
    },
  },
  {
    // Pods that upstream's own rule would not allow take room that other pods would have had.
    name: "upstream leaves it too, in every run, where pods that its own rule would not allow are not there",
    applies: (one) => {
      const ahead = aheadOfTheirRule(one);
      if (ahead.size === 0) return false;
      const runs = one.theirRuns(withoutPods(one.scenario, ahead));
      return runs.every(({ unschedulable }) => keyOf(one.pod) in unschedulable);
    },
  },
  {
    // The pod has affinity to pods whose planned node has an open zone. karpenter-ts waits until that node exists.
    name: "ours places it in the next pass, when it is known where the nodes of this one are",
    // Not for limits: the next pass of this test does not count the nodes of this one against a limit.
    applies: (one) => !one.reason.includes("limits") && one.oursLater(),
  },
  {
    // Upstream drops preferences that karpenter-ts satisfies, so other room is left.
    name: "ours meets wishes of others: without any ours places it",
    applies: (one) => {
      const wishless = withoutWishes(one.scenario);
      const own = wishless.manifests.find(
        (pod) => pod.kind === "Pod" && keyOf(pod) === keyOf(one.pod),
      );
      return JSON.stringify(own?.spec) === JSON.stringify(one.pod.spec) && one.oursPlaces(wishless);
    },
  },
  {
    // How many pods fit within a limit depends on their order, and no greedy order is best for all cases.
    name: "limits leave room for fewer by ours: without them it places the pod",
    applies: (one) =>
      one.reason.includes("limits") && one.oursPlaces(withoutLimits(one.scenario, "everything")),
  },
];

export function classify(one: Difference): string | undefined {
  return CLASSES.find(({ applies }) => applies(one))?.name;
}
