import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { TraceEvent } from "../../sandbox/trace.ts";
import { play } from "./play-scenario.ts";
import { readScenario } from "./story-file.ts";
import { StoryMoney } from "./story-money.ts";

type Told = readonly [verb: string, object: string, microUsdPerHour?: number];

function told(...events: readonly Told[]): string {
  const money = new StoryMoney();
  for (const [verb, object, microUsdPerHour] of events) {
    const event = { atMs: 0, actor: "karpenter", verb, object, what: "" };
    money.add(microUsdPerHour === undefined ? event : { ...event, microUsdPerHour });
  }
  return money.says;
}

describe("the cost of a scenario", () => {
  it("has the present cost, the peak, and what commands saved", () => {
    expect(
      told(
        ["launched", "nodeclaim a", 100_000],
        ["launched", "nodeclaim b", 200_000],
        ["deleting", "nodeclaim b", 200_000],
        ["terminated", "nodeclaim b"],
      ),
    ).toBe("$0.1000/h now, $0.3000/h at its peak, disruption saved $0.2000/h");
  });

  it("says that disruption made the cluster more expensive, and ignores nodes without a known price", () => {
    expect(told(["launched", "nodeclaim a"], ["deleting", "nodeclaim a", -50_000])).toBe(
      "$0.0000/h now, $0.0000/h at its peak, disruption cost $0.0500/h more",
    );
  });

  it("agrees with the lines of a played scenario", { timeout: 60_000 }, async () => {
    const file = fileURLToPath(new URL("../../../examples/first-light.yaml", import.meta.url));
    const money = new StoryMoney();
    const launched: TraceEvent[] = [];
    await play(
      readScenario(file),
      dirname(file),
      {
        seed: 1,
        provider: "aws",
        clusterName: "karpenter-demo",
        region: "us-west-2",
        kubernetesVersion: "1.34",
        logLevel: "error",
      },
      (event) => {
        money.add(event);
        if (event.actor === "karpenter" && event.verb === "launched") launched.push(event);
      },
    );
    const [price = ""] = /\$[\d.]+/.exec(launched.map(({ what }) => what).join()) ?? [];
    expect(launched).toHaveLength(1);
    expect(money.says).toBe(`$0.0000/h now, ${price}/h at its peak, disruption saved ${price}/h`);
  });
});
