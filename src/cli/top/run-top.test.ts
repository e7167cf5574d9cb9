import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Pod } from "../../apis/core/pod.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { KubeObject } from "../../apis/meta.ts";
import type { Fleet } from "../../core/answers/fleet.ts";
import {
  SNAPSHOT_AT,
  SNAPSHOT_TYPES,
  snapshotNode,
  snapshotPdb,
  snapshotPod,
  snapshotPool,
} from "../../testing/snapshots.ts";
import { runExplain } from "../answers/run-explain.ts";
import { runTop, type TopFlags } from "./run-top.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "karpenter-top-"));
  writeFileSync(join(folder, "types.json"), SNAPSHOT_TYPES);
});
afterAll(() => rmSync(folder, { recursive: true }));

async function top(objects: readonly KubeObject[], more: Partial<TopFlags> = {}): Promise<string> {
  const path = join(folder, "cluster.json");
  writeFileSync(path, JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }));
  const said: string[] = [];
  const flags: TopFlags = {
    filename: [path],
    instanceTypes: join(folder, "types.json"),
    at: SNAPSHOT_AT,
    interval: "5s",
    sort: "name",
    once: true,
    output: "text",
    ...more,
  };
  await runTop(flags, { out: (text) => said.push(text), err: () => undefined });
  return said.join("");
}

const fleet = async (...objects: KubeObject[]): Promise<Fleet> =>
  JSON.parse(await top([snapshotPool(), ...objects], { output: "json" }));

/** The node's objects with changes to its claim. */
function changed(
  objects: readonly KubeObject[],
  change: (claim: NodeClaim) => NodeClaim,
): KubeObject[] {
  return objects.map((one) => (one.kind === "NodeClaim" ? change(one as NodeClaim) : one));
}

const withConditions =
  (...changes: readonly (readonly [type: string, status: "True" | "False"])[]) =>
  (claim: NodeClaim): NodeClaim => {
    const names = new Set(changes.map(([type]) => type));
    const others = (claim.status?.conditions ?? []).filter(({ type }) => !names.has(type));
    const own = changes.map(([type, status]) => ({
      type,
      status,
      reason: type,
      message: "",
      lastTransitionTime: "2026-01-05T11:59:00Z",
    }));
    return { ...claim, status: { ...claim.status, conditions: [...others, ...own] } } as NodeClaim;
  };
const leaving = (claim: NodeClaim): NodeClaim => ({
  ...claim,
  metadata: { ...claim.metadata, deletionTimestamp: "2026-01-05T11:58:00Z" },
});

it("karpenter top shows what each node has, what it costs and what blocks its disruption", async () => {
  const { nodes, pools, totals } = await fleet(
    ...snapshotNode("a"),
    ...snapshotNode("b"),
    snapshotPod("a-0", { node: "a", cpu: "1" }),
    snapshotPdb("web", 0),
  );
  expect(
    nodes.map(({ name, state, pods, priceMicroUsdPerHour, held }) => ({
      name,
      state,
      pods,
      priceMicroUsdPerHour,
      held,
    })),
  ).toMatchInlineSnapshot(`
    [
      {
        "held": "pdb prevents pod evictions (PodDisruptionBudget=[shop/web])",
        "name": "a",
        "pods": 1,
        "priceMicroUsdPerHour": 200000,
        "state": "running",
      },
      {
        "held": undefined,
        "name": "b",
        "pods": 0,
        "priceMicroUsdPerHour": 200000,
        "state": "running",
      },
    ]
  `);
  expect(pools).toMatchInlineSnapshot(`
    [
      {
        "allocatable": {
          "cpu": 7800,
          "memory": 33940307968,
          "pods": 220,
        },
        "held": 1,
        "moving": 0,
        "name": "default",
        "nodes": 2,
        "priceMicroUsdPerHour": 400000,
        "requested": {
          "cpu": 1000,
          "pods": 1,
        },
      },
    ]
  `);
  expect(totals.priceMicroUsdPerHour).toBe(
    nodes.reduce((sum, { priceMicroUsdPerHour = 0 }) => sum + priceMicroUsdPerHour, 0),
  );
});

it("karpenter top shows the stage of each node, from the conditions of its claim", async () => {
  const state = async (change: (claim: NodeClaim) => NodeClaim) => {
    const { nodes } = await fleet(...changed(snapshotNode("a"), change));
    return [nodes[0]?.state, nodes[0]?.since];
  };
  expect((await state((claim) => claim))[0]).toBe("running");
  expect(await state(leaving)).toEqual(["draining", "2026-01-05T11:58:00Z"]);
  expect(await state((one) => leaving(withConditions(["Drained", "True"])(one)))).toEqual([
    "detaching",
    "2026-01-05T11:59:00Z",
  ]);
  const ending = withConditions(["Drained", "True"], ["InstanceTerminating", "True"]);
  expect(await state((one) => leaving(ending(one)))).toEqual(["ending", "2026-01-05T11:59:00Z"]);
  expect(await state(withConditions(["DisruptionReason", "True"]))).toEqual([
    "chosen",
    "2026-01-05T11:59:00Z",
  ]);
  const rebooting = withConditions(["DisruptionReason", "True"], ["Rebooting", "True"]);
  expect((await state(rebooting))[0]).toBe("initializing");
});

