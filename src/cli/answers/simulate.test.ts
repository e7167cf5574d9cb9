import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { KubeObject } from "../../apis/meta.ts";
import { keepsToSchema, pageSchema } from "../../testing/page-schema.ts";
import {
  SNAPSHOT_AT,
  SNAPSHOT_TYPES,
  snapshotNode,
  snapshotPdb,
  snapshotPod,
  snapshotPool,
  snapshotSparse,
} from "../../testing/snapshots.ts";
import { PLAIN_SCREEN } from "../program/terminal.ts";
import { runSimulate, type SimulateFlags } from "./run-simulate.ts";
import type { Simulated } from "./simulate.ts";

/** Lines stay whole, so that tests see sentences. */
const WIDE = { ...PLAIN_SCREEN, wide: true };

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "karpenter-simulate-"));
  writeFileSync(join(folder, "types.json"), SNAPSHOT_TYPES);
});
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, objects: readonly KubeObject[]): string {
  const path = join(folder, name);
  writeFileSync(path, JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }));
  return path;
}

async function run(
  objects: readonly KubeObject[],
  flags: Partial<SimulateFlags> = {},
): Promise<{ text: string; code: number }> {
  const said: string[] = [];
  const code = await runSimulate(
    {
      filename: [file("cluster.json", objects)],
      instanceTypes: join(folder, "types.json"),
      at: SNAPSHOT_AT,
      output: "text",
      ...flags,
    },
    { out: (text) => said.push(text), err: () => undefined, screen: () => WIDE },
  );
  return { text: said.join(""), code };
}

async function simulated(
  objects: readonly KubeObject[],
  flags: Partial<SimulateFlags> = {},
): Promise<Simulated> {
  return JSON.parse((await run(objects, { ...flags, output: "json" })).text);
}

/** Four nodes of 4 cpu with one pod of 1 cpu each: one of them holds all. */
const sparse = ["a", "b", "c", "d"].flatMap((name) => [
  ...snapshotNode(name),
  snapshotPod(`${name}-0`, { node: name, cpu: "900m" }),
]);

describe("karpenter simulate --unhealthy", () => {
  const setting = ["feature-gates=NodeRepair=true"];
  const nine = "abcdefghi"
    .split("")
    .flatMap((name) => [...snapshotNode(name), snapshotPod(`${name}-0`, { node: name, cpu: "3" })]);
  const objects = [snapshotPool(), ...nine];

  it("shows when node repair replaces a node, and by which node", async () => {
    const answer = await simulated(objects, { unhealthy: ["StorageReady"], node: ["a"], setting });
    expect(answer.unhealthy).toEqual([
      {
        node: "a",
        says: "StorageReady is False since 2026-01-05T12:00:00Z: node repair replaces it at 2026-01-05T12:30:00Z, if the disruption budgets for Unhealthy allow it, with 10m0s for its drain",
      },
    ]);
    const [command, ...others] = answer.steps.filter(({ kind }) => kind === "command");
    expect(others).toEqual([]);
    expect(command).toMatchObject({
      at: "2026-01-05T12:30:00Z",
      removed: ["a"],
      command: { reason: "Unhealthy", method: "repair", decision: "replace" },
    });
    keepsToSchema(pageSchema("simulate"), answer, { podsMoved: "many" });
  });

  it("shows a reboot, and what stops repair when too many nodes are broken", async () => {
    const gates = [...setting, "aws-feature-gates=RebootForRepair=true"];
    const xid = "AcceleratedHardwareReady=False/NvidiaXID48Error";
    const one = await simulated(objects, { unhealthy: [xid], node: ["a"], setting: gates });
    const commands = one.steps.filter(({ kind }) => kind === "command");
    expect(commands.map(({ removed, command }) => [removed, command?.decision])).toEqual([
      [[], "reboot"],
    ]);
    expect(one.after.nodes).toBe(9);
    const { text } = await run(objects, { unhealthy: ["KernelReady"], setting });
    expect(text).toContain("waits while more than 20 % of the nodes are unhealthy (9 of 9)");
    expect(text).not.toContain("replace a");
  });

  it("says that node repair is off, and refuses invalid conditions", async () => {
    const { text } = await run(objects, { unhealthy: ["KernelReady"], node: ["a"] });
    expect(text).toContain("note: node repair is no disruption method here");
    const odd = await run(objects, { unhealthy: ["StorageReady=True"], node: ["a"], setting });
    expect(odd.text).toContain(
      "note: --unhealthy StorageReady=True: node repair acts on no such condition; it knows ",
    );
    expect(odd.text).toContain("StorageReady=False");
    await expect(run(objects, { unhealthy: ["=False"] })).rejects.toThrow(
      "--unhealthy =False: wanted",
    );
    await expect(run(objects, { node: ["a"] })).rejects.toThrow("needs --unhealthy");
    await expect(run(objects, { unhealthy: ["Ready"], node: ["z"] })).rejects.toThrow("--node: ");
  });
});

