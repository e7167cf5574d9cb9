/**
 * Why upstream may place a pod that ours leaves: each class with its reason, and how it is told. The
 * list is docs/reference/placement-differences.md in prose.
 */
import type { Plan } from "../../src/cli/plan/plan.ts";
import { hostPortsOf, type Json, wantsNode } from "../validator/kubernetes.ts";
import { outcomesOf } from "../validator/places.ts";
import { keyOf, type Scenario } from "../validator/validate.ts";
import type { Outcome } from "./upstream.ts";

export interface Difference {
  readonly scenario: Scenario;
  readonly pod: Json;
  /** Why ours left it. */
  readonly reason: string;
  readonly theirs: Outcome;
  readonly ours: Plan;
}

interface DifferenceClass {
  readonly name: string;
  readonly applies: (one: Difference) => boolean;
}

const of = ({ manifests }: Scenario, kind: string) => manifests.filter((one) => one.kind === kind);

const claimOf = ({ theirs, pod }: Difference) =>
  (theirs.newNodeClaims ?? []).find(({ pods }) => pods.includes(keyOf(pod)));

const termsOf = ({ spec }: Json): readonly Json[] =>
  [spec.affinity?.podAffinity, spec.affinity?.podAntiAffinity].flatMap((one) => [
    ...(one?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(one?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(
      ({ podAffinityTerm }: Json) => podAffinityTerm,
    ),
  ]);

const CLASSES: readonly DifferenceClass[] = [
  {
    // Ours counts the nodes that the batch opens.
    name: "upstream opens more nodes than the NodePool's limit of nodes",
    applies: ({ scenario, theirs, reason }) =>
      reason.includes("limit") &&
      of(scenario, "NodePool").some(({ metadata, spec }) => {
        if (spec.limits?.nodes === undefined) return false;
        const opened = (theirs.newNodeClaims ?? []).filter(
          ({ nodePool }) => nodePool === metadata.name,
        );
        return opened.length > Number(spec.limits.nodes);
      }),
  },
  {
    // The kubelet's node would not have the label: the pod would stay pending.
    name: "upstream's node cannot have a label that the pod requires",
    applies: (one) => {
      const claim = claimOf(one);
      const pool = of(one.scenario, "NodePool").find(
        ({ metadata }) => metadata.name === claim?.nodePool,
      );
      if (pool === undefined) return false;
      const outcomes = outcomesOf(pool, [], one.scenario.instanceTypes);
      return !outcomes.some(({ labels }) => wantsNode(one.pod.spec, labels));
    },
  },
  {
    // Kubernetes 1.31 has them, upstream's topology does not read them.
    name: "upstream passes over matchLabelKeys and mismatchLabelKeys of affinity terms",
    applies: ({ scenario }) =>
      of(scenario, "Pod").some((pod) =>
        termsOf(pod).some(
          (term) => term.matchLabelKeys !== undefined || term.mismatchLabelKeys !== undefined,
        ),
      ),
  },
  {
    // A daemon that has not started yet will need the port.
    name: "upstream gives away a host port that a daemon to come needs",
    applies: ({ scenario, pod, theirs }) =>
      theirs.existing[keyOf(pod)] !== undefined &&
      of(scenario, "DaemonSet").some(({ spec }) =>
        hostPortsOf(spec.template).some(({ port }) =>
          hostPortsOf(pod).some((own) => own.port === port),
        ),
      ),
  },
  {
    // As many find a place, others do: which of equal pods comes first is drawn by UID.
    name: "limits leave room for so many; upstream gives it to others",
    applies: ({ reason, ours, theirs, scenario }) => {
      const pods = of(scenario, "Pod").filter(({ spec }) => !spec.nodeName).length;
      const placed =
        Object.keys(theirs.existing).length +
        (theirs.newNodeClaims ?? []).reduce((sum, claim) => sum + claim.pods.length, 0);
      return reason.includes("limits") && pods - ours.unschedulable.length >= placed;
    },
  },
];

export function classify(one: Difference): string | undefined {
  return CLASSES.find(({ applies }) => applies(one))?.name;
}
