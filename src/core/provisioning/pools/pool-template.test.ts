import { describe, expect, it } from "vitest";
import { instanceType, pod, poolInput, schedulingInput } from "../../../testing/builders.ts";
import { solve } from "../solve.ts";

describe("what daemons take of a new node", () => {
  it("is counted in its requests as the least that any of its types has of each resource", () => {
    const owner = { kind: "DaemonSet", name: "agent" };
    const daemon = (name: string, cpu: number) =>
      pod({
        name,
        cpu: `${cpu}m`,
        memory: "64Mi",
        owner: { ...owner, name },
        spec: { nodeSelector: { "node.kubernetes.io/instance-type": `m-${cpu / 100}x` } },
      });
    const requests = (...daemons: readonly number[]) =>
      solve(
        schedulingInput({
          pods: [pod({ cpu: "1" })],
          pools: [
            poolInput(
              {},
              [2, 4].map((cpu) => instanceType({ cpu })),
            ),
          ],
          daemonPods: daemons.map((cpu) => daemon(`on-${cpu}`, cpu)),
        }),
      ).newClaims[0]?.requests["cpu"];
    expect(requests(200, 400)).toBe(1_200);
    // No daemon runs on nodes of the other type.
    expect(requests(200)).toBe(1_000);
    expect(requests(400)).toBe(1_000);
  });
});

describe("types that a pool's limits leave out", () => {
  it("are all of them once it has as many nodes as it may", () => {
    const excluded = (nodes: number) => {
      const pools = [{ ...poolInput({ limits: { nodes: 2 } }), usage: { nodes } }];
      return solve(schedulingInput({ pods: [pod()], pools })).excludedByLimits;
    };
    expect(excluded(1)).toEqual([]);
    expect(excluded(2)).toEqual([{ poolId: "nodepool/default", excluded: 4, total: 4 }]);
  });
});