it("karpenter top groups pending pods by their cause", async () => {
  const { waiting, totals } = await fleet(
    snapshotPod("p-0", { cpu: "1" }),
    snapshotPod("p-1", { cpu: "1" }),
    snapshotPod("huge", { cpu: "900" }),
  );
  expect(totals.waiting).toBe(3);
  expect(waiting).toMatchObject([
    { waitingFor: "nodeWanted", pods: 2, example: "shop/p-0" },
    { waitingFor: "nothing", rejected: { resources: 4 }, pods: 1, example: "shop/huge" },
  ]);
});

it("karpenter top gives the reason of explain for pods that no NodePool is asked about", async () => {
  const claiming = (name: string, claimName: string) => {
    const one = snapshotPod(name, { cpu: "1" }) as Pod;
    const volumes = [{ name: "data", persistentVolumeClaim: { claimName } }];
    return { ...one, spec: { ...one.spec, volumes } };
  };
  const pods = [claiming("db-0", "data"), claiming("db-1", "data")];
  const text = await top([snapshotPool(), ...pods]);
  const said: string[] = [];
  await runExplain(
    ["pod", "db-0"],
    {
      filename: [join(folder, "cluster.json")],
      instanceTypes: join(folder, "types.json"),
      at: SNAPSHOT_AT,
      namespace: "shop",
      output: "json",
    },
    { out: (line) => said.push(line), err: () => undefined },
  );
  const { says } = JSON.parse(said.join(""));
  const reason = says.replace(/^shop\/db-0 has no place: /, "");
  expect(reason).toContain("data");
  expect(text).not.toContain("no NodePool can launch nodes");
  expect(text).toContain(`: ${reason} (shop/db-0, …)`);
});

it("karpenter top says how many pods of a CapacityBuffer have room, and counts none as waiting", async () => {
  const requests = { cpu: "1" };
  const template = {
    spec: { containers: [{ name: "main", image: "p", resources: { requests } }] },
  };
  const metadata = { name: "spare", namespace: "shop" };
  const objects: KubeObject[] = [
    snapshotPool(),
    ...snapshotNode("a"),
    { apiVersion: "v1", kind: "PodTemplate", metadata, template } as KubeObject,
    {
      apiVersion: "autoscaling.x-k8s.io/v1beta1",
      kind: "CapacityBuffer",
      metadata,
      spec: { podTemplateRef: { name: "spare" }, replicas: 5 },
    } as KubeObject,
  ];
  const setting = ["feature-gates=CapacityBuffer=true"];
  const text = await top(objects, { setting });
  expect(text).toContain("CAPACITY BUFFERS\nshop/spare: room for 3 of 5 pods\n");
  expect(text).toContain("none waiting");
  const { headroom, waiting } = JSON.parse(await top(objects, { setting, output: "json" }));
  expect([headroom, waiting]).toEqual([[{ buffer: "shop/spare", pods: 5, placed: 3 }], []]);
});

it("karpenter top prints one picture if the output is no terminal", async () => {
  const text = await top([snapshotPool(), ...snapshotNode("a")]);
  expect(text).toMatch(/^files 12:00:00 {2}1 node /);
  expect(text).toContain("POOL");
  expect(text).not.toContain("\u001b");
});

it("karpenter top refuses an interval that would flood the API server", async () => {
  await expect(top([], { interval: "10ms" })).rejects.toThrow(
    '--interval: "10ms": wanted a duration of 1s or more, such as 5s',
  );
});

it("karpenter top counts the pods of a node as explain does: without DaemonSet pods", async () => {
  const agent = snapshotPod("agent", { node: "a" });
  const owner = {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    name: "agent",
    uid: "u",
    controller: true,
  };
  const daemon = {
    ...agent,
    metadata: { ...agent.metadata, ownerReferences: [owner] },
  } as KubeObject;
  const { nodes, totals } = await fleet(
    ...snapshotNode("a"),
    snapshotPod("web", { node: "a" }),
    daemon,
  );
  expect(nodes.map(({ pods }) => pods)).toEqual([1]);
  expect(totals.pods).toBe(1);
  expect(nodes[0]?.requested["cpu"]).toBe(1_000);
});
