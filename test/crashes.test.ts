/**
 * Two replicas, and the leader is killed at a random write while the cluster grows and shrinks. The other replica
 * takes over. Whatever the moment, nothing is lost, left behind or paid for without use. `CRASH_RUNS=50 npx vitest
 * run test/crashes.test.ts` plays fifty seeds (`npm run crashes`).
 */
import { readFileSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import type { Node } from "../src/apis/core/node.ts";
import type { Pod } from "../src/apis/core/pod.ts";
import type { NodeClaim } from "../src/apis/karpenter/nodeclaim.ts";
import type { KubeObject } from "../src/apis/meta.ts";
import { Random } from "../src/base/random.ts";
import { type Replica, startReplica } from "./replicas.ts";
import { isUsual, openWorld, type TestWorld } from "./world.ts";

const RUNS = Number(process.env["CRASH_RUNS"] ?? 1);
const FIRST = Number(process.env["CRASH_FIRST_SEED"] ?? 1);
const V1 = "karpenter.sh/v1";
const MINUTE = 60_000;
const POOL = readFileSync(new URL("../examples/v1/nodepool.yaml", import.meta.url), "utf8");

/** One pod per node, so that each pod needs a launch. */
const SPREAD = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web", namespace: "default" },
  spec: {
    replicas: 0,
    selector: { matchLabels: { app: "web" } },
    template: {
      metadata: { labels: { app: "web" } },
      spec: {
        terminationGracePeriodSeconds: 1,
        nodeSelector: { "karpenter.sh/nodepool": "default" },
        containers: [{ name: "c", image: "pause", resources: { requests: { cpu: "1" } } }],
        affinity: {
          podAntiAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [
              {
                topologyKey: "kubernetes.io/hostname",
                labelSelector: { matchLabels: { app: "web" } },
              },
            ],
          },
        },
      },
    },
  },
} as unknown as KubeObject;

class Drill {
  readonly world: TestWorld;
  readonly random: Random;
  /** Living and dead replicas. The first one leads while it lives. */
  replicas: Replica[] = [];
  kills = 0;
  readonly #seed: number;
  #started = 0;

  constructor(world: TestWorld, seed: number) {
    this.world = world;
    this.random = new Random(`crash/${seed}`);
    this.#seed = seed;
  }

  start(): void {
    this.replicas.push(startReplica(this.world, `seed-${this.#seed}-replica-${this.#started++}`));
  }

  /** Lets time pass until the condition holds. Five seconds after a replica dies, another one is started. */
  async until(what: string, holds: () => Promise<boolean>, limitMs = 15 * MINUTE): Promise<void> {
    const deadlineMs = this.world.clock.now() + limitMs;
    let diedMs: number | undefined;
    // How many timers had fired when the condition was last asked. While none fires, its answer stays.
    let askedAt: number | undefined;
    while (askedAt === this.world.clock.fired || !(await holds())) {
      askedAt = this.world.clock.fired;
      if (this.world.clock.now() > deadlineMs)
        throw new Error(
          `seed ${this.#seed}: never happened: ${what}\n${this.replicas[0]?.log.slice(-40).join("\n")}`,
        );
      await this.world.advance(500);
      if (!this.replicas.some(({ dead }) => dead)) continue;
      diedMs ??= this.world.clock.now();
      if (this.world.clock.now() - diedMs < 5_000) continue;
      this.kills += this.replicas.filter(({ dead }) => dead).length;
      this.replicas = this.replicas.filter(({ dead }) => !dead);
      this.start();
      askedAt = undefined;
      diedMs = undefined;
    }
  }

  get leader(): Replica {
    return this.replicas.find(({ operator }) => operator.ready) as Replica;
  }

  claims = () => this.world.list<NodeClaim>("NodeClaim", V1);
  nodes = () => this.world.list<Node>("Node", "v1", "karpenter.sh/nodepool");
  pods = async () =>
    (await this.world.list<Pod>("Pod", "v1", "app=web")).filter(
      ({ status, metadata }) =>
        status?.phase === "Running" && metadata.deletionTimestamp === undefined,
    );

  /** Ids of Karpenter's running or pending instances. */
  instances(): readonly string[] {
    return this.#ours()
      .filter(({ state }) => state === "running" || state === "pending")
      .map(({ id }) => id)
      .sort();
  }

  get launched(): number {
    return this.#ours().length;
  }

  #ours() {
    const { instances } = this.world.box.sandbox.aws.state;
    return [...instances.values()].filter(({ fleetId }) => fleetId !== undefined);
  }
}

async function openDrill(seed: number): Promise<Drill> {
  const world = await openWorld({ seed, sells: isUsual });
  await world.box.operator.stop();
  const drill = new Drill(world, seed);
  await world.apply(POOL);
  await world.apply(SPREAD);
  drill.start();
  await world.advance(1_000);
  drill.start();
  await drill.until("a replica leads", async () => drill.leader !== undefined);
  return drill;
}

/** Expects `count` claims, and exactly one instance and one node for each. */
async function expectSettled(drill: Drill, count: number): Promise<void> {
  const claims = await drill.claims();
  const ids = claims.map(({ status }) => status?.providerID?.split("/").at(-1) ?? "none").sort();
  expect(ids).toEqual(drill.instances());
  expect(new Set(ids).size).toBe(count);
  expect((await drill.nodes()).length).toBe(count);
}

const NODES = 5;
let kills = 0;

describe("two replicas, with the leader killed at any write", () => {
  const seeds = Array.from({ length: RUNS }, (_, index) => FIRST + index);

  afterAll(() => {
    // Without a kill, a drill would show nothing.
    expect(kills).toBeGreaterThanOrEqual(RUNS);
  });

  it.each(seeds)(
    "seed %i: the other replica takes over; no instance is lost, doubled or left",
    async (seed) => {
      const drill = await openDrill(seed);
      const { world, random } = drill;
      try {
        await world.scale("web", NODES);
        drill.leader.killAtWrite(1 + random.int(12 * NODES), random.int(2) === 0);
        await drill.until("all pods run", async () => (await drill.pods()).length === NODES);
        // Instances that a crash left without a claim are removed within minutes.
        await drill.until(
          "instances are what claims say",
          async () => drill.instances().length === NODES && (await drill.claims()).length === NODES,
        );
        await expectSettled(drill, NODES);
        // A launch may be repeated only if its answer was lost in a kill.
        expect(drill.launched).toBeLessThanOrEqual(NODES * (1 + drill.kills));

        drill.leader.killAtWrite(1 + random.int(10 * NODES), random.int(2) === 0);
        await world.scale("web", 1);
        await drill.until("one node is left", async () => (await drill.nodes()).length === 1);
        await drill.until("one claim is left", async () => (await drill.claims()).length === 1);
        await drill.until("one instance is left", async () => drill.instances().length === 1);
        await expectSettled(drill, 1);

        drill.leader.killAtWrite(1 + random.int(8), random.int(2) === 0);
        await world.remove("NodePool", "default", V1);
        await drill.until("no node is left", async () => (await drill.nodes()).length === 0);
        await drill.until("no claim is left", async () => (await drill.claims()).length === 0);
        await drill.until("no instance is left", async () => drill.instances().length === 0);
        await drill.until(
          "the pool is gone",
          async () => (await world.list("NodePool", V1)).length === 0,
        );
      } finally {
        kills += drill.kills;
        for (const replica of drill.replicas) replica.kill();
        await world.close();
      }
    },
  );
});
