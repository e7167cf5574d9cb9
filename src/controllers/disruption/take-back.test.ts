// A command that is taken back while its process dies: the next one opens all of its nodes, or deletes all of its claims.
import { describe, expect, it } from "vitest";
import { NODE } from "../../apis/core/node.ts";
import { POD } from "../../apis/core/pod.ts";
import { NODE_CLAIM, type NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { NODE_POOL } from "../../apis/karpenter/nodepool.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { withRecord } from "../../core/disruption/record.ts";
import { node, nodePool, pod } from "../../testing/builders.ts";
import { FAKE_NODE_CLASS } from "../../testing/fake-cloud.ts";
import { type FakeWorld, fakeWorld } from "../../testing/fake-world.ts";
import { stateDaemonSet } from "../state/daemonsets.ts";
import { stateNodeClaim } from "../state/nodeclaims.ts";
import { stateNode } from "../state/nodes.ts";
import { statePod } from "../state/pods.ts";
import { createCommandQueue } from "./command-queue.ts";
import { disruption } from "./controller.ts";
import { createSteering } from "./steering.ts";

const nodeClassRef = { group: "karpenter.test.sh", kind: "TestNodeClass", name: "default" };
const CLOSED = { key: "karpenter.sh/disrupted", effect: "NoSchedule" } as const;
const WRITES = ["create", "update", "updateStatus", "patch", "delete", "evict", "bind"] as const;

describe("a command that is taken back", () => {
  it("leaves no node open whose claim goes, whichever write its process dies at", async () => {
    const whole = await killedAt(Number.POSITIVE_INFINITY, "nothing");
    expect(whole.openAtOnce).toEqual(["a", "b"]);
    const left: string[] = [];
    for (const slow of ["nothing", "a", "b"])
      for (let at = 0; at <= whole.writes; at++) {
        const { openAtOnce, open, deleted } = await killedAt(at, slow);
        left.push(openAtOnce.join());
        const told = { at, slow, openAtOnce, open, deleted };
        // Where one was open already, pods may have come to it.
        if (openAtOnce.length > 0) expect(told).toMatchObject({ open: ["a", "b"], deleted: [] });
        else expect([[], ["a", "b"]], JSON.stringify(told)).toContainEqual(deleted);
      }
    expect(new Set(left)).toEqual(new Set(["", "a", "b", "a,b"]));
  });
});

/**
 * What a process leaves that dies after so many writes, and what the next one, under which the replacement is ready at
 * last, makes of it. `slow`: what is written to the object of that name does not arrive in time.
 */
async function killedAt(most: number, slow: string) {
  const first = fakeWorld();
  await halfAnHourLate(first);
  let writes = 0;
  for (const verb of WRITES) {
    const write = first.kube[verb] as (...asked: unknown[]) => Promise<unknown>;
    const counted = (kind: unknown, ref: { readonly name?: string }, ...more: unknown[]) => {
      if (ref.name === slow || writes >= most) return new Promise(() => undefined);
      writes++;
      return write.apply(first.kube, [kind, ref, ...more]);
    };
    Object.assign(first.kube, { [verb]: counted });
  }
  await first.run(...controllers(first));
  await first.clock.advance(5_000);
  void first.stop();
  const openAtOnce = openNodes(first);
  const next = fakeWorld({}, first);
  first.api.change(NODE, "r", { metadata: { labels: READY } });
  const { status } = first.api.find(NODE_CLAIM, "r") as NodeClaim;
  const conditions = [...(status?.conditions ?? []), said("Initialized")];
  first.api.change(NODE_CLAIM, "r", { status: { conditions } });
  await next.run(...controllers(next));
  await next.clock.advance(60_000);
  await next.stop();
  const claims = next.api.all(NODE_CLAIM).filter(({ metadata }) => metadata.deletionTimestamp);
  const deleted = claims.map(({ metadata }) => metadata.name);
  return { writes, openAtOnce, open: openNodes(next), deleted };
}

/** Those that have a say in it. Nothing new is asked for. */
function controllers(world: FakeWorld) {
  const steering = createSteering(world);
  const queue = createCommandQueue(world, async () => [], steering);
  const states = [stateNode(world), stateNodeClaim(world), stateDaemonSet(world), statePod(world)];
  return [...states, steering.controller, queue.controller, disruption(world, queue)];
}

const openNodes = (world: FakeWorld) =>
  world.api
    .all(NODE)
    .filter(({ spec }) => !spec?.taints?.some(({ key }) => key === CLOSED.key))
    .map(({ metadata }) => metadata.name)
    .filter((name) => name !== "r");

const said = (type: string) => ({
  type,
  status: "True" as const,
  reason: type,
  lastTransitionTime: "2026-01-01T00:00:00Z",
});

const READY = { "karpenter.sh/initialized": "true" };

/** Two closed nodes of a command whose one replacement has joined, and was to be ready long ago. */
async function halfAnHourLate(world: FakeWorld): Promise<void> {
  const ready = { conditions: [{ type: "Ready", status: "True" }] };
  await world.api.create(FAKE_NODE_CLASS, {
    metadata: { name: "default" },
    status: ready,
  } as never);
  const spec = {
    disruption: {
      consolidateAfter: "0s",
      consolidationPolicy: "WhenEmptyOrUnderutilized",
      budgets: [{ nodes: "0" }],
    },
  } as const;
  await world.api.create(NODE_POOL, nodePool({ spec, template: { nodeClassRef } }));
  const record = {
    id: "c1",
    reason: "Underutilized",
    consolidationType: "multi",
    startedAt: toRfc3339(world.clock.now() - 30 * 60_000),
    nodes: ["a", "b"],
    replacements: 1,
  } as const;
  for (const name of ["a", "b"]) {
    const disrupted = { ...said("DisruptionReason"), reason: "Underutilized" };
    const claim = claimOf(world, name, [said("Initialized"), disrupted]);
    const made = await world.api.create(NODE_CLAIM, withRecord(claim, record));
    world.cloud.instances.set(`test://${name}`, made);
    await world.api.create(NODE, nodeOf(name, { ...READY }, [CLOSED]));
    await world.api.create(POD, pod({ name: `on-${name}`, cpu: "1", nodeName: name }));
  }
  const late = claimOf(world, "r", []);
  const annotations = { "karpenter.sh/replacement-for-command": "c1" };
  const marked = { ...late, metadata: { ...late.metadata, annotations } };
  world.cloud.instances.set("test://r", await world.api.create(NODE_CLAIM, marked));
  await world.api.create(NODE, nodeOf("r", {}, []));
}

const LABELS = {
  "karpenter.sh/nodepool": "default",
  "karpenter.test.sh/testnodeclass": "default",
  "node.kubernetes.io/instance-type": "c-4x",
  "karpenter.sh/capacity-type": "on-demand",
  "topology.kubernetes.io/zone": "zone-a",
};
const finalizers = ["karpenter.sh/termination"];

function claimOf(
  world: FakeWorld,
  name: string,
  more: readonly ReturnType<typeof said>[],
): NodeClaim {
  const creationTimestamp = toRfc3339(world.clock.now() - 30 * 60_000);
  const conditions = [...["Launched", "Registered"].map(said), ...more];
  return {
    metadata: { name, labels: LABELS, creationTimestamp, finalizers },
    spec: { requirements: [], nodeClassRef, expireAfter: "720h" },
    status: { providerID: `test://${name}`, nodeName: name, conditions },
  };
}

function nodeOf(name: string, labels: Record<string, string>, taints: readonly (typeof CLOSED)[]) {
  const joined = { ...LABELS, "karpenter.sh/registered": "true", ...labels };
  const made = node({ name, labels: joined, taints: [...taints] });
  return { ...made, metadata: { ...made.metadata, finalizers } };
}
