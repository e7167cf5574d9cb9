import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../base/virtual-clock.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { runScenario, type ScenarioDeps } from "./run-scenario.ts";
import { parseScenario } from "./scenario.ts";

const POD = { name: "pods", kind: "Pod", namespaced: true, verbs: ["list"] };
const UNTIL_TWO = parseScenario(
  {
    name: "two",
    story: "Two pods come.",
    steps: [{ until: { within: "1m", that: [{ kind: "Pod", count: 2 }] } }],
  },
  "two.yaml",
);

/** A cluster that gets a pod after 10 s and after 20 s, and counts how often its pods are listed. */
function cluster() {
  const clock = new VirtualClock();
  let lists = 0;
  let pods = 0;
  for (const ms of [10_000, 20_000]) clock.after(ms, () => pods++);
  const items = () =>
    Array.from({ length: pods }, (_, at) => ({
      metadata: { name: `${at}`, namespace: "default" },
    }));
  const client = {
    raw: async () => ({ body: { resources: [POD] } }),
    list: async () => {
      lists++;
      return { items: items(), resourceVersion: "1" };
    },
  } as unknown as KubeClient;
  const deps = { client, trace: () => undefined, load: () => [], fault: () => undefined };
  return { clock, deps, lists: () => lists };
}

describe("a step of a scenario that waits", () => {
  it("checks only after timers fired, and ends at the same time", async () => {
    const { clock, deps, lists } = cluster();
    const beganMs = clock.now();
    const { kept, broken } = await runScenario(UNTIL_TWO, { ...deps, clock });
    expect({ kept, broken }).toEqual({ kept: 1, broken: [] });
    expect(clock.now() - beganMs).toBe(20_000);
    // At the start, after each of the two timers, and once to say what was kept.
    expect(lists()).toBe(4);
  });

  it("checks twice a second on a clock that does not count timers", async () => {
    const { clock, deps, lists } = cluster();
    const beganMs = clock.now();
    const live: ScenarioDeps["clock"] = {
      now: () => clock.now(),
      advance: (ms) => clock.advance(ms),
      settle: () => clock.settle(),
    };
    await runScenario(UNTIL_TWO, { ...deps, clock: live });
    expect(clock.now() - beganMs).toBe(20_000);
    expect(lists()).toBe(42);
  });
});
