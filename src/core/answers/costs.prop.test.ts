import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Pod } from "../../apis/core/pod.ts";
import { shares } from "./costs.ts";

function pod(index: number, [cpu, memory, app]: readonly [number, number, number]): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: `p${index}`,
      namespace: `team-${app % 2}`,
      labels: { "pod-template-hash": "abc" },
      ownerReferences: [
        {
          apiVersion: "apps/v1",
          kind: "ReplicaSet",
          name: `app-${app}-abc`,
          uid: "u",
          controller: true,
        },
      ],
    },
    spec: {
      containers: [
        { name: "c", resources: { requests: { cpu: `${cpu}m`, memory: String(memory) } } },
      ],
    },
  } as unknown as Pod;
}

const podsOf = fc.array(fc.tuple(fc.nat(4_000), fc.nat(8_000), fc.nat(5)), { maxLength: 30 });

describe("the cost of a node", () => {
  it("is shared completely: the shares add up to its price, and idle is a part of each", () => {
    fc.assert(
      fc.property(podsOf, fc.nat(50_000_000), (drawn, price) => {
        const pods = drawn.map((one, index) => pod(index, one));
        const parts = shares({ pods, allocatable: { cpu: 4_000, memory: 8_000 } }, price);
        const sum = (pick: (one: (typeof parts)[number]) => number): number =>
          parts.reduce((all, one) => all + pick(one), 0);
        expect(sum((one) => one.microUsdPerHour)).toBe(price);
        for (const one of parts) {
          expect(one.idleMicroUsdPerHour).toBeGreaterThanOrEqual(0);
          expect(one.idleMicroUsdPerHour).toBeLessThanOrEqual(one.microUsdPerHour);
        }
      }),
    );
  });

  it("is shared by requests, with unused capacity as idle", () => {
    const pods = [pod(0, [2_000, 4_000, 0]), pod(1, [1_000, 2_000, 1])];
    expect(shares({ pods, allocatable: { cpu: 4_000, memory: 8_000 } }, 120_000)).toEqual([
      {
        namespace: "team-0",
        kind: "Deployment",
        name: "app-0",
        pods: 1,
        microUsdPerHour: 80_000,
        idleMicroUsdPerHour: 20_000,
      },
      {
        namespace: "team-1",
        kind: "Deployment",
        name: "app-1",
        pods: 1,
        microUsdPerHour: 40_000,
        idleMicroUsdPerHour: 10_000,
      },
    ]);
  });

  it("counts cpu and memory alike", () => {
    // The first pod uses half of the cpu, the second half of the memory, the third a quarter of each.
    const pods = [pod(0, [2_000, 0, 0]), pod(1, [0, 4_000, 1]), pod(2, [1_000, 2_000, 2])];
    const parts = shares({ pods, allocatable: { cpu: 4_000, memory: 8_000 } }, 120_000);
    expect(parts.map(({ name, microUsdPerHour }) => [name, microUsdPerHour])).toEqual([
      ["app-0", 40_000],
      ["app-1", 40_000],
      ["app-2", 40_000],
    ]);
  });

  it("belongs to no workload if no pod requests anything", () => {
    expect(
      shares({ pods: [pod(0, [0, 0, 0])], allocatable: { cpu: 1, memory: 1 } }, 7),
    ).toMatchObject([{ namespace: "", name: "", microUsdPerHour: 7, idleMicroUsdPerHour: 7 }]);
  });
});
