/**
 * An API server that misbehaves, on virtual time. `test/cluster/hostile.test.ts` does the same to a real one. Here
 * the count of simulated instances shows whether anything was decided on a stale view.
 */
import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Pod } from "../src/apis/core/pod.ts";
import type { NodeClaim } from "../src/apis/karpenter/nodeclaim.ts";
import { Random } from "../src/base/random.ts";
import { type Fault, type Replica, refusal, startReplica } from "./replicas.ts";
import { isUsual, openWorld, type TestWorld } from "./world.ts";

/** True in `npm run crashes`. Plain `npm test` leaves out cuts and refusals here, because test/calm covers them. */
const EVERYTHING = process.env["CRASH_RUNS"] !== undefined;
const V1 = "karpenter.sh/v1";
const MINUTE = 60_000;
const EXAMPLES = new URL("../examples/", import.meta.url);
const POOL = readFileSync(new URL("v1/nodepool.yaml", EXAMPLES), "utf8");
/** The pods may run only on Karpenter's nodes, because the managed node group has room too. */
const INFLATE = readFileSync(new URL("inflate.yaml", EXAMPLES), "utf8").replace(
  "      containers:",
  "      nodeSelector: { karpenter.sh/nodepool: default }\n      containers:",
);

const never: Fault = () => new Promise(() => undefined);
const away: Fault = async () => {
  throw new Error("connect ECONNREFUSED");
};

describe("the controller, with an API server that misbehaves,", () => {
  let world: TestWorld;
  let karpenter: Replica;

  beforeEach(async () => {
    world = await openWorld({ sells: isUsual });
    await world.box.operator.stop();
    await world.apply(POOL);
    await world.apply(INFLATE);
    karpenter = startReplica(world, "karpenter");
    await world.until("it leads", () => karpenter.operator.ready);
    await world.scale("inflate", 2);
    await untilRunning(2);
  });
  afterEach(async () => {
    karpenter.kill();
    await world.close();
  });

  async function running(): Promise<number> {
    const pods = await world.list<Pod>("Pod", "v1", "app=inflate");
    return pods.filter(({ status }) => status?.phase === "Running").length;
  }
  const untilRunning = (count: number, limitMs = 10 * MINUTE) =>
    world.until(`${count} pods run`, async () => (await running()) === count, limitMs);
  const instances = (): readonly string[] =>
    [...world.box.sandbox.aws.state.instances.values()]
      .filter(({ fleetId }) => fleetId !== undefined)
      .filter(({ state }) => state === "running" || state === "pending")
      .map(({ id }) => id)
      .sort();

  /** Expects that every instance belongs to a claim, and every claim has its instance. */
  async function expectSound(): Promise<void> {
    const claims = await world.list<NodeClaim>("NodeClaim", V1);
    const ids = claims.map(({ status }) => status?.providerID?.split("/").at(-1));
    expect(ids.sort()).toEqual(instances());
    expect(ids.length).toBeLessThanOrEqual(3);
  }

  it.runIf(EVERYTHING)("works between connections that are cut again and again", async () => {
    await world.scale("inflate", 12);
    for (let n = 0; n < 8; n++) {
      await world.advance(700);
      karpenter.cut();
    }
    await untilRunning(12);
    await expectSound();
  });

  it("decides nothing and gives up the lead while the server is unreachable for a minute", async () => {
    await world.scale("inflate", 12);
    karpenter.meet(away);
    karpenter.cut();
    const before = instances();
    let lost = false;
    void karpenter.operator.lost.then(() => {
      lost = true;
    });
    await world.advance(MINUTE);
    expect([instances(), lost]).toEqual([before, true]);
    // Kubernetes would restart the process.
    karpenter.kill();
    karpenter = startReplica(world, "karpenter-again");
    await untilRunning(12);
    await expectSound();
  });

  it.runIf(EVERYTHING)(
    "slows down and breaks nothing while every third request is answered with 429, 500 or 504",
    async () => {
      const random = new Random("errors");
      const refusals = [
        refusal(429, "TooManyRequests"),
        refusal(500, "InternalError"),
        refusal(504, "Timeout"),
      ];
      karpenter.meet(async () => (random.int(3) === 0 ? refusals[random.int(3)] : undefined));
      await world.scale("inflate", 12);
      await world.advance(20_000);
      karpenter.meet(undefined);
      if (karpenter.log.join().includes("leader election lost")) {
        karpenter.kill();
        karpenter = startReplica(world, "karpenter-again");
      }
      await untilRunning(12);
      await expectSound();
    },
  );

  it("lists again when its versions are too old", async () => {
    let expired = 0;
    karpenter.meet(async ({ path }) =>
      path.includes("watch=true") && expired++ < 30 ? refusal(410, "Expired") : undefined,
    );
    karpenter.cut();
    await world.scale("inflate", 12);
    await untilRunning(12);
    expect(expired).toBeGreaterThanOrEqual(30);
    await expectSound();
  });

  it("notices after 75 s that the watch of pods is silent, and launches nothing twice", async () => {
    karpenter.silence("pods");
    await world.scale("inflate", 12);
    await world.advance(MINUTE);
    // Karpenter does not see the new pods.
    expect(await running()).toBeLessThan(12);
    await world.until(
      "the silence is noticed",
      () => karpenter.log.some((line) => line.includes("watch went silent")),
      30_000,
    );
    await untilRunning(12);
    await expectSound();
  });

  it("loses the lead, and no node, while requests are accepted and never answered", async () => {
    await world.scale("inflate", 12);
    karpenter.meet(never);
    const second = startReplica(world, "second");
    await world.until("the other one leads", () => second.operator.ready, MINUTE);
    karpenter.kill();
    karpenter = second;
    await untilRunning(12);
    await expectSound();
  });
});
