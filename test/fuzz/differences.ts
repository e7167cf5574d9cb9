/**
 * Why upstream may place a pod that ours leaves: each class with its reason, and how it is told. The
 * list is docs/reference/placement-differences.md in prose. The best reason is the scheduler's: given
 * upstream's nodes it does not let the pod go there.
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
  withoutPods,
  withoutSpreadOf,
  withoutWishes,
} from "./other-scenarios.ts";
import type { Outcome } from "./upstream.ts";

export interface Difference {
  readonly scenario: Scenario;
  readonly pod: Json;
  /** Why ours left it. */
  readonly reason: string;
  readonly theirs: Outcome;
  readonly ours: Plan;
  /** Pods that the scheduler would not let go where upstream's plan has them, once all such pods are not there. */
  readonly refused: ReadonlySet<string>;
  /** The same if all nodes of upstream's plan are up before a pod is bound: those that are missing are no domains yet. */
  readonly refusedWhenAllAreUp: () => ReadonlySet<string>;
  /** The same for each zone and capacity type that nodes may come up with where the plan leaves it open; undefined: too many. */
  readonly refusedInEachWay: () => readonly ReadonlySet<string>[] | undefined;
  /** The same for each value of labels that no type has, where the plan leaves it open; undefined: too many. */
  readonly refusedByLabels: () => readonly ReadonlySet<string>[] | undefined;
  /** Where upstream's plan has everybody. */
  readonly theirFacts: Facts;
  /** Our plan by the rules for another scenario. */
  readonly oursFor: (scenario: Scenario) => Plan;
  /** Whether ours places the pod in another scenario. */
  readonly oursPlaces: (scenario: Scenario) => boolean;
  /** How many pods ours leaves in another scenario. */
  readonly oursLeaves: (scenario: Scenario) => number;
  /** Whether ours places it in the next pass, when the nodes of this one are up and its pods are bound. */
  readonly oursLater: () => boolean;
  /** Whether ours places it when the planner is on. */
  readonly oursByPlanner: () => boolean;
  /** Our plan by upstream's rules to the letter. */
  readonly oursToTheLetter: () => Plan | undefined;
  /** Upstream's word on a scenario, this or another, again and again: it draws lots among equals. */
  readonly theirRuns: (scenario: Scenario) => readonly Outcome[];
  /** In how many of some drawings of UIDs, the same for both, each side places it. */
  readonly byOtherLots: () => Lots;
}

