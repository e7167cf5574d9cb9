/**
 * An AWS with a quota, with eventual consistency and with slow boots, all together. In the end pods run on the
 * instances that were launched first, and nothing leaks. One world for all checks, since each world costs a
 * second.
 */
import { afterEach, describe, expect, it } from "vitest";
import type { Pod } from "../src/apis/core/pod.ts";
import type { NodeClaim } from "../src/apis/karpenter/nodeclaim.ts";
import { isUsual, openWorld, type TestWorld } from "./world.ts";

const SECOND = 1_000;
const MINUTE = 60_000;
const V1BETA1 = "karpenter.sh/v1beta1";

let world: TestWorld;
afterEach(() => world.close());

async function running(): Promise<readonly Pod[]> {
  const pods = await world.list<Pod>("Pod");
  return pods.filter(
    (pod) => pod.metadata.namespace === "default" && pod.status?.phase === "Running",
  );
}

/** Ids of all instances that fleets launched, including ended ones. */
function launched(): readonly string[] {
  const all = [...world.box.sandbox.aws.state.instances.values()];
  return all
    .filter((one) => one.fleetId !== undefined)
    .map((one) => one.id)
    .sort();
}

function isQuotaTold(): boolean {
  return world.log().some((line) => line.includes("MaxSpotInstanceCountExceeded"));
}

async function claimed(): Promise<readonly string[]> {
  const claims = await world.list<NodeClaim>("NodeClaim", V1BETA1);
  return claims.map((one) => one.status?.providerID?.split("/").at(-1) ?? "").sort();
}

describe("the controller, with a spot quota of 0, delayed knowledge of new resources and slow boots,", () => {
  it("reports the quota, launches once it is raised, and ends with no instance too many or lost", async () => {
    world = await openWorld({ sells: isUsual });
    const { faults } = world.box.sandbox.aws;
    const raise = faults.limitQuota({ capacityType: "spot", vcpus: 0 });
    faults.tellLate(10 * SECOND);
    faults.slowBoot({ byMs: 90 * SECOND });
    await world.applySeed("s4-01-spot.yaml");
    await world.applySeed("s4-02-spot-deploy.yaml");
    // The first fleets are refused, because EC2 does not know the new launch templates yet.
    await world.until("the quota is told of", isQuotaTold, MINUTE);
    expect(launched()).toEqual([]);
    raise();
    await world.until("a machine is launched", () => launched().length > 0, 5 * MINUTE);
    await world.advance(10 * SECOND);
    const first = launched();
    await world.until("both pods run", async () => (await running()).length === 2, 10 * MINUTE);
    await world.advance(2 * MINUTE);
    expect(launched()).toEqual(first);
    expect(await claimed()).toEqual(first);
    expect(await running()).toHaveLength(2);
  });
});
