/**
 * What `karpenter explain --cluster` reads of a running Karpenter: the settings and prices that the controller
 * itself uses.
 */
import { describe, expect, it } from "vitest";
import type { ConfigMap } from "../src/apis/core/kinds.ts";
import { FACTS, type Facts, factsOf } from "../src/apis/karpenter/facts.ts";
import { isUsual, openWorld } from "./world.ts";

describe("a running controller", () => {
  it("publishes its settings and the prices of its cloud in a ConfigMap", async () => {
    const flags = { "feature-gates": "SpotToSpotConsolidation=true", "surge-timeout": "90s" };
    const world = await openWorld({ sells: isUsual, flags, isAsked: true });
    const facts = async (): Promise<Facts | undefined> =>
      factsOf(await world.get<ConfigMap>("ConfigMap", FACTS, "v1", "karpenter"));
    await world.advance(60_000);
    const first = await facts();
    expect(first?.settings).toMatchObject({ ...flags, "surge-timeout": "1m30s" });
    const { SpotPriceHistory } = await world.box.sandbox.aws.api.ec2.describeSpotPriceHistory({
      InstanceTypes: ["m5.large"],
    });
    expect(SpotPriceHistory.length).toBeGreaterThan(0);
    for (const { AvailabilityZone, SpotPrice } of SpotPriceHistory) {
      const key = `m5.large/${AvailabilityZone}`;
      expect(first?.prices?.spot.get(key)).toBe(Math.round(Number(SpotPrice) * 1e6));
    }
    await world.close();
  });
});
