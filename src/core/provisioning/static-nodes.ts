/**
 * Plans the nodes of a static NodePool: a fixed number of nodes, spread over the zones that the pool allows. Each node
 * is planned for one placeholder pod. Upstream creates claims without zones, and the cloud chooses the zones.
 */
import type { Pod } from "../../apis/core/pod.ts";
import { HOSTNAME_LABEL_KEY, TOPOLOGY_ZONE_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import { NO_RESOURCES, subtractResources } from "../../apis/resources.ts";
import { filterInSteps, mapInSteps, type Steps } from "../../base/steps.ts";
import type { NodeView } from "../state/node-view.ts";
import { withinQuotas } from "./nodes/within-quotas.ts";
import type { PlannedClaim } from "./result.ts";
import type { PoolInput, SchedulingInput } from "./scheduling-input.ts";
import { planOf, prepare } from "./solve.ts";

const NAMESPACE = "static-capacity";
const LABELS = { "karpenter.sh/static-capacity": "placeholder" };
const SELECTOR = { matchLabels: LABELS };

/** New nodes of a static pool. */
export interface StaticNodes {
  readonly newClaims: readonly PlannedClaim[];
  /** Why fewer nodes are planned than were asked for. Absent: all of them are planned. */
  readonly lacks?: string;
}

/**
 * Plans at most `count` nodes; fewer if limits, quotas or instance types do not allow them. `instead`: names of nodes
 * that the new nodes will replace, which do not count in their zone.
 */
export function* planStaticNodes(
  input: SchedulingInput,
  pool: PoolInput,
  count: number,
  instead: readonly string[] = [],
): Steps<StaticNodes> {
  const going = new Set(instead);
  const own = yield* filterInSteps(
    input.nodes,
    ({ poolId, deleting, name }) => poolId === pool.pool.id && !deleting && !going.has(name),
  );
  const taken = (node: NodeView, index: number) => ({
    ...node,
    pods: [placeholder(index, node.name)],
  });
  const batch = yield* prepare({
    ...input,
    pods: Array.from({ length: count }, (_, index) => placeholder(index)),
    pools: [pool],
    nodes: yield* mapInSteps(own, taken),
    options: { ...input.options, preferencePolicy: "Respect", reservedCapacity: "fallback" },
  });
  const { newClaims, unschedulable } = yield* withinQuotas(yield* planOf(batch), input.quotaRoom);
  const [left] = unschedulable;
  return {
    newClaims: newClaims.map((plan) => ({
      ...plan,
      pods: [],
      requests: subtractResources(plan.requests, { ...NO_RESOURCES, pods: 1 }),
    })),
    ...(left === undefined ? {} : { lacks: left.message }),
  };
}

/**
 * A pod that tolerates every taint, excludes other placeholders from its host, and prefers the zone with the fewest.
 */
function placeholder(index: number, nodeName?: string): Pod {
  const name = `${nodeName === undefined ? "new" : "there"}-${String(index).padStart(6, "0")}`;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: NAMESPACE, uid: name, labels: LABELS },
    spec: {
      containers: [{ name: "placeholder" }],
      tolerations: [{ operator: "Exists" }],
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { topologyKey: HOSTNAME_LABEL_KEY, labelSelector: SELECTOR },
          ],
        },
      },
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: TOPOLOGY_ZONE_LABEL_KEY,
          whenUnsatisfiable: "ScheduleAnyway",
          labelSelector: SELECTOR,
        },
      ],
      ...(nodeName === undefined ? {} : { nodeName }),
    },
    ...(nodeName === undefined ? {} : { status: { phase: "Running" } }),
  };
}
