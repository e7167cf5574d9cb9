/**
 * Why our plan may cost more than upstream's although both place every pod. Each class has a reason and a test that
 * proves it. docs/reference/placement-differences.md has the list in prose.
 */
import type { Plan } from "../../src/cli/plan/plan.ts";
import type { Json } from "../validator/kubernetes.ts";
import { isAhead } from "../validator/neighbours.ts";
import type { Facts, Scenario } from "../validator/validate.ts";
import { beyondLimits } from "./differences.ts";
import { withoutLabelKeys, withoutPools, withoutWishes } from "./other-scenarios.ts";
import type { Outcome } from "./upstream.ts";

export interface Dearer {
  readonly scenario: Scenario;
  readonly theirs: Outcome;
  readonly ours: Plan;
  /** Pods that kube-scheduler refuses on their node of upstream's plan. */
  readonly refused: ReadonlySet<string>;
  /** The places of all pods in upstream's plan. */
  readonly theirFacts: Facts;
  /** Price of our plan for this or another scenario. Infinite if a pod is not placed. */
  readonly ourPrice: (scenario: Scenario) => number;
  /** Median price of upstream's plans in several runs, also infinite if a pod is not placed. */
  readonly theirPrice: (scenario: Scenario) => number;
}

interface DearerClass {
  readonly name: string;
  readonly applies: (one: Dearer) => boolean;
}

const CLASSES: readonly DearerClass[] = [
  {
    name: "upstream opens more nodes than the NodePool's limit of nodes",
    applies: (one) => beyondLimits(one).size > 0,
  },
  {
    // Upstream would need one more node for this pod.
    name: "the scheduler refuses a pod of upstream's plan",
    applies: ({ refused }) => refused.size > 0,
  },
  {
    name: "upstream's counts forget pods: its own rule would not allow the spread",
    applies: ({ theirFacts }) =>
      [...theirFacts.pods.values()].some((pod) => isAhead(pod, theirFacts)),
  },
  {
    // Upstream orders equal domains randomly in each run. A run may be cheap only by chance.
    name: "upstream's lots fell well: ours costs no more than its median",
    applies: (one) => one.ourPrice(one.scenario) <= one.theirPrice(one.scenario),
  },
  {
    // Upstream ignores matchLabelKeys and mismatchLabelKeys. So it separates pods, or keeps them together, where that
    // is not required.
    name: "label keys of affinity terms: without them ours costs no more",
    applies: (one) => {
      const plain = withoutLabelKeys(one.scenario);
      return one.ourPrice(plain) <= one.theirPrice(plain);
    },
  },
  {
    // Upstream drops some preferences, although they can be met. karpenter-ts meets them at a higher price.
    name: "wishes that ours meets: with none ours costs no more than upstream's does with them",
    applies: (one) => one.ourPrice(withoutWishes(one.scenario)) <= one.theirPrice(one.scenario),
  },
  {
    // If a pod's zone does not fit a NodePool, upstream continues with a NodePool of lower weight. karpenter-ts
    // first tries the next zone, so NodePools of higher weight get more pods.
    name: "heavier NodePools get more of ours: without them ours costs no more than upstream's median",
    applies: (one) => {
      const heavier = heavierPools(one);
      const pods = (plan: Plan | Outcome) =>
        (plan.newNodeClaims ?? []).reduce(
          (sum, claim) => sum + (heavier.has(claim.nodePool) ? claim.pods.length : 0),
          0,
        );
      if (pods(one.ours) <= pods(one.theirs)) return false;
      const less = withoutPools(one.scenario, heavier);
      return one.ourPrice(less) <= one.theirPrice(less);
    },
  },
];

/** NodePools with a higher weight than the lightest one that upstream's plan uses. */
function heavierPools({ scenario, theirs }: Dearer): ReadonlySet<string> {
  const pools = scenario.manifests.filter(({ kind }) => kind === "NodePool");
  const used = new Set((theirs.newNodeClaims ?? []).map(({ nodePool }) => nodePool));
  const weightOf = ({ spec }: Json): number => spec.weight ?? 0;
  const least = Math.min(...pools.filter(({ metadata }) => used.has(metadata.name)).map(weightOf));
  const heavier = pools.filter((one) => weightOf(one) > least);
  return new Set(heavier.map(({ metadata }) => metadata.name));
}

export function classifyDearer(one: Dearer): string | undefined {
  return CLASSES.find(({ applies }) => applies(one))?.name;
}
