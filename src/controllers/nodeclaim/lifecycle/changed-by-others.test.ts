import { expect, it } from "vitest";
import { condition } from "../../../apis/karpenter/conditions.ts";
import { NODE_CLAIM, type NodeClaim } from "../../../apis/karpenter/nodeclaim.ts";
import { NODE_POOL } from "../../../apis/karpenter/nodepool.ts";
import { nodePool, pod } from "../../../testing/builders.ts";
import { type FakeWorld, fakeWorld } from "../../../testing/fake-world.ts";
import { createRegistrationTracker } from "../../registration-tracker.ts";
import { lifecycle } from "./controller.ts";

const MINUTE = 60_000;
const TYPES = { key: "node.kubernetes.io/instance-type", operator: "In", values: ["c-4x", "c-8x"] };
const TAINT = { key: "team", effect: "NoSchedule" };
const PLANNED = {
  metadata: { name: "default-abcde", labels: { "karpenter.sh/nodepool": "default", team: "a" } },
  spec: {
    requirements: [TYPES],
    taints: [TAINT],
    resources: { requests: { cpu: "1" } },
    nodeClassRef: { group: "karpenter.test.sh", kind: "TestNodeClass", name: "default" },
    expireAfter: "720h",
  },
} as unknown as NodeClaim;
const PODS = [pod({ spec: { tolerations: [{ key: "team" }] } })];

type Spec = Partial<Record<keyof NodeClaim["spec"], unknown>>;

/** A world in which a webhook changed the planned claim when it was created. */
async function created(
  { labels, ...spec }: Spec & { readonly labels?: Record<string, string> },
  { isPlannedHere = true } = {},
): Promise<FakeWorld> {
  const world = fakeWorld();
  await world.api.create(NODE_POOL, nodePool());
  await world.run(lifecycle(world, createRegistrationTracker()));
  const arrive = isPlannedHere
    ? world.cluster.expectClaim({ claim: PLANNED, pods: PODS })
    : undefined;
  const stored = await world.api.create(NODE_CLAIM, {
    ...PLANNED,
    metadata: { ...PLANNED.metadata, labels: labels ?? PLANNED.metadata.labels ?? {} },
    spec: { ...PLANNED.spec, ...spec },
  } as NodeClaim);
  arrive?.(stored);
  await world.clock.settle();
  return world;
}

const claimOf = ({ api }: FakeWorld): NodeClaim =>
  api.find(NODE_CLAIM, "default-abcde") as NodeClaim;

/** Equal events are published once by the real recorder. */
const told = ({ published }: FakeWorld): readonly string[] => {
  const texts = published
    .filter(({ reason }) => reason === "ChangedByOthers")
    .map(
      ({ object, message }) => `${object.metadata.name}: ${/changed (.*?) of/.exec(message)?.[1]}`,
    );
  return [...new Set(texts)];
};

it("restores removed labels of a NodeClaim before the launch, with events on it and its NodePool", async () => {
  const world = await created({ labels: {} });
  expect(claimOf(world).metadata.labels).toMatchObject(PLANNED.metadata.labels ?? {});
  expect(world.cloud.creates).toBe(1);
  const parts = "label karpenter.sh/nodepool, label team";
  expect(told(world)).toEqual([`default-abcde: ${parts}`, `default: ${parts}`]);
});

it("counts a created NodeClaim without labels for its NodePool in the cluster state", async () => {
  const world = fakeWorld();
  const arrive = world.cluster.expectClaim({ claim: PLANNED, pods: PODS });
  arrive({ ...PLANNED, metadata: { name: "default-abcde", uid: "1" } });
  expect(world.cluster.poolUsage("nodepool/default")["nodes"]).toBe(1);
});

it.each([
  [
    "a requirement is removed",
    { requirements: [] },
    "requirement node.kubernetes.io/instance-type",
  ],
  [
    "a requirement has other values",
    { requirements: [{ ...TYPES, values: ["c-4x", "c-16x"] }] },
    "requirement node.kubernetes.io/instance-type",
  ],
  ["a taint is removed", { taints: [] }, "taint team:NoSchedule"],
  [
    "a taint gets a value that its pods do not tolerate",
    { taints: [{ ...TAINT, value: "b" }] },
    "taint team=b:NoSchedule",
  ],
  [
    "a taint is added that its pods do not tolerate",
    { taints: [TAINT, { key: "x", effect: "NoExecute" }] },
    "taint x:NoExecute",
  ],
  [
    "the nodeClassRef is another",
    { nodeClassRef: { ...PLANNED.spec.nodeClassRef, name: "other" } },
    "nodeClassRef",
  ],
])(
  "launches nothing and deletes the NodeClaim within minutes if a webhook changed it: %s",
  async (_, spec, part) => {
    const world = await created(spec);
    expect(condition(claimOf(world), "Launched")?.message).toBe(`another program changed ${part}`);
    expect(told(world)).toEqual([`default-abcde: ${part}`, `default: ${part}`]);
    await world.clock.advance(6 * MINUTE);
    expect(claimOf(world)).toBeUndefined();
    expect(world.cloud.creates).toBe(0);
  },
);

