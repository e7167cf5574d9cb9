/** Whether pods that consolidation moves arrive on the nodes that were planned for them. */
import { describe, expect, it } from "vitest";
import { scenariosC } from "../bench/scenarios-c.ts";
import { playOne } from "../bench/settled/played.ts";

describe("pods that are spread over zones", () => {
  it("are moved to the nodes made for them: none waits, no other node is bought", async () => {
    const scenario = scenariosC(6).find(({ name }) => name === "C-spread");
    if (scenario === undefined) throw new Error("there is no scenario C-spread");
    const { moved, unplanned, longestWaitMs } = await playOne(scenario, 5);
    expect(moved).toBeGreaterThan(10);
    expect({ unplanned, longestWaitMs }).toEqual({ unplanned: 0, longestWaitMs: 0 });
  });
});
