/**
 * Makes the node that a planned claim gets in a simulation. It has the cheapest instance type of the plan, is
 * registered and initialized, and runs its pods. Also makes the node before that, while the claim is launched but has
 * no Node yet. Launches never fail here.
 */
import type { Node } from "../../apis/core/node.ts";
import type { Pod } from "../../apis/core/pod.ts";
import { toClaim } from "../../apis/hub/claim.ts";
import { vocabulary } from "../../apis/hub/generation.ts";
import { withCondition } from "../../apis/karpenter/conditions.ts";
import {
  HOSTNAME_LABEL_KEY,
  NODE_INITIALIZED_LABEL_KEY,
  NODE_REGISTERED_LABEL_KEY,
  REPLACEMENT_ANNOTATION_KEY,
} from "../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { formatResources, subtractResources } from "../../apis/resources.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { claimManifest } from "../provisioning/manifest.ts";
import { cheapestOfferingOf, supposedLabels } from "../provisioning/nodes/unlaunched.ts";
import type { PlannedClaim } from "../provisioning/result.ts";
import { type NodeView, nodeView } from "../state/node-view.ts";

/** A planned claim that is launched in a simulation. */
interface Launch {
  readonly plan: PlannedClaim;
  /** The name of the claim and of its node. */
  readonly name: string;
  readonly pods: readonly Pod[];
  /** The id of the disruption command that launched the node as a replacement. */
  readonly command: string | undefined;
  readonly nowMs: number;
}

/** No label may be missing, because a launched claim has a value for each label. */
const NOTHING_OPEN: ReadonlySet<string> = new Set();

/** The view of the initialized node with its pods. */
export function launched(launch: Launch): NodeView {
  const claim = claimOf(launch, ["Launched", "Registered", "Initialized"]);
  return nodeView({
    claim,
    node: nodeOf(launch, claim),
    pods: launch.pods,
    marked: false,
    nominatedUntilMs: 0,
  });
}

/** The view of the launched claim without a Node. Its instance type is known, and no pod runs on it yet. */
export function inFlight({ plan, name, nowMs }: Pick<Launch, "plan" | "name" | "nowMs">): NodeView {
  const claim = claimOf({ plan, name, pods: [], command: undefined, nowMs }, ["Launched"]);
  return nodeView({ claim, node: undefined, pods: [], marked: false, nominatedUntilMs: 0 });
}

function claimOf(
  { plan, name, pods, command, nowMs }: Launch,
  conditions: readonly string[],
): NodeClaim {
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
      labels: { ...metadata.labels, ...supposedLabels(plan, NOTHING_OPEN) },
      ...(annotations === undefined ? {} : { annotations }),
    },
    status: {
      ...amountsOf(plan),
      providerID: `model://${name}`,
      ...(conditions.includes("Registered") ? { nodeName: name } : {}),
      ...(pods.length === 0 ? {} : { lastPodEventTime: at }),
    },
  };
  return conditions.reduce(
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

function amountsOf(plan: PlannedClaim) {
  const type = typeOf(plan);
  const offering = cheapestOfferingOf(plan);
  const capacity = { ...type?.capacity, ...offering?.capacityOverride };
  const overhead = { ...type?.overhead, ...offering?.overheadOverride };
  return {
    capacity: formatResources(capacity),
    allocatable: formatResources(subtractResources(capacity, overhead)),
  };
}
