/**
 * A planned machine as it would be once its node is ready: of the cheapest type that was asked for, registered
 * and initialized, with its pods on it. Nothing is supposed to go wrong.
 */
import type { Node } from "../../apis/core/node.ts";
import type { Pod } from "../../apis/core/pod.ts";
import { toClaim } from "../../apis/hub/claim.ts";
import { vocabulary } from "../../apis/hub/generation.ts";
import { withCondition } from "../../apis/karpenter/conditions.ts";
import {
  CAPACITY_TYPE_LABEL_KEY,
  HOSTNAME_LABEL_KEY,
  INSTANCE_TYPE_LABEL_KEY,
  NODE_INITIALIZED_LABEL_KEY,
  NODE_REGISTERED_LABEL_KEY,
  REPLACEMENT_ANNOTATION_KEY,
  TOPOLOGY_ZONE_LABEL_KEY,
} from "../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { formatResources, subtractResources } from "../../apis/resources.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { claimManifest } from "../provisioning/manifest.ts";
import type { PlannedClaim } from "../provisioning/result.ts";
import { type NodeView, nodeView } from "../state/node-view.ts";

/** What comes of a plan. */
interface Launch {
  readonly plan: PlannedClaim;
  /** Of the claim and of its node. */
  readonly name: string;
  readonly pods: readonly Pod[];
  /** Id of the disruption command that it is made for. */
  readonly command: string | undefined;
  readonly nowMs: number;
}

export function launched(launch: Launch): NodeView {
  const claim = claimOf(launch);
  return nodeView({
    claim,
    node: nodeOf(launch, claim),
    pods: launch.pods,
    marked: false,
    nominatedUntilMs: 0,
  });
}

function claimOf({ plan, name, pods, command, nowMs }: Launch): NodeClaim {
  const at = toRfc3339(nowMs);
  const made = toClaim(claimManifest(plan, "new"));
  const { generateName: _, ...metadata } = made.metadata;
  const annotations =
    command === undefined
      ? metadata.annotations
      : { ...metadata.annotations, [REPLACEMENT_ANNOTATION_KEY]: command };
  const claim: NodeClaim = {
    ...made,
    metadata: {
      ...metadata,
      name,
      uid: name,
      creationTimestamp: at,
      labels: { ...typeLabels(plan), ...metadata.labels, ...offeringLabels(plan) },
      ...(annotations === undefined ? {} : { annotations }),
    },
    status: {
      ...amountsOf(plan),
      providerID: `model://${name}`,
      nodeName: name,
      ...(pods.length === 0 ? {} : { lastPodEventTime: at }),
    },
  };
  return ["Launched", "Registered", "Initialized"].reduce(
    (one, type) => withCondition(one, { type, status: "True" }, nowMs),
    claim,
  );
}

function nodeOf({ plan, name, nowMs }: Launch, claim: NodeClaim): Node {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name,
      uid: `node-${name}`,
      creationTimestamp: toRfc3339(nowMs),
      labels: {
        ...claim.metadata.labels,
        [vocabulary(plan.pool.generation).ownerLabel]: plan.pool.name,
        [HOSTNAME_LABEL_KEY]: name,
        [NODE_REGISTERED_LABEL_KEY]: "true",
        [NODE_INITIALIZED_LABEL_KEY]: "true",
      },
    },
    spec: {
      providerID: `model://${name}`,
      ...(plan.pool.taints.length > 0 ? { taints: plan.pool.taints } : {}),
    },
    status: { ...amountsOf(plan), conditions: [{ type: "Ready", status: "True" }] },
  };
}

function typeOf({ instanceTypes, cheapest }: PlannedClaim) {
  return instanceTypes.find(({ name }) => name === cheapest.instanceType);
}

/** What every machine of the type has in common: labels that leave no choice. */
function typeLabels(plan: PlannedClaim): Readonly<Record<string, string>> {
  const labels = Object.entries(typeOf(plan)?.labels ?? {});
  return Object.fromEntries(
    labels.flatMap(([key, values]) =>
      values.length === 1 ? [[key, values[0] as string] as const] : [],
    ),
  );
}

function offeringLabels({ cheapest }: PlannedClaim): Readonly<Record<string, string>> {
  return {
    [INSTANCE_TYPE_LABEL_KEY]: cheapest.instanceType,
    [TOPOLOGY_ZONE_LABEL_KEY]: cheapest.zone,
    [CAPACITY_TYPE_LABEL_KEY]: cheapest.capacityType,
  };
}

function amountsOf(plan: PlannedClaim) {
  const { capacity = {}, overhead = {} } = typeOf(plan) ?? {};
  return {
    capacity: formatResources(capacity),
    allocatable: formatResources(subtractResources(capacity, overhead)),
  };
}
