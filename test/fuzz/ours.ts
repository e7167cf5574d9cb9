/** Our plan for a scenario, in the form that `karpenter plan` prints. */
import type { DaemonSet } from "../../src/apis/apps/kinds.ts";
import type { Namespace } from "../../src/apis/core/kinds.ts";
import type { Node } from "../../src/apis/core/node.ts";
import type { Pod } from "../../src/apis/core/pod.ts";
import { toPool } from "../../src/apis/hub/to-pool.ts";
import type { NodePool } from "../../src/apis/karpenter/nodepool.ts";
import { atOnce } from "../../src/base/steps.ts";
import { parseInstanceTypes } from "../../src/cli/plan/instance-type-file.ts";
import { type Plan, planOf } from "../../src/cli/plan/plan.ts";
import { planBatch } from "../../src/core/planner/plan-batch.ts";
import type { PlannerOptions } from "../../src/core/planner/planner-options.ts";
import type { SchedulingResult } from "../../src/core/provisioning/result.ts";
import type { SchedulingInput } from "../../src/core/provisioning/scheduling-input.ts";
import { planAsUpstream, prepare, wholePlan } from "../../src/core/provisioning/solve.ts";
import { createClusterState } from "../../src/core/state/create-cluster-state.ts";
import type { Scenario } from "../validator/validate.ts";

/** The engine's input for a scenario. */
export function inputOf({ manifests, instanceTypes: written }: Scenario): SchedulingInput {
  const of = <T>(kind: string) => manifests.filter((one) => one.kind === kind) as T[];
  const { instanceTypes, wellKnownLabels } = parseInstanceTypes(
    "types.json",
    JSON.stringify(written),
  );
  const cluster = createClusterState();
  for (const node of of<Node>("Node")) cluster.updateNode(node);
  for (const daemonSet of of<DaemonSet>("DaemonSet")) cluster.updateDaemonSet(daemonSet);
  for (const pod of of<Pod>("Pod")) cluster.updatePod(pod);
  return {
    nowMs: 0,
    pods: cluster.unboundPods(),
    pools: of<NodePool>("NodePool").map((native) => ({
      pool: toPool(native),
      instanceTypes,
      usage: {},
    })),
    nodes: cluster.nodes(),
    daemonPods: cluster.daemonPods(),
    namespaces: of<Namespace>("Namespace").map((one) => {
      const { name, labels } = one.metadata;
      const own = { "kubernetes.io/metadata.name": name, ...labels };
      return { ...one, metadata: { ...one.metadata, labels: own } };
    }),
    volumes: {
      claims: of("PersistentVolumeClaim"),
      volumes: of("PersistentVolume"),
      classes: of("StorageClass"),
      csiNodes: of("CSINode"),
    },
    options: {
      preferencePolicy: "Respect",
      minValuesPolicy: "Strict",
      maxInstanceTypes: 600,
      wellKnownLabels,
    },
  };
}

export function planned(scenario: Scenario, options: PlannerOptions): Plan {
  const input = inputOf(scenario);
  return asRead(planBatch(input, options), input);
}

/**
 * The plan with only the rules of upstream's code (the plan source "upstream-exact greedy"). Undefined: that source
 * does not apply.
 */
export function plannedToTheLetter(scenario: Scenario): Plan | undefined {
  const input = inputOf(scenario);
  const batch = atOnce(prepare(input));
  const result = atOnce(planAsUpstream(batch));
  return result === undefined ? undefined : asRead(atOnce(wholePlan(batch, result)), input);
}

/** The plan after a round trip through JSON, as a reader of the output gets it. */
function asRead(result: SchedulingResult, { pods }: SchedulingInput): Plan {
  const plan = planOf(result, pods.length, { parseMs: 0, solveMs: 0 });
  return JSON.parse(JSON.stringify(plan)) as Plan;
}
