// Pods whose claim the API server refuses as invalid are planned again, together with other pods of the same pass.
import { describe, expect, it } from "vitest";
import { NODE } from "../../apis/core/node.ts";
import { POD, type Pod } from "../../apis/core/pod.ts";
import {
  CAPACITY_TYPE_LABEL_KEY,
  INSTANCE_TYPE_LABEL_KEY,
  TOPOLOGY_ZONE_LABEL_KEY,
} from "../../apis/karpenter/labels.ts";
import { NODE_CLAIM, type NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { NODE_POOL } from "../../apis/karpenter/nodepool.ts";
import type { InstanceType } from "../../core/cloudprovider/instance-type.ts";
import { KubeError } from "../../kube/errors.ts";
import { instanceType, node, nodeClaim, nodePool, pod } from "../../testing/builders.ts";
import { FAKE_NODE_CLASS } from "../../testing/fake-cloud.ts";
import { fakeWorld } from "../../testing/fake-world.ts";
import { stateNodeClaim } from "../state/nodeclaims.ts";
import { stateNode } from "../state/nodes.ts";
import { statePod } from "../state/pods.ts";
import { createBatcher } from "./batcher.ts";
import { createPodTimes } from "./pod-times.ts";
import { provisioner } from "./provisioner.ts";
import { podTrigger } from "./triggers.ts";

const CLASS_REF = { group: "karpenter.test.sh", kind: "TestNodeClass", name: "default" };
const ONLY_FOUR = {
  key: INSTANCE_TYPE_LABEL_KEY,
  operator: "In" as const,
  values: ["c-4x"],
};
const LABELS = { app: "x" };
const SELECTED = { topologyKey: TOPOLOGY_ZONE_LABEL_KEY, labelSelector: { matchLabels: LABELS } };
const APART: Partial<Pod["spec"]> = {
  affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [SELECTED] } },
};

const LARGE = {
  requiredDuringSchedulingIgnoredDuringExecution: {
    nodeSelectorTerms: [{ matchExpressions: [{ ...ONLY_FOUR, values: ["c-4x", "c-8x"] }] }],
  },
};

interface Setting {
  readonly limits?: Record<string, string>;
  readonly types?: readonly InstanceType[];
  /** Pods on a node that is being removed. A command has planned a place for each. */
  readonly moving?: readonly Pod[];
  /** The node with that place. It has 4 cpu. */
  readonly target?: string;
  /** This pod is deleted while the server checks a claim that it will refuse. */
  readonly leaves?: Pod;
  /** All created claims are launched in this zone before the next pass. */
  readonly launchedIn?: string;
}

const cpuOf = ({ spec }: NodeClaim) => String(spec.resources?.requests?.["cpu"]);

/**
 * Runs one pass. The server refuses claims whose requests end in 01m, so only pods with such requests cause a refusal.
 */
async function passOver(
  pods: readonly Pod[],
  { limits = {}, types, moving = [], target, leaves, launchedIn }: Setting = {},
) {
  const world = fakeWorld();
  await world.api.create(FAKE_NODE_CLASS, { metadata: { name: "default" } });
  if (types !== undefined) world.cloud.instanceTypes = () => types;
  const requirements = types === undefined ? [ONLY_FOUR] : [];
  const template = { nodeClassRef: CLASS_REF, requirements };
  const conditions = [{ type: "Ready", status: "True" as const }];
  await world.api.create(NODE_POOL, {
    ...nodePool({ spec: { limits }, template }),
    status: { conditions },
  });
  if (moving.length > 0) {
    await world.api.create(NODE_CLAIM, nodeClaim({ name: "old" }));
    await world.api.create(NODE, node({ name: "old" }));
    world.cluster.markForDeletion("old");
  }
  if (target !== undefined) await world.api.create(NODE, node({ name: target }));
  for (const one of [...moving, ...pods]) await world.api.create(POD, one);
  const create = world.kube.create;
  Object.assign(world.kube, {
    create: async (...call: Parameters<typeof create>) => {
      const isBad = call[0] === NODE_CLAIM && /[0-9]01m$/.test(cpuOf(call[1] as NodeClaim));
      if (!isBad) return create(...call);
      if (leaves !== undefined) await world.api.delete(POD, leaves.metadata);
      throw new KubeError(422, { message: "spec: Invalid value" }, "create nodeclaims");
    },
  });
  const batcher = createBatcher(world);
  const times = createPodTimes(world);
  const names = moving.map(({ metadata }) => metadata.name);
  const hasPlace = ({ metadata }: Pod) => names.includes(metadata.name);
  const steering = { hasPlace };
  await world.run(
    ...[stateNode(world), stateNodeClaim(world), statePod(world)],
    podTrigger(world, batcher, times),
    provisioner(world, batcher, times, steering),
  );
  await world.clock.advance(100);
  if (target !== undefined) world.cluster.place(target, moving, world.clock.now());
  await world.clock.advance(4_900);
  if (launchedIn !== undefined) {
    for (const claim of world.api.all(NODE_CLAIM) as NodeClaim[])
      await world.api.update(NODE_CLAIM, launched(claim, launchedIn));
    await world.clock.advance(15_000);
  }
  await world.stop();
  const told = (reason: string) => world.published.filter((one) => one.reason === reason);
  return {
    claims: (world.api.all(NODE_CLAIM) as NodeClaim[]).filter(
      ({ metadata }) => metadata.name !== "old",
    ),
    nominated: told("Nominated")
      .map(({ object }) => object.metadata.name)
      .toSorted(),
    /** The last event about each pod without a place. */
    failed: new Map(told("FailedScheduling").map((one) => [one.object.metadata.name, one.message])),
  };
}