describe("karpenter simulate", () => {
  it("breaks lines at 100 characters in a pipe", async () => {
    const said: string[] = [];
    const flags = {
      filename: [file("cluster.json", [snapshotPool(), ...snapshotSparse("abcdef")])],
      instanceTypes: join(folder, "types.json"),
      at: SNAPSHOT_AT,
      consolidate: true,
      output: "text",
    } as const;
    await runSimulate(flags, { out: (text) => said.push(text), err: () => undefined });
    const lines = said.join("").split("\n");
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(100);
    expect(lines).toContain("    m-16/on-demand (Underutilized): saves $0.8000 an hour");
  });

  it("shows the stage of its work on standard error, and removes that line before the answer", async () => {
    const told: string[] = [];
    await runSimulate(
      {
        filename: [file("cluster.json", [snapshotPool(), ...sparse])],
        instanceTypes: join(folder, "types.json"),
        at: SNAPSHOT_AT,
        output: "text",
      },
      { out: () => told.push("answer"), err: () => undefined },
      { stage: (text) => told.push(text), end: () => told.push("end") },
    );
    expect(told).toEqual([
      "reading objects",
      "working out the cluster from 13 objects",
      "simulating 4 nodes",
      "end",
      "answer",
    ]);
  });

  it("keeps the replicas of static NodePools", async () => {
    const fixed = (replicas: number) => snapshotPool({ name: "fixed", replicas });
    const nodes = ["a", "b"].flatMap((name) => snapshotNode(name, { pool: "fixed" }));
    const setting = ["feature-gates=StaticCapacity=true"];
    const says = async (replicas: number, flags: Partial<SimulateFlags>) => {
      const { steps } = await simulated([fixed(replicas), ...nodes], { setting, ...flags });
      return steps.map((step) => step.says);
    };
    const one = "1 node launched to keep 2 of fixed";
    expect(await says(2, { removeNode: ["a"] })).toEqual(["removed: a", one]);
    expect(await says(2, { removeNode: ["a"], consolidate: true })).toEqual(["removed: a", one]);
    expect(await says(1, {})).toEqual(["beyond the replicas of fixed: b"]);
    expect(await says(2, {})).toEqual([]);
  });

  it("simulates consolidation until nothing is left to do", async () => {
    const { text, code } = await run([snapshotPool(), ...sparse], { consolidate: true });
    expect(code).toBe(0);
    expect(text).toMatchInlineSnapshot(`
      "4 -> 1 node, $0.8000 -> $0.2000 an hour, 3 pods moved, 1 disruption command

      Steps
        2026-01-05T12:00:15Z  $0.2000/h  3 pods  delete a, b, c (Underutilized): saves $0.6000 an hour

      settled: no further command
      "
    `);
  });

  it("says why the nodes stay if consolidation does nothing, grouped by the first reason", async () => {
    const kept = (name: string) => [
      ...snapshotNode(name, { pool: "kept" }),
      snapshotPod(`${name}-0`, { node: name, cpu: "3800m" }),
    ];
    const full = (name: string) => [
      ...snapshotNode(name),
      snapshotPod(`${name}-0`, { node: name, cpu: "3800m" }),
    ];
    const never = snapshotPool({ name: "kept", disruption: { consolidateAfter: "Never" } });
    const objects = [snapshotPool(), never, ...kept("x"), ...full("b"), ...full("a")];
    const answer = await simulated(objects, { consolidate: true });
    expect(answer.steps).toEqual([]);
    expect(answer.staying?.map(({ nodes }) => nodes)).toEqual([["a", "b"], ["x"]]);
    keepsToSchema(pageSchema("simulate"), answer, { podsMoved: "many" });
    const { text } = await run(objects, { consolidate: true });
    expect(text).toContain(
      "Why the nodes stay\n  2 nodes (a, b): Can't replace with a cheaper node\n  1 node (x): ",
    );
  });

  it("says how to set the gate that keeps spot nodes", async () => {
    const spot = snapshotNode("s", { cpu: 16, capacityType: "spot" });
    const objects = [
      snapshotPool({ capacityTypes: ["spot"] }),
      ...spot,
      snapshotPod("s-0", { node: "s", cpu: "1" }),
    ];
    const { staying } = await simulated(objects, { consolidate: true });
    expect(staying).toEqual([
      {
        says: "SpotToSpotConsolidation is disabled, can't replace a spot node with a spot node (for this answer: --setting feature-gates=SpotToSpotConsolidation=true; for the cluster, the chart's value settings.featureGates.spotToSpotConsolidation: true)",
        nodes: ["s"],
      },
    ]);
  });

  it.each(["markdown", "html", "svg"] as const)(
    "shows the nodes before and after, and each step: %s",
    async (output) => {
      const flags = { consolidate: true, output } as const;
      const { text } = await run([snapshotPool(), ...sparse], flags);
      const [before = "", after = ""] = text.split(/(?:>|\*\*)After(?:<|\*\*)/);
      const cards = (part: string) => part.match(/<g /g)?.length;
      if (output !== "markdown") expect([before, after].map(cards)).toEqual([4, 1]);
      else
        expect([before, after].map((part) => /\| default \| (\d)/.exec(part)?.[1])).toEqual([
          "4",
          "1",
        ]);
      expect(text).toContain("$0.8000");
      if (output !== "svg") expect(text).toContain("delete a, b, c");
    },
  );

  it("shows a repack of several nodes into several cheaper ones", async () => {
    const objects = [snapshotPool(), ...snapshotSparse("abcdef")];
    const { text } = await run(objects, { consolidate: true });
    expect(text).toMatchInlineSnapshot(`
      "6 -> 2 nodes, $2.4000 -> $1.6000 an hour, 6 pods moved, 1 disruption command

      Steps
        2026-01-05T12:00:15Z  $1.6000/h  6 pods  replace a, b, c, d, e and 1 more by m-16/on-demand, m-16/on-demand (Underutilized): saves $0.8000 an hour

      settled: no further command
      "
    `);
    const { steps } = await simulated(objects, { consolidate: true });
    expect(steps[0]?.command).toMatchObject({ method: "repack", savesMicroUsdPerHour: 800_000 });
  });

  it("waits for budget windows, and disrupts no more nodes than they allow", async () => {
    const nights = { nodes: "0", schedule: "0 8 * * *", duration: "10h" };
    const pool = snapshotPool({ disruption: { budgets: [nights, { nodes: "1" }] } });
    const { steps, ended } = await simulated([pool, ...sparse], { consolidate: true });
    expect(steps[0]?.at).toBe("2026-01-05T18:00:15Z");
    expect(steps.every(({ removed }) => removed.length === 1)).toBe(true);
    expect(ended).toBe("settled");
  });

  it("moves the pods of removed nodes, and names what would block the removal", async () => {
    const objects = [snapshotPool(), ...sparse, snapshotPdb("web", 0)];
    const { steps, after, against, podsMoved } = await simulated(objects, {
      removeNode: ["a", "b"],
    });
    expect(steps.map(({ kind, removed }) => [kind, removed])).toEqual([
      ["removal", ["a", "b"]],
      ["provisioning", []],
    ]);
    expect(after).toEqual({
      nodes: 2,
      pods: 4,
      pendingPods: 0,
      priceMicroUsdPerHour: 400_000,
    });
    expect(podsMoved).toBe(2);
    expect(against.map(({ node }) => node)).toEqual(["a", "b"]);
    await expect(run(objects, { horizon: "1h" })).rejects.toThrow("needs --consolidate");
    await expect(run(objects, { removeNode: ["z"] })).rejects.toThrow(
      "there is no Node z; known: a, b",
    );
  });

  it("places the pods of leaving nodes, with and without --consolidate", async () => {
    const objects = [
      snapshotPool(),
      ...snapshotNode("going", { cpu: 8, deletedAt: "2026-01-05T11:59:00Z" }),
      snapshotPod("moves", { node: "going", cpu: "5" }),
    ];
    for (const flags of [{}, { consolidate: true } as const]) {
      const { steps, after, podsMoved } = await simulated(objects, flags);
      expect(steps.map(({ says }) => says)).toEqual([
        "on their way out already: going",
        "1 pod placed, 1 node launched",
      ]);
      expect(after).toMatchObject({ nodes: 1, pods: 1, pendingPods: 0 });
      expect(podsMoved).toBe(1);
    }
  });

  it("plans pending pods and pods of leaving nodes together, as the provisioner does", async () => {
    const objects = [
      snapshotPool(),
      ...snapshotNode("going", { cpu: 8, deletedAt: "2026-01-05T11:59:00Z" }),
      snapshotPod("moves", { node: "going", cpu: "1" }),
      snapshotPod("waits", { cpu: "1" }),
    ];
    for (const flags of [{}, { consolidate: true } as const]) {
      const { after, steps } = await simulated(objects, flags);
      expect(after, steps.map(({ says }) => says).join("; ")).toMatchObject({ nodes: 1, pods: 2 });
    }
  });

  it("continues consolidation once a leaving node that uses up a budget is gone", async () => {
    const objects = [
      snapshotPool({ disruption: { budgets: [{ nodes: "1" }] } }),
      ...snapshotNode("going", { deletedAt: "2026-01-05T11:59:00Z" }),
      ...snapshotNode("idle"),
    ];
    const { steps } = await simulated(objects, { consolidate: true });
    expect(steps.map(({ at, says }) => `${at} ${says}`)).toEqual([
      `${SNAPSHOT_AT} on their way out already: going`,
      expect.stringMatching(/^2026-01-05T12:00:45Z delete idle \(Empty\)/),
    ]);
  });

  it("proposes further empty nodes before it validates earlier commands, as the disruption loop does", async () => {
    const window = { nodes: "0", schedule: "0 12 * * *", duration: "1m" };
    const objects = [
      snapshotPool(),
      ...snapshotNode("idle"),
      ...snapshotNode("old", { conditions: { Drifted: "2026-01-05T11:00:00Z" } }),
      snapshotPod("moves", { node: "old" }),
      snapshotPool({ name: "late", disruption: { budgets: [window] } }),
      ...snapshotNode("opened", { pool: "late" }),
    ];
    const flags = { consolidate: true, at: "2026-01-05T12:00:50Z" } as const;
    const { steps } = await simulated(objects, flags);
    expect(steps[0]).toMatchObject({ at: "2026-01-05T12:01:05Z", removed: ["idle"] });
  });

  it("consolidates only after pending pods have places", async () => {
    const objects = [
      snapshotPool(),
      ...snapshotNode("old", { conditions: { Drifted: "2026-01-05T11:00:00Z" } }),
      snapshotPod("waits", { cpu: "1" }),
    ];
    const { steps } = await simulated(objects, { consolidate: true });
    expect(steps.map(({ removed, launched }) => [removed, launched.length])).toEqual([
      [[], 0],
      [["old"], 1],
    ]);
  });

  it("names what the simulation ignores", async () => {
    const late = snapshotNode("late", { conditions: {} }).slice(0, 1);
    const old = snapshotNode("old", { createdAt: "2025-12-06T11:00:00Z" });
    const { text } = await run([snapshotPool(), ...old, ...late], { consolidate: true });
    expect(text).toContain("\nsettled: no further command");
    expect(text).toContain("note: 1 node would expire before the end; this is not simulated");
    expect(text).toContain("note: 1 node not ready yet, and assumed to stay not ready");
  });

  it("drains a zone and launches nothing there", async () => {
    const objects = [
      snapshotPool(),
      ...snapshotNode("a"),
      ...snapshotNode("b", { zone: "b" }),
      snapshotPod("a-0", { node: "a", cpu: "3" }),
      snapshotPod("b-0", { node: "b", cpu: "3" }),
    ];
    const { steps } = await simulated(objects, { drainZone: ["a"] });
    expect(steps.flatMap(({ launched }) => launched).map(({ zone }) => zone)).toEqual(["b"]);
    await expect(run(objects, { drainZone: ["c"] })).rejects.toThrow("there are nodes in: a, b");
  });

  it("shows the result of a changed NodePool, a changed price and more workloads", async () => {
    const objects = [
      snapshotPool(),
      ...snapshotNode("a"),
      snapshotPod("a-0", { node: "a", cpu: "3" }),
    ];
    const spot = await simulated(objects, {
      nodepoolFile: [file("pool.json", [snapshotPool({ capacityTypes: ["spot"] })])],
      consolidate: true,
    });
    expect(spot.steps[0]?.command).toMatchObject({ reason: "Drifted", decision: "replace" });
    expect(spot.after.priceMicroUsdPerHour).toBe(80_000);

    const nodeClass = { apiVersion: "karpenter.k8s.aws/v1", kind: "EC2NodeClass" };
    const both = [snapshotPool(), { ...nodeClass, metadata: { name: "default" }, spec: {} }];
    const beside = await run(objects, { nodepoolFile: [file("both.json", both)] });
    expect(beside.text).toContain(
      "EC2NodeClass default stays as it is: --nodepool-file changes NodePools only",
    );
    await expect(
      run(objects, { nodepoolFile: [file("pod.json", [snapshotPod("a")])] }),
    ).rejects.toThrow("wanted a NodePool or Provisioner, got Pod");

    const cheap = await simulated(objects, { price: ["m-8=0.01"], consolidate: true });
    expect(cheap.steps[0]?.launched).toMatchObject([{ instanceType: "m-8" }]);
    await expect(run(objects, { price: ["m-3=1"] })).rejects.toThrow("offers m-3");
    await expect(run(objects, { price: ["m-4"] })).rejects.toThrow("wanted TYPE=USD");

    const more = await simulated(objects, {
      add: [file("add.json", [snapshotPod("new", { cpu: "7" })])],
    });
    expect(more.steps[0]).toMatchObject({
      kind: "provisioning",
      launched: [{ node: "default-new-1", instanceType: "m-8", pods: ["shop/new"] }],
    });
    const again = await simulated([...objects, snapshotPod("new", { cpu: "70" })], {
      add: [file("again.json", [snapshotPod("new", { cpu: "7" })])],
    });
    expect(again.after.pendingPods).toBe(0);
    expect(again.steps[0]).toMatchObject({ launched: [{ instanceType: "m-8" }] });
    const { code, text } = await run(objects, {
      add: [file("add.json", [snapshotPod("huge", { cpu: "70" })])],
    });
    expect(code).toBe(2);
    expect(text).toContain("shop/huge: default: no instance type has enough resources");
  });

  describe("pods without a place", () => {
    const huge = snapshotPod("huge", { cpu: "70" });
    const objects = [
      snapshotPool(),
      ...snapshotNode("a"),
      snapshotPod("a-0", { node: "a", cpu: "3" }),
      huge,
    ];

    it("does not blame the change for a pod that waits without it, in every format", async () => {
      for (const flags of [{ removeNode: ["a"] }, { consolidate: true as const }, {}]) {
        const { code, text } = await run(objects, flags);
        expect(code).toBe(0);
        expect(text).toContain(", 1 pod without a place in any case\n");
        expect(text).toContain(
          "\nPods without a place in any case\n  shop/huge: default: no instance",
        );
        expect(text).not.toContain("because of this");
        const { unplaced } = await simulated(objects, flags);
        expect(unplaced).toMatchObject([{ pod: "shop/huge", waitsAnyway: true }]);
      }
      const removeNode = ["a"];
      const page = await run(objects, { removeNode, output: "markdown" });
      expect(page.code).toBe(0);
      expect(page.text).toContain("**Pods without a place:** 0, 1 in any case");
    });

    it("names pods with the same cause together, whatever they request", async () => {
      const { text } = await run([...objects, snapshotPod("vast", { cpu: "80" })]);
      expect(text).toContain("\n  shop/huge, shop/vast: default: no instance type");
    });

    it("names pods that wait because of the change apart from the others, in every format", async () => {
      const nodepoolFile = [file("limited.json", [snapshotPool({ limits: { cpu: "0" } })])];
      const flags = { nodepoolFile, removeNode: ["a"] };
      const { code, text } = await run(objects, flags);
      expect(code).toBe(2);
      expect(text).toContain(
        ", 1 pod without a place because of this, 1 pod without a place in any case\n",
      );
      expect(text).toMatch(/\nPods without a place because of this\n {2}shop\/a-0: /);
      expect(text).toMatch(/\nPods without a place in any case\n {2}shop\/huge: /);
      const { unplaced, after } = await simulated(objects, flags);
      expect(unplaced).toMatchObject([
        { pod: "shop/a-0", waitsAnyway: false },
        { pod: "shop/huge", waitsAnyway: true },
      ]);
      expect(after.pendingPods).toBe(2);
      for (const output of ["markdown", "html"] as const) {
        const page = await run(objects, { ...flags, output });
        expect(page.code).toBe(2);
        expect(page.text).toContain("1 pod without a place because of this, 1 pod without");
      }
    });

    it("counts replicas of one workload, and not which of them waits", async () => {
      const replica = (name: string, node?: string) => {
        const pod = snapshotPod(name, { cpu: "3", ...(node === undefined ? {} : { node }) });
        const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", controller: true };
        const ownerReferences = [{ ...owner, uid: "web" }];
        return { ...pod, metadata: { ...pod.metadata, ownerReferences } };
      };
      const cluster = [
        snapshotPool({ limits: { cpu: "4" } }),
        ...snapshotNode("a"),
        replica("web-9", "a"),
        replica("web-1"),
      ];
      const { code } = await run(cluster, { removeNode: ["a"] });
      const { unplaced } = await simulated(cluster, { removeNode: ["a"] });
      expect(unplaced).toMatchObject([{ waitsAnyway: true }]);
      expect(code).toBe(0);
    });

    /** A pod of 1 cpu of the Deployment `shop/web`, as the ReplicaSet controller creates it. */
    function live(name: string, node?: string): KubeObject {
      const pod = snapshotPod(name, { cpu: "1", ...(node === undefined ? {} : { node }) });
      const [owner] = pod.metadata.ownerReferences ?? [];
      const labels = { app: "web", "pod-template-hash": "abc" };
      const ownerReferences = owner === undefined ? [] : [{ ...owner, name: "web-abc" }];
      return { ...pod, metadata: { ...pod.metadata, labels, ownerReferences } };
    }

    function deployment(replicas: number): KubeObject {
      const requests = { cpu: "1" };
      const containers = [{ name: "main", image: "pause", resources: { requests } }];
      return {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: {
          name: "web",
          namespace: "shop",
          uid: "uid-web",
          creationTimestamp: "2026-01-05T11:00:00Z",
        },
        spec: {
          replicas,
          selector: { matchLabels: { app: "web" } },
          template: { metadata: { labels: { app: "web" } }, spec: { containers } },
        },
      } as KubeObject;
    }

    /** The pool has reached its limit with one node of 4 cpu. */
    const full = snapshotPool({ limits: { cpu: "4" } });

    it("blames the change for pods that run today, also where it deletes pods that wait", async () => {
      const runs = ["r0", "r1", "r2"].map((name) => live(name, "a"));
      const waits = ["p0", "p1", "p2"].map((name) => live(name));
      const cluster = [full, ...snapshotNode("a"), deployment(6), ...runs, ...waits];
      const none = [file("none.json", [snapshotPool({ limits: { cpu: "0" } })])];
      const flags = { removeNode: ["a"], scale: ["shop/web=3"], nodepoolFile: none };
      const { unplaced } = await simulated(cluster, flags);
      expect(unplaced.map(({ pod, waitsAnyway }) => [pod, waitsAnyway])).toEqual([
        ["shop/r0", false],
        ["shop/r1", false],
        ["shop/r2", false],
      ]);
      expect((await run(cluster, flags)).code).toBe(2);
    });

    it("counts live replicas and those of --scale as one workload", async () => {
      const runs = ["r0", "r1", "r2"].map((name) => live(name, "a"));
      const cluster = [full, ...snapshotNode("a"), deployment(4), ...runs, live("waits")];
      const more = [file("more.json", [snapshotPool({ limits: { cpu: "6" } })])];
      const flags = { scale: ["shop/web=5"], nodepoolFile: more };
      const { unplaced } = await simulated(cluster, flags);
      expect(unplaced).toMatchObject([{ pod: "shop/web-0", waitsAnyway: true }]);
      expect((await run(cluster, flags)).code).toBe(0);
    });
  });

  it("matches the schema of the reference page, without unknown fields", async () => {
    const schema = pageSchema("simulate");
    const objects = [snapshotPool(), ...sparse, snapshotPod("huge", { cpu: "70" })];
    for (const flags of [{ consolidate: true as const }, { removeNode: ["a"] }]) {
      const value = await simulated(objects, flags);
      keepsToSchema(schema, value, { podsMoved: "many" });
    }
  });
});

it("counts a pod of a leaving node without another place as waiting, and not as moved, too", async () => {
  const leaving = snapshotNode("a", { deletedAt: "2026-01-05T11:59:00Z" });
  const pods = ["p", "q"].map((name) => snapshotPod(name, { node: "a", cpu: "1" }));
  const { says, podsMoved, before, after } = await simulated([
    ...leaving,
    ...snapshotNode("b", { cpu: 2 }),
    ...pods,
  ]);
  expect(says).toContain(
    "1 pod moved, no disruption simulated (--consolidate), 1 pod without a place",
  );
  expect(podsMoved).toBe(1);
  expect([before.pods, after.pods, after.pendingPods]).toEqual([2, 1, 1]);
});
