/** What an AWS that is slow, short or forgetful does to a cluster: pods run in the end, and nothing leaks. */
import { afterEach, describe, expect, it } from "vitest";
import type { Pod } from "../src/apis/core/pod.ts";
import type { NodeClaim } from "../src/apis/karpenter/nodeclaim.ts";
import { openWorld, type TestWorld } from "./world.ts";

const SECOND = 1_000;
const MINUTE = 60_000;
const V1BETA1 = "karpenter.sh/v1beta1";

let world: TestWorld;
afterEach(() => world.close());

/** The pool of seed 4's spot chapter, and no pods yet. */
async function begin(): Promise<void> {
  world = await openWorld();
  await world.applySeed("s4-01-spot.yaml");
  await world.advance(5 * SECOND);
}

async function run(): Promise<void> {
  await world.applySeed("s4-02-spot-deploy.yaml");
  const areRunning = async () => (await running()).length === 2;
  await world.until("both pods run", areRunning, 20 * MINUTE);
}

async function running(): Promise<readonly Pod[]> {
  const pods = await world.list<Pod>("Pod");
  return pods.filter(
    (pod) => pod.metadata.namespace === "default" && pod.status?.phase === "Running",
  );
}

/** Machines that fleets launched and that are not gone. */
function machines(): readonly string[] {
  const all = [...world.box.sandbox.aws.state.instances.values()];
  const live = all.filter(
    (one) => one.fleetId !== undefined && !/terminated|shutting/.test(one.state),
  );
  return live.map((one) => one.id).sort();
}

async function claimed(): Promise<readonly string[]> {
  const claims = await world.list<NodeClaim>("NodeClaim", V1BETA1);
  return claims.map((one) => one.status?.providerID?.split("/").at(-1) ?? "").sort();
}

describe("an AWS that", () => {
  it("knows of new machines and launch templates only after a while loses neither claims nor machines", async () => {
    await begin();
    world.box.sandbox.aws.faults.tellLate(20 * SECOND);
    await run();
    await world.advance(4 * MINUTE);
    expect(await claimed()).toEqual(machines());
    expect(await running()).toHaveLength(2);
  });

  it("boots machines slowly is waited for: no second one is launched meanwhile", async () => {
    await begin();
    world.box.sandbox.aws.faults.slowBoot({ byMs: 3 * MINUTE });
    await run();
    const first = machines();
    await world.advance(2 * MINUTE);
    expect(machines()).toEqual(first);
    expect(await claimed()).toEqual(first);
  });

  it("has a quota of spot says so on the claim, and goes on once it is raised", async () => {
    await begin();
    const raise = world.box.sandbox.aws.faults.limitQuota({ capacityType: "spot", vcpus: 0 });
    await world.applySeed("s4-02-spot-deploy.yaml");
    await world.advance(30 * SECOND);
    expect(machines()).toEqual([]);
    expect(world.log().join("\n")).toContain("MaxSpotInstanceCountExceeded");
    raise();
    await world.until("both pods run", async () => (await running()).length === 2, 20 * MINUTE);
  });
});