function launched(claim: NodeClaim, zone: string): NodeClaim {
  const room = { cpu: "4", memory: "8Gi", pods: "110" };
  const { metadata } = claim;
  return {
    ...claim,
    metadata: { ...metadata, labels: { ...metadata.labels, [TOPOLOGY_ZONE_LABEL_KEY]: zone } },
    status: { providerID: `test://${metadata.name}`, capacity: room, allocatable: room },
  };
}

function valuesOf({ spec }: NodeClaim, key: string): readonly string[] | undefined {
  return spec.requirements.find((one) => one.key === key)?.values;
}

const [a, b, u] = [
  pod({ name: "a", cpu: "1500m" }),
  pod({ name: "b", cpu: "1601m" }),
  pod({ name: "u", cpu: "1400m" }),
];

describe("pods that are planned again after the API server found a NodeClaim invalid", () => {
  it("get their node though pods that fitted nowhere would go onto it", async () => {
    const { claims, nominated, failed } = await passOver([a, b, u], { limits: { cpu: "4" } });
    expect(claims.map(cpuOf)).toEqual(["1500m"]);
    expect(nominated).toEqual(["a"]);
    expect([...failed.keys()].toSorted()).toEqual(["b", "u"]);
  });

  it("get their node though a disruption command's pods would go onto it", async () => {
    const moving = [pod({ name: "moving", cpu: "1400m", nodeName: "old" })];
    const { claims, nominated, failed } = await passOver([a, b], { moving });
    expect(claims.map(cpuOf)).toEqual(["1500m"]);
    expect(nominated).toEqual(["a"]);
    expect([...failed.keys()]).toEqual(["b"]);
  });

  it("leave room for a command's pod that has anti-affinity to the pass's other NodeClaims", async () => {
    const types = [instanceType({ name: "c-4x", cpu: 4, zones: ["zone-a", "zone-b", "zone-c"] })];
    const made = pod({ name: "made", cpu: "3800m", labels: LABELS });
    const moving = [pod({ name: "moving", cpu: "3", nodeName: "old", spec: APART })];
    const setting = { types, moving, target: "target" };
    const { claims, nominated } = await passOver([made, a, b], setting);
    expect(claims.map(cpuOf).toSorted()).toEqual(["1500m", "3800m"]);
    expect(nominated).toEqual(["a", "made", "moving"]);
  });

  it("get no node once they are deleted", async () => {
    const { claims, nominated } = await passOver([a, b], { leaves: a });
    expect(claims).toEqual([]);
    expect(nominated).toEqual([]);
  });

  it("leave the NodePool limit of an invalid NodeClaim to pods that fitted nowhere", async () => {
    const large = pod({ name: "large", cpu: "3601m" });
    const { claims, nominated, failed } = await passOver([large, u], { limits: { cpu: "4" } });
    expect(claims.map(cpuOf)).toEqual(["1400m"]);
    expect(nominated).toEqual(["u"]);
    expect(failed.get("large")).toContain("spec: Invalid value");
  });

  it("do not wait for pods that fitted nowhere, of which one is invalid, too", async () => {
    const large = pod({ name: "large", cpu: "3601m" });
    const { nominated, failed } = await passOver([large, a, b], { limits: { cpu: "4" } });
    expect(nominated).toEqual(["a"]);
    expect(failed.get("large")).toContain("spec: Invalid value");
  });
});

