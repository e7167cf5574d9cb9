/** A node that joined a fake world long ago: its claim, its instance and its Node. */
import { NODE } from "../apis/core/node.ts";
import { NODE_CLAIM, type NodeClaim } from "../apis/karpenter/nodeclaim.ts";
import { toRfc3339 } from "../base/clock.ts";
import { node } from "./builders.ts";
import type { FakeWorld } from "./fake-world.ts";

/** The node class reference in the NodePool of such nodes. */
export const FAKE_CLASS_REF = {
  group: "karpenter.test.sh",
  kind: "TestNodeClass",
  name: "default",
} as const;

const JOINED = { "karpenter.sh/registered": "true", "karpenter.sh/initialized": "true" };

/**
 * Creates the node. Its instance is `test://<name>`, its NodePool is `default`. `ageMs` is the age of its conditions.
 */
export async function establish(world: FakeWorld, name: string, ageMs: number): Promise<void> {
  const at = toRfc3339(world.clock.now() - ageMs);
  const conditions = ["Launched", "Registered", "Initialized", "Ready"].map((type) => ({
    type,
    status: "True" as const,
    reason: type,
    lastTransitionTime: at,
  }));
  const labels = {
    "karpenter.sh/nodepool": "default",
    "karpenter.test.sh/testnodeclass": "default",
    "node.kubernetes.io/instance-type": "c-4x",
    "karpenter.sh/capacity-type": "on-demand",
    "topology.kubernetes.io/zone": "zone-a",
  };
  const finalizers = ["karpenter.sh/termination"];
  const claim: NodeClaim = {
    metadata: { name, labels, creationTimestamp: at, finalizers },
    spec: { requirements: [], nodeClassRef: FAKE_CLASS_REF, expireAfter: "720h" },
    status: { providerID: `test://${name}`, nodeName: name, conditions },
  };
  world.cloud.instances.set(`test://${name}`, await world.api.create(NODE_CLAIM, claim));
  const made = node({ name, labels: { ...labels, ...JOINED } });
  await world.api.create(NODE, { ...made, metadata: { ...made.metadata, finalizers } });
}
