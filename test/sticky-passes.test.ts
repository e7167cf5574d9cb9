/**
 * Sticky placement, checked over random batches. Later passes, restarts and other leaders launch nothing more
 * while nodes start. A pod that loses its planned room causes at most one more node, and an event names the pod
 * that took the room.
 */
import { describe, expect, it } from "vitest";
import type { Event } from "../src/apis/core/kinds.ts";
import type { Pod } from "../src/apis/core/pod.ts";
import type { KubeObject } from "../src/apis/meta.ts";
import { kwokPoolManifest, ON_DEMAND } from "../src/testing/manifests.ts";
import { drawWave } from "./answers/draw-wave.ts";
import { type Replica, startReplica } from "./replicas.ts";
import { isUsual, openWorld, type TestWorld } from "./world.ts";

/** Seeds of the batches. STICKY_SEEDS=50 tries fifty. */
const SEEDS = Array.from({ length: Number(process.env["STICKY_SEEDS"] ?? 2) }, (_, seed) => seed);
const TEN_SECONDS = 10_000;

/** The batch of a seed, without limits: under a limit a later pass may launch what an earlier one could not. */
function batchOf(seed: number): readonly KubeObject[] {
  const { story, apps } = drawWave(seed, "aws");
  return [...story.objects, ...apps].map((object) => {
    if (object.kind !== "NodePool") return object;
    const { limits: _, ...spec } = (object as KubeObject & { spec: { limits?: object } }).spec;
    return { ...object, spec } as KubeObject;
  });
}

async function claimNames(world: TestWorld): Promise<readonly string[]> {
  const claims = await world.list("NodeClaim", "karpenter.sh/v1");
  return claims.map(({ metadata }) => metadata.name).sort();
}

/** Applies the batch. Returns the claims of all passes, until a pass launches nothing more. */
async function launch(world: TestWorld, seed: number): Promise<readonly string[]> {
  for (const object of batchOf(seed)) await world.apply(object);
  await world.until("claims are there", async () => (await claimNames(world)).length > 0);
  await world.advance(3_000);
  return claimNames(world);
}

async function waiting(world: TestWorld): Promise<number> {
  const pods = await world.list<Pod>("Pod");
  return pods.filter(({ spec }) => (spec.nodeName ?? "") === "").length;
}

describe("while nodes start and nothing else changes", () => {
  it.each(SEEDS)("later passes launch nothing (batch %d)", { timeout: 600_000 }, async (seed) => {
    const world = await openWorld({ sells: isUsual });
    try {
      const first = await launch(world, seed);
      expect(await waiting(world)).toBeGreaterThan(0);
      for (let pass = 0; pass < 2; pass++) {
        await world.advance(TEN_SECONDS);
        expect(await claimNames(world)).toEqual(first);
      }
    } finally {
      await world.close();
    }
  });

  it.each(SEEDS)("two restarts launch nothing (batch %d)", { timeout: 600_000 }, async (seed) => {
    const world = await openWorld({ sells: isUsual });
    try {
      const first = await launch(world, seed);
      for (let restart = 0; restart < 2; restart++) {
        await world.box.restart();
        await world.advance(TEN_SECONDS);
        expect(await waiting(world)).toBeGreaterThan(0);
        expect(await claimNames(world)).toEqual(first);
      }
    } finally {
      await world.close();
    }
  });

  it("two changes of the leader launch nothing", { timeout: 600_000 }, async () => {
    const world = await openWorld({ sells: isUsual });
    let leader: Replica | undefined;
    const lead = async (identity: string): Promise<void> => {
      leader = startReplica(world, identity);
      await world.until(`${identity} leads`, () => leader?.operator.ready === true);
    };
    /** Stops as a terminated process does: it releases its Lease, so the next one need not wait. */
    const resign = async (): Promise<void> => {
      const stopping = leader?.operator.stop();
      await world.advance(1_000);
      await stopping;
      leader?.kill();
    };
    try {
      await world.box.operator.stop();
      await lead("first");
      const first = await launch(world, 0);
      for (const identity of ["second", "third"]) {
        await resign();
        await lead(identity);
        await world.advance(TEN_SECONDS);
        expect(await waiting(world)).toBeGreaterThan(0);
        expect(await claimNames(world)).toEqual(first);
      }
    } finally {
      leader?.kill();
      await world.close();
    }
  });
});

/** Nobody removes the startup taint, so kube-scheduler binds nothing to these nodes. */
const POOL = kwokPoolManifest({
  template: "startupTaints: [{key: example.com/agent, effect: NoSchedule}]",
  requirements: ['{key: karpenter.kwok.sh/instance-cpu, operator: In, values: ["4"]}', ON_DEMAND],
  disruption: "{consolidationPolicy: WhenEmpty, consolidateAfter: Never}",
});

function pod(name: string, more: object = {}): KubeObject {
  const resources = { requests: { cpu: "3" } };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default" },
    spec: {
      nodeSelector: { "karpenter.sh/nodepool": "default" },
      containers: [{ name: "c", image: "pause", resources }],
      ...more,
    },
  } as KubeObject;
}

describe("pods whose planned room was taken", () => {
  it("get one more node each at most, and an event names the pod that took the room", async () => {
    const world = await openWorld({ provider: "kwok" });
    try {
      await world.apply(POOL);
      const planned = ["planned-0", "planned-1", "planned-2"];
      for (const name of planned) await world.apply(pod(name));
      const nodes = () => world.list("Node", "v1", "karpenter.sh/nodepool=default");
      await world.until("each has a node", async () => (await nodes()).length === 3);
      // Other pods are bound there, as by a scheduler that does not know the plan.
      const taken = (await nodes()).slice(0, 2).map(({ metadata }) => metadata.name);
      for (const [index, nodeName] of taken.entries())
        await world.apply(pod(`taker-${index}`, { nodeName }));
      await world.advance(120_000);
      expect(await claimNames(world)).toHaveLength(5);
      const events = await world.list<Event>("Event");
      const lost = events.filter(({ message }) => message?.includes("was bound there instead"));
      const told = new Map(lost.map((one) => [one.involvedObject.name, one.message ?? ""]));
      expect(told.size).toBe(2);
      for (const [name, message] of told) {
        expect(planned).toContain(name);
        expect(message).toMatch(/default\/taker-[01] was bound there instead/);
      }
    } finally {
      await world.close();
    }
  });
});
