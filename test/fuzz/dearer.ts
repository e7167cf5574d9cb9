/**
 * Why a plan of ours may cost more than upstream's where both place every pod: each class with its
 * reason, and how it proves itself. The list is docs/reference/placement-differences.md in prose.
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
  /** Pods that the scheduler would not let go where upstream's plan has them. */
  readonly refused: ReadonlySet<string>;
  /** Where upstream's plan has everybody. */
  readonly theirFacts: Facts;
  /** What ours costs, of this scenario or another; infinite when a pod is left. */
  readonly ourPrice: (scenario: Scenario) => number;
  /** The median of what upstream's plans cost in several runs, as `ourPrice`. */
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
    // A node would be missing for it.
    name: "the scheduler refuses a pod of upstream's plan",
    applies: ({ refused }) => refused.size > 0,
  },
  {
    name: "upstream's counts forget pods: its own rule would not allow the spread",
    applies: ({ theirFacts }) =>
      [...theirFacts.pods.values()].some((pod) => isAhead(pod, theirFacts)),
  },
  {
    // Which of equal domains comes first is drawn anew in each run.
    name: "upstream's lots fell well: ours costs no more than its median",
    applies: (one) => one.ourPrice(one.scenario) <= one.theirPrice(one.scenario),
  },
  {
    // Upstream does not read them, and keeps pods apart, or together, who need not be.
    name: "label keys of affinity terms: without them ours costs no more",
    applies: (one) => {
      const plain = withoutLabelKeys(one.scenario);
      return one.ourPrice(plain) <= one.theirPrice(plain);
    },
  },
  {
    // Upstream gives up wishes that can be met.
    name: "wishes that ours meets: with none ours costs no more than upstream's does with them",
    applies: (one) => one.ourPrice(withoutWishes(one.scenario)) <= one.theirPrice(one.scenario),
  },
  {
    // Upstream goes on to a lighter one when the zone that it drew will not do; ours tries the next zone first.
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

/** NodePools that come before one that upstream's plan has a node of. */
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