describe("NodeClaims that a pass created, when it plans other pods again", () => {
  const spread: Partial<Pod["spec"]> = {
    topologySpreadConstraints: [{ ...SELECTED, maxSkew: 1, whenUnsatisfiable: "DoNotSchedule" }],
  };

  it.each([
    ["an anti-affinity", APART],
    ["a spread", spread],
    // The claims allow several of these values, and will get one of them.
    ["a spread of pods that name their machines", { ...spread, affinity: { nodeAffinity: LARGE } }],
  ])("are counted for %s over zones", async (_, spec) => {
    const x1 = pod({ name: "x1", cpu: "3800m", labels: LABELS, spec });
    const x2 = pod({ name: "x2", cpu: "2", labels: LABELS, spec });
    const { claims, nominated } = await passOver([x1, x2, b]);
    expect(nominated).toEqual(["x1", "x2"]);
    const zones = claims.map((claim) => valuesOf(claim, TOPOLOGY_ZONE_LABEL_KEY)?.join());
    expect(zones.toSorted()).toEqual(["zone-a", "zone-b"]);
  });

  it("delay a pod with anti-affinity until their zone is known", async () => {
    // The first two pods share a node in zone-c. The third may get a node in one of the two other zones.
    const spec = { nodeSelector: { [TOPOLOGY_ZONE_LABEL_KEY]: "zone-c" } };
    const bad = pod({ name: "bad", cpu: "2301m", spec });
    const away = pod({ name: "away", cpu: "1500m", spec: APART });
    const near = pod({ name: "near", cpu: "1400m", labels: LABELS });
    const zones = ["zone-a", "zone-b", "zone-c"];
    const types = [instanceType({ name: "c-4x", cpu: 4, zones })];
    const { claims, failed } = await passOver([bad, away, near], { types });
    expect(claims.map(cpuOf)).toEqual(["1400m"]);
    expect(valuesOf(claims[0] as NodeClaim, TOPOLOGY_ZONE_LABEL_KEY)).toEqual(["zone-a", "zone-b"]);
    // The pod waits until the zone is known. Its claim was not refused.
    expect([...failed.keys()]).toEqual(["bad"]);
    const later = await passOver([bad, away, near], { types, launchedIn: "zone-a" });
    expect(later.nominated).toContain("away");
  });

  it("keep the capacity reservations that they may be launched into", async () => {
    const label = "karpenter.k8s.aws/capacity-reservation-id";
    const offerings = [
      {
        ...{ zone: "zone-a", capacityType: "reserved" as const, priceMicroUsd: 1, available: true },
        ...{ reservationCapacity: 2, labels: { [label]: "cr-1" } },
      },
      {
        ...{ zone: "zone-a", capacityType: "on-demand" as const, priceMicroUsd: 200_000 },
        available: true,
      },
    ];
    const types = [instanceType({ name: "m4", cpu: 4, offerings })];
    const x1 = pod({ name: "x1", cpu: "3800m" });
    const c = pod({ name: "c", cpu: "300m" });
    const middle = pod({ name: "a", cpu: "2" });
    const { claims, failed } = await passOver([x1, middle, b, c], { types });
    const reserved = claims.filter(
      (claim) => valuesOf(claim, CAPACITY_TYPE_LABEL_KEY)?.join() === "reserved",
    );
    expect(reserved).toHaveLength(2);
    // The third pod waits until it is known whether both nodes are needed.
    expect(claims).toHaveLength(2);
    expect([...failed.keys()]).toEqual(["b"]);
  });

  it("count once for the NodePool limit of nodes", async () => {
    const ok = pod({ name: "ok", cpu: "3800m" });
    const { claims, nominated } = await passOver([ok, a, b], { limits: { nodes: "2" } });
    expect(claims).toHaveLength(2);
    expect(nominated).toEqual(["a", "ok"]);
  });

  it("are counted in the NodePool limit, which is the reason in the events of pods without a node", async () => {
    const c = pod({ name: "c", cpu: "700m" });
    const { nominated, failed } = await passOver([a, b, c], { limits: { nodes: "1" } });
    expect(nominated).toEqual(["a"]);
    expect(failed.get("c")).not.toContain("spec: Invalid value");
    expect(failed.get("c")).toContain("limit");
  });
});
