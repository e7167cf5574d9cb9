/**
 * Why a plan of ours may cost more than upstream's where both place every pod: each class with its
 * reason, and how it proves itself. The list is docs/reference/placement-differences.md in prose.
 */
import { isAhead } from "../validator/neighbours.ts";
import type { Facts, Scenario } from "../validator/validate.ts";
import { beyondLimits } from "./differences.ts";
import { withoutLabelKeys, withoutWishes } from "./other-scenarios.ts";
import type { Outcome } from "./upstream.ts";

export interface Dearer {
  readonly scenario: Scenario;
  readonly theirs: Outcome;
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
];

export function classifyDearer(one: Dearer): string | undefined {
  return CLASSES.find(({ applies }) => applies(one))?.name;
}