/** A world in which a webhook gives the planned claim these labels only, at its creation and at each patch. */
async function withLabelsOnly(labels: Record<string, string>, pods = PODS, pool = nodePool()) {
  const world = fakeWorld();
  await world.api.create(NODE_POOL, pool);
  const { patch } = world.api;
  let patches = 0;
  Object.assign(world.kube, {
    patch: async (...[kind, ref, { type, body }, sub]: Parameters<typeof patch>) => {
      patches++;
      const { labels: _, ...metadata } =
        (body as { metadata?: Record<string, unknown> }).metadata ?? {};
      return patch(kind, ref, { type, body: { ...(body as object), metadata } } as never, sub);
    },
  });
  await world.run(lifecycle(world, createRegistrationTracker()));
  world.cluster.expectClaim({ claim: PLANNED, pods });
  await world.api.create(NODE_CLAIM, { ...PLANNED, metadata: { name: "default-abcde", labels } });
  await world.clock.advance(4 * MINUTE);
  return { creates: world.cloud.creates, patches: () => patches };
}

it("launches nothing while a webhook removes the NodePool label, or one that its pods require", async () => {
  const { creates, patches } = await withLabelsOnly({ team: "a" });
  expect(creates).toBe(0);
  expect(patches()).toBeLessThan(20);
  const [one] = PODS;
  const asking = [{ ...one, spec: { ...one?.spec, nodeSelector: { team: "a" } } }] as typeof PODS;
  const pools = { "karpenter.sh/nodepool": "default" };
  expect((await withLabelsOnly(pools, asking)).creates).toBe(0);
  expect((await withLabelsOnly({ ...pools, team: "b" }, asking)).creates).toBe(0);
});

it("launches nothing while a label that the pool requires is missing, or the node would drift", async () => {
  const requirements = [{ key: "team", operator: "In", values: ["a", "b"] }];
  const pool = nodePool({ template: { requirements } as never });
  const pools = { "karpenter.sh/nodepool": "default" };
  expect((await withLabelsOnly(pools, PODS, pool)).creates).toBe(0);
});

it("leaves labels and owners of a launched claim as the user changed them, but for Karpenter's labels", async () => {
  const world = await created({});
  const labels = { "karpenter.sh/nodepool": null, team: "z" };
  const { metadata } = claimOf(world);
  await world.api.patch(NODE_CLAIM, { name: metadata.name }, {
    type: "merge",
    body: { metadata: { labels, ownerReferences: null } },
  } as never);
  await world.clock.advance(MINUTE);
  const pools = { "karpenter.sh/nodepool": "default" };
  expect(claimOf(world).metadata.labels).toMatchObject({ ...pools, team: "z" });
  expect(claimOf(world).metadata.ownerReferences ?? []).toEqual([]);
  expect(told(world)).toHaveLength(2);
});

it("launches although a webhook removes or changes a label that no pod requires", async () => {
  const pools = { "karpenter.sh/nodepool": "default" };
  expect((await withLabelsOnly(pools)).creates).toBe(1);
  expect((await withLabelsOnly({ ...pools, team: "b" })).creates).toBe(1);
});

it.each([
  ["labels and startup taints are added", { startupTaints: [{ key: "x", effect: "NoSchedule" }] }],
  ["a requirement has another allowed value", { requirements: [{ ...TYPES, values: ["c-8x"] }] }],
  ["values are in another order", { requirements: [{ ...TYPES, values: ["c-8x", "c-4x"] }] }],
  [
    "a taint is added that its pods tolerate",
    { taints: [TAINT, { key: "team", effect: "NoExecute" }] },
  ],
  [
    "a PreferNoSchedule taint is added",
    { taints: [TAINT, { key: "x", effect: "PreferNoSchedule" }] },
  ],
])("launches a NodeClaim that a webhook changed: %s", async (_, spec) => {
  const world = await created({ ...spec, labels: { ...PLANNED.metadata.labels, more: "b" } });
  expect(world.cloud.creates).toBe(1);
  expect(told(world)).toEqual([]);
});

it("launches a NodeClaim that another process created, without a check for changes by webhooks", async () => {
  const world = await created({ labels: {}, taints: [] }, { isPlannedHere: false });
  expect(world.cloud.creates).toBe(1);
  expect(told(world)).toEqual([]);
});