export interface Lots {
  readonly drawings: number;
  readonly ours: number;
  readonly theirs: number;
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

/** The same of pods that differ in their names only. */
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

/** Pods that upstream leaves, or has where the scheduler refuses them. */
function leftByThem({ theirs, refused }: Difference): ReadonlySet<string> {
  return new Set([...Object.keys(theirs.unschedulable), ...refused]);
}

/** Other pods that neither side has a place for; those that the scheduler refuses have none by upstream. */
function placelessBesides(one: Difference): ReadonlySet<string> {
  const left = leftByThem(one);
  const both = one.ours.unschedulable.map(({ pod }) => pod).filter((pod) => left.has(pod));
  return new Set([...both, ...one.refused].filter((pod) => pod !== keyOf(one.pod)));
}

/** Other pods that ours leaves, as the scheduler does some that are like them. */
function rightlyLeft(one: Difference): ReadonlySet<string> {
  const left = new Set(one.ours.unschedulable.map(({ pod }) => pod));
  const refused = podsOf(one).filter((pod) => one.refused.has(keyOf(pod)));
  const kinds = new Set(refused.map(kind));
  const some = podsOf(one).filter((pod) => left.has(keyOf(pod)) && kinds.has(kind(pod)));
  return new Set(some.map(keyOf).filter((name) => name !== keyOf(one.pod)));
}

/** Other pods that ours leaves, of kinds of which upstream places more than its own rule for spreads allows. */
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

/** Claims beyond what a NodePool may have; of each those with the fewest pods. */
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
 * How many of these pods each side finds a place for; upstream's that the scheduler refuses, or that are
 * beyond a limit of nodes, have none.
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

/** Whether the scheduler, which refuses these, lets no more pods like it in than find a place by ours. */
function keepsOutAsMany(one: Difference, refused: ReadonlySet<string>): boolean {
  const kin = kindOf(one);
  const count = placed({ ...one, refused }, kin);
  return kin.some((pod) => refused.has(keyOf(pod))) && count.ours >= count.theirs;
}

/** Without limits of nodes where upstream has opened more than the pod's NodePool may have. */
function asTheyLimitIt(one: Difference): Scenario {
  const limit = poolOf(one)?.spec.limits?.nodes;
  const opened = (one.theirs.newNodeClaims ?? []).filter(
    ({ nodePool }) => nodePool === claimOf(one)?.nodePool,
  );
  const isBeyond = limit !== undefined && opened.length > Number(limit);
  return isBeyond ? withoutLimits(one.scenario, "nodes") : one.scenario;
}

/** Whether upstream, which draws lots among equals, leaves the pod now and then, and no fewer pods in all than ours. */
function isLeftBySomeRun({ pod, theirRuns, oursLeaves }: Difference, scenario: Scenario): boolean {
  const least = oursLeaves(scenario);
  return theirRuns(scenario).some(
    ({ unschedulable: left }) => keyOf(pod) in left && Object.keys(left).length >= least,
  );
}

const CLASSES: readonly DifferenceClass[] = [
  {
    // Ours counts the nodes that the batch opens.
    name: "upstream opens more nodes than the NodePool's limit of nodes",
    applies: (one) => {
      const scenario = asTheyLimitIt(one);
      return scenario !== one.scenario && one.oursPlaces(scenario);
    },
  },
  {
    // The kubelet's node would not have the label: the pod would stay pending.
    name: "the scheduler refuses it: upstream's node cannot have a label that the pod requires",
    applies: (one) => {
      const pool = poolOf(one);
      if (pool === undefined || !isRefused(one)) return false;
      const outcomes = outcomesOf(pool, [], one.scenario.instanceTypes);
      return !outcomes.some(({ labels }) => wantsNode(one.pod.spec, labels));
    },
  },
  {
    // Kubernetes 1.31 has them, upstream's topology does not read them.
    name: "the scheduler refuses it: a term with matchLabelKeys or mismatchLabelKeys",
    applies: (one) => isRefused(one) && (byKeys(one.pod) || podsOf(one).some(byKeys)),
  },
  {
    name: "the scheduler refuses it: spread",
    applies: (one) => isRefused(one) && one.pod.spec.topologySpreadConstraints !== undefined,
  },
  { name: "the scheduler refuses it: neighbours", applies: isRefused },
  {
    // A zone counts once a node is there: upstream's pods get in if they are bound before.
    name: "the scheduler refuses it, or one like it, once all of upstream's nodes are up",
    applies: (one) => keepsOutAsMany(one, one.refusedWhenAllAreUp()),
  },
  {
    // Nodes whose zone is open hold pods that a spread will count, wherever they come up.
    name: "the scheduler refuses it, or one like it, wherever the nodes come up that upstream leaves open",
    applies: (one) => {
      const ways = one.refusedInEachWay() ?? [];
      return ways.length > 0 && ways.every((refused) => keepsOutAsMany(one, refused));
    },
  },
  {
    // Which value of a NodePool's own label a node gets is drawn by lot when its claim is made.
    name: "the scheduler refuses it, or one like it, with another value of a label that upstream leaves open",
    applies: (one) => (one.refusedByLabels() ?? []).some((refused) => keepsOutAsMany(one, refused)),
  },
  {
    // A daemon that has not started yet will need the port.
    name: "upstream gives away a host port that a daemon to come needs",
    applies: ({ scenario, pod, theirs, oursPlaces }) =>
      theirs.existing[keyOf(pod)] !== undefined &&
      of(scenario, "DaemonSet").some(({ spec }) => portsCollide([spec.template, pod])) &&
      oursPlaces(withoutDaemonPorts(scenario)),
  },
  {
    // Which of equal pods comes first is drawn by UID.
    name: "as many pods like it find a place",
    applies: (one) => {
      const count = placed(one, kindOf(one));
      return count.ours >= count.theirs;
    },
  },
  {
    // As many find a place, others do: which of equal pods comes first is drawn by UID.
    name: "limits leave room for so many; upstream gives it to others",
    applies: (one) => {
      const count = placed(one, podsOf(one));
      const isByLimits = one.reason.includes("limits") && count.ours >= count.theirs;
      return isByLimits && one.oursPlaces(withoutLimits(one.scenario, "everything"));
    },
  },
  {
    // Groups that differ in minDomains share one count; one made when a preference is given up, or by
    // matchLabelKeys each time a pod is looked at, starts from nothing.
    name: "upstream's counts forget pods: its own rule would not allow the spread",
    applies: (one) => {
      const kin = kindOf(one);
      const ahead = kin.filter((pod) => isAhead(pod, one.theirFacts)).length;
      if (ahead === 0) return false;
      const scenario = withoutSpreadOf(asTheyLimitIt(one), one.pod);
      if (one.oursPlaces(scenario)) return true;
      // As many of its kind as upstream's own rule would allow: which of them comes first is drawn by UID.
      const names = new Set(kin.map(keyOf));
      const left = one.oursFor(scenario).unschedulable.filter(({ pod }) => names.has(pod)).length;
      return kin.length - left >= placed(one, kin).theirs - ahead;
    },
  },
  {
    // Larger pods come first, and some of them only ours has a place for.
    name: "the room goes to pods that upstream leaves: without them ours places it",
    applies: (one) => one.oursPlaces(withoutPods(one.scenario, leftByThem(one))),
  },
  {
    // Upstream does not read them.
    name: "label keys of affinity terms: without them ours places it",
    applies: (one) => podsOf(one).some(byKeys) && one.oursPlaces(withoutLabelKeys(one.scenario)),
  },
  {
    // Pods that are equally large come in the order of their UIDs.
    name: "by other UIDs ours places it, and upstream leaves it",
    applies: (one) => {
      const { drawings, ours, theirs } = one.byOtherLots();
      return ours > 0 && theirs < drawings;
    },
  },
  {
    // One of its plans is by upstream's rules to the letter.
    name: "the planner places it",
    applies: (one) => one.oursByPlanner(),
  },
  {
    // Pods that keep apart leave a planned node all its zones there, a large machine among them, and others get none.
    name: "upstream's rules to the letter place it, and fewer pods in all than ours",
    applies: (one) => {
      const letter = one.oursToTheLetter();
      if (letter === undefined) return false;
      const isLeft = letter.unschedulable.some(({ pod }) => pod === keyOf(one.pod));
      return !isLeft && letter.unschedulable.length > one.ours.unschedulable.length;
    },
  },
  {
    // Between zones that are as empty ours takes the cheapest, whose machines may be small; upstream draws lots.
    name: "ours spends a limit of nodes on the cheapest zone: without the limit ours places it",
    applies: (one) =>
      one.reason.includes("node limits") && one.oursPlaces(withoutLimits(one.scenario, "nodes")),
  },
  {
    name: "by other lots upstream leaves it too, and no fewer pods in all than ours",
    applies: (one) => isLeftBySomeRun(one, one.scenario),
  },
  {
    // Upstream opens nodes for them, and the room elsewhere goes to others.
    name: "by other lots upstream leaves it too, without pods that ours leaves and the scheduler some of their kind",
    applies: (one) => {
      const wrong = rightlyLeft(one);
      return wrong.size > 0 && isLeftBySomeRun(one, withoutPods(one.scenario, wrong));
    },
  },
  {
    // Upstream counts pods on a planned node by its requirements alone; ours knows that its types leave one domain.
    name: "it is the first of its kind only if it comes before those that are elsewhere: without them ours places it",
    applies: (one) => {
      const elsewhere = new Set(elsewhereOf(one.pod, one.theirFacts).map(keyOf));
      return elsewhere.size > 0 && one.oursPlaces(withoutPods(asTheyLimitIt(one), elsewhere));
    },
  },
  {
    // They keep others off nodes though they never come: upstream's rule for pods that are kept off does not
    // know domains that only nodes have.
    name: "upstream leaves it too, in every run, where pods that find no place are not there",
    applies: (one) => {
      const placeless = placelessBesides(one);
      if (placeless.size === 0) return false;
      const runs = one.theirRuns(withoutPods(one.scenario, placeless));
      return runs.every(({ unschedulable }) => keyOf(one.pod) in unschedulable);
    },
  },
  {
    // They take room that others would have had.
    name: "upstream leaves it too, in every run, where pods that its own rule would not allow are not there",
    applies: (one) => {
      const ahead = aheadOfTheirRule(one);
      if (ahead.size === 0) return false;
      const runs = one.theirRuns(withoutPods(one.scenario, ahead));
      return runs.every(({ unschedulable }) => keyOf(one.pod) in unschedulable);
    },
  },
  {
    // It must be near others whose planned node may still come up elsewhere: ours waits until it is there.
    name: "ours places it in the next pass, when it is known where the nodes of this one are",
    // What nodes take of a limit is not told there.
    applies: (one) => !one.reason.includes("limits") && one.oursLater(),
  },
  {
    // Upstream gives up wishes that ours meets, and the room that is left is another.
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
    // What a limit has room for depends on who comes first, and no greed finds the most.
    name: "limits leave room for fewer by ours: without them it places the pod",
    applies: (one) =>
      one.reason.includes("limits") && one.oursPlaces(withoutLimits(one.scenario, "everything")),
  },
];

export function classify(one: Difference): string | undefined {
  return CLASSES.find(({ applies }) => applies(one))?.name;
}
