/**
 * Why a plan of ours may cost more than upstream's where both place every pod: each class with its
 * reason, and how it proves itself. The list is docs/reference/placement-differences.md in prose.
 */
import type { Json } from "../validator/kubernetes.ts";
import { isAhead } from "../validator/neighbours.ts";
import type { Facts, Scenario } from "../validator/validate.ts";
import { beyondLimits } from "./differences.ts";
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
    applies: (one) => one.ourPrice(withoutIn(one.scenario, WISHES)) <= one.theirPrice(one.scenario),
  },
];

export function classifyDearer(one: Dearer): string | undefined {
  return CLASSES.find(({ applies }) => applies(one))?.name;
}

const LABEL_KEYS = (terms: Json): Json => {
  const { matchLabelKeys, mismatchLabelKeys, ...term } = terms;
  // Of a spread upstream reads them.
  return terms.whenUnsatisfiable === undefined ? term : terms;
};

const WISHES = ({ preferredDuringSchedulingIgnoredDuringExecution, ...spec }: Json): Json => {
  const { topologySpreadConstraints: spreads } = spec;
  if (spreads === undefined) return spec;
  const strict = spreads.filter((one: Json) => one.whenUnsatisfiable !== "ScheduleAnyway");
  return { ...spec, topologySpreadConstraints: strict };
};

/** The scenario with affinity terms as upstream reads them. */
export function withoutLabelKeys(scenario: Scenario): Scenario {
  return withoutIn(scenario, LABEL_KEYS);
}

/** The scenario with each object within its pods as `change` makes it. */
function withoutIn(scenario: Scenario, change: (part: Json) => Json): Scenario {
  const changed = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(changed);
    if (typeof value !== "object" || value === null) return value;
    const parts = Object.entries(change(value)).map(([key, part]) => [key, changed(part)]);
    return Object.fromEntries(parts);
  };
  const manifests = scenario.manifests.map((one) => (one.kind === "Pod" ? changed(one) : one));
  return { ...scenario, manifests };
}
