/** The console's page What if keeps the room of CapacityBuffers, as `karpenter simulate` does. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { KubeObject } from "../../apis/meta.ts";
import type { SimulationProgress } from "../../console/source.ts";
import {
  SNAPSHOT_AT,
  SNAPSHOT_TYPES,
  snapshotNode,
  snapshotPool,
} from "../../testing/snapshots.ts";
import { readObjects, readPicture } from "../answers/read-picture.ts";
import { cloudOf } from "../plan/sources.ts";
import { type SupposedAnswer, supposed } from "./suppositions.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "karpenter-suppositions-"));
  writeFileSync(join(folder, "types.json"), SNAPSHOT_TYPES);
});
afterAll(() => rmSync(folder, { recursive: true }));

const requests = { cpu: "1" };
const TEMPLATE = {
  apiVersion: "v1",
  kind: "PodTemplate",
  metadata: { name: "room", namespace: "shop" },
  template: { spec: { containers: [{ name: "main", image: "pause", resources: { requests } }] } },
};
const BUFFER = {
  apiVersion: "autoscaling.x-k8s.io/v1beta1",
  kind: "CapacityBuffer",
  metadata: { name: "spare", namespace: "shop" },
  spec: { podTemplateRef: { name: "room" }, replicas: 3 },
};

/** Consolidates these objects, read without the room of buffers as the console's scenes are. */
function consolidated(...objects: readonly KubeObject[]): Promise<SupposedAnswer> {
  return askedHow({ asker: { isGone: () => false, tell: () => undefined } }, objects);
}

async function askedHow(
  how: Omit<Parameters<typeof supposed>[2], "moment">,
  objects: readonly KubeObject[],
): Promise<SupposedAnswer> {
  const file = join(folder, "cluster.json");
  writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }));
  const setting = ["feature-gates=CapacityBuffer=true"];
  const flags = {
    filename: [file],
    instanceTypes: join(folder, "types.json"),
    at: SNAPSHOT_AT,
    setting,
  };
  const read = await readObjects(flags);
  const moment = {
    objects: read,
    cloud: (of: Parameters<typeof cloudOf>[1], facts: Parameters<typeof cloudOf>[2]) =>
      cloudOf(flags, of, facts),
    unboundPods: [],
  };
  const asked = { nodes: [], zones: [], consolidate: true };
  return supposed(await readPicture(flags, read), asked, { ...how, moment });
}

it("keeps an empty node for a CapacityBuffer, and removes it without one", async () => {
  const objects = [snapshotPool(), ...snapshotNode("a"), TEMPLATE];
  const kept = await consolidated(...objects, BUFFER);
  expect(kept.after.nodes).toBe(1);
  expect(kept.headroom).toEqual([{ buffer: "shop/spare", pods: 3, placed: 3 }]);
  expect(kept.headroomBefore).toEqual([{ buffer: "shop/spare", pods: 3, placed: 3 }]);
  expect(Object.values(kept.nodesBefore).map(({ room }) => room)).toEqual([3]);
  expect(kept.nodesAfter).toEqual({ set: {}, del: [] });
  expect(kept.notes.filter((note) => note.includes("CapacityBuffer"))).toEqual([]);
  const free = await consolidated(...objects);
  expect(free.after.nodes).toBe(0);
  expect(free.headroom).toBeUndefined();
  expect(free.headroomBefore).toBeUndefined();
  expect(Object.values(free.nodesBefore).map(({ room }) => room)).toEqual([undefined]);
});

it("tells how far a consolidation has come, and ends it after its time with the answer so far", async () => {
  const told: SimulationProgress[] = [];
  const asker = { isGone: () => false, tell: (one: SimulationProgress) => told.push(one) };
  const objects = [snapshotPool(), ...snapshotNode("a")];
  const whole = await askedHow({ asker }, objects);
  expect([whole.ended, whole.after.nodes]).toEqual(["settled", 0]);
  expect(told.at(-1)).toMatchObject({ commands: 1, nodes: 0, longestMs: 60_000 });
  const cut = await askedHow({ asker, longestMs: 0 }, objects);
  expect(cut).toMatchObject({ ended: "stopped", after: { nodes: 1 }, steps: [], next: [] });
});

it("does not go on with a simulation for which nobody waits", async () => {
  const asker = { isGone: () => true, tell: () => undefined };
  const asked = askedHow({ asker }, [snapshotPool(), ...snapshotNode("a")]);
  await expect(asked).rejects.toThrow("the question was cancelled");
});
