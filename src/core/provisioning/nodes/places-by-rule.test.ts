import { describe, expect, it } from "vitest";
import type { Pod } from "../../../apis/core/pod.ts";
import { atOnce } from "../../../base/steps.ts";
import { pod } from "../../../testing/builders.ts";
import type { QueuedPod } from "../batch/queue.ts";
import type { TopologyGroup } from "../topology/topology-group.ts";
import { placesByRule } from "./places-by-rule.ts";

describe("placesByRule", () => {
  it("returns the nodes and number of pods for each rule, and reads the batch once", () => {
    const groups = Array.from({ length: 50 }, (_, index) => ({ index }) as TopologyGroup);
    let looks = 0;
    const queued = groups.map((group): QueuedPod => {
      const own = pod({ name: `p-${group.index}` });
      const podClass = { variants: [{ rules: [] }, { rules: [{ group }] }] };
      const item = {
        get pod(): Pod {
          looks++;
          return own;
        },
        podClass,
      };
      return item as unknown as QueuedPod;
    });
    const at = (hostname: string, pods: readonly Pod[]) => ({ hostname, pods }) as never;
    const [first, second] = queued.map((item) => item.pod) as [Pod, Pod];
    const nodes = [at("old", [first, second, first])];
    const homes = { claims: { all: [at("new", [first])] }, nodes };
    looks = 0;
    const places = placesByRule(homes, queued);
    expect(looks).toBe(0);
    const hosts = groups.map((group) =>
      [...atOnce(places(group))].map(([{ hostname }, pods]) => `${hostname}: ${pods}`),
    );
    expect(hosts.slice(0, 3)).toEqual([["new: 1", "old: 2"], ["old: 1"], []]);
    expect(looks).toBe(queued.length);
  });
});
