/** Whether pods that consolidation moves arrive on the nodes that were planned for them. */
import { describe, expect, it } from "vitest";
import { scenariosC } from "../bench/scenarios-c.ts";
import { playOne } from "../bench/settled/played.ts";

describe("pods with a topology spread over zones, whose nodes a command replaces,", () => {
  it("move to the planned nodes: none waits, and no other node is launched", async () => {
    const scenario = scenariosC(6).find(({ name }) => name === "C-spread");
    if (scenario === undefined) throw new Error("there is no scenario C-spread");
    const { moved, unplanned, longestWaitMs } = await playOne(scenario, 5);
    expect(moved).toBeGreaterThan(10);
    expect({ unplanned, longestWaitMs }).toEqual({ unplanned: 0, longestWaitMs: 0 });
  });
});
