/** What `karpenter simulate` does with the room that CapacityBuffers keep. */
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
  snapshotPod,
  snapshotPool,
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

const TEMPLATE = {
  apiVersion: "v1",
  kind: "PodTemplate",
  metadata: { name: "room", namespace: "shop" },
  template: {
    spec: {
      containers: [{ name: "main", image: "pause", resources: { requests: { cpu: "1" } } }],
    },
  },
};
const buffer = (replicas: number) => ({
  apiVersion: "autoscaling.x-k8s.io/v1beta1",
  kind: "CapacityBuffer",
  metadata: { name: "spare", namespace: "shop" },
  spec: { podTemplateRef: { name: "room" }, replicas },
});
const GATE = ["feature-gates=CapacityBuffer=true"];

async function run(
  objects: readonly KubeObject[],
  flags: Partial<SimulateFlags>,
): Promise<{ text: string; code: number }> {
  const path = join(folder, "cluster.json");
  writeFileSync(path, JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }));
  const said: string[] = [];
  const code = await runSimulate(
    {
      filename: [path],
      instanceTypes: join(folder, "types.json"),
      at: SNAPSHOT_AT,
      output: "text",
      setting: GATE,
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
  const answer = JSON.parse((await run(objects, { ...flags, output: "json" })).text);
  keepsToSchema(pageSchema("simulate"), answer, { podsMoved: "many" });
  return answer;
}

/** Nodes of 4 cpu (3.9 of them for pods) with one pod of 900m each. */
const nodes = (names: string) =>
  names
    .split("")
    .flatMap((name) => [
      ...snapshotNode(name),
      snapshotPod(`${name}-0`, { node: name, cpu: "900m" }),
    ]);

describe("karpenter simulate with CapacityBuffers", () => {
  it("keeps their room in consolidation, and counts their pods nowhere else", async () => {
    const objects = [snapshotPool(), ...nodes("abcd"), TEMPLATE, buffer(5)];
    const answer = await simulated(objects, { consolidate: true });
    expect(answer.before).toMatchObject({ nodes: 4, pods: 4, pendingPods: 0 });
    // The pods need 3.6 cpu and the buffer 5: the cheapest nodes for both have 8 and 2.
    expect(answer.after).toMatchObject({
      nodes: 2,
      pods: 4,
      pendingPods: 0,
      priceMicroUsdPerHour: 500_000,
    });
    expect(answer.headroom).toEqual([{ buffer: "shop/spare", pods: 5, placed: 5 }]);
    expect(answer.ended).toBe("settled");
    expect(JSON.stringify(answer)).not.toContain("capacity-buffer:");
    expect(answer.unplaced).toEqual([]);
  });

  it("keeps an empty node for them, and removes it without them", async () => {
    const objects = [snapshotPool(), ...snapshotNode("a"), TEMPLATE];
    const kept = await simulated([...objects, buffer(3)], { consolidate: true });
    expect(kept.steps).toEqual([]);
    const free = await simulated(objects, { consolidate: true });
    expect(free.after.nodes).toBe(0);
    expect(free.headroom).toBeUndefined();
  });

  it("launches the room that they lack", async () => {
    const { text, code } = await run([snapshotPool(), ...nodes("a"), TEMPLATE, buffer(5)], {});
    expect(code).toBe(0);
    expect(text).toMatchInlineSnapshot(`
      "1 -> 2 nodes, $0.2000 -> $0.4000 an hour, 0 pods moved, no disruption simulated (--consolidate)

      Steps
        2026-01-05T12:00:00Z  $0.4000/h  0 pods  0 pods placed, 1 node launched, room for 2 of shop/spare: default-new-1 (m-4, on-demand, a)

      Room kept for CapacityBuffers
        shop/spare: 5 of 5 pods
      "
    `);
  });

  it("gives their room to a pending pod at once, and makes room again", async () => {
    const pending = snapshotPod("new", { cpu: "3" });
    const answer = await simulated([snapshotPool(), ...nodes("a"), TEMPLATE, buffer(3), pending]);
    expect(answer.steps.map(({ moves, launched }) => [moves, launched.length])).toEqual([
      [[{ pod: "shop/new", to: "a" }], 0],
      [[], 1],
    ]);
    expect(answer.headroom).toEqual([{ buffer: "shop/spare", pods: 3, placed: 3 }]);
  });

  it("says what they lack in the end, which is no pod without a place", async () => {
    const pool = snapshotPool({ limits: { cpu: "4" } });
    const { text, code } = await run([pool, ...nodes("a"), TEMPLATE, buffer(5)], {
      consolidate: true,
    });
    expect(code).toBe(0);
    expect(text).toContain("Room kept for CapacityBuffers\n  shop/spare: 3 of 5 pods\n");
    expect(text).not.toContain("Pods without a place");
  });

  it.each(["markdown", "html", "svg"] as const)("reports their room as %s", async (output) => {
    const objects = [snapshotPool({ limits: { cpu: "4" } }), ...nodes("a"), TEMPLATE, buffer(5)];
    const { text } = await run(objects, { output });
    expect(text.replace(/<[^>]*>|\*\*/g, "")).toMatch(/Buffer pods with room:?\s*3 of 5/);
    if (output !== "svg")
      expect(text).toMatch(/Room kept for CapacityBuffers[\s\S]*shop\/spare: 3 of 5 pods/);
  });
});
