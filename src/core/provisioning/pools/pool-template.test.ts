import { describe, expect, it } from "vitest";
import type { Resources } from "../../../apis/resources.ts";
import { Random } from "../../../base/random.ts";
import { instanceType, pod, poolInput, schedulingInput } from "../../../testing/builders.ts";
import { bitIndices, noBits, setBit } from "../../scheduling/bits.ts";
import { RequirementSpace } from "../../scheduling/requirement-space.ts";
import { solve } from "../solve.ts";
import {
  affordable,
  chargeLimits,
  createTemplate,
  mayRunOut,
  withinLimits,
} from "./pool-template.ts";

describe("DaemonSet overhead in the requests of a new node", () => {
  it("is the least overhead that one of its types has, for each resource", () => {
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

describe("types excluded by a NodePool limit", () => {
  it("are all types once the pool has reached limits.nodes", () => {
    const excluded = (nodes: number) => {
      const pools = [{ ...poolInput({ limits: { nodes: 2 } }), usage: { nodes } }];
      return solve(schedulingInput({ pods: [pod()], pools })).excludedByLimits;
    };
    expect(excluded(1)).toEqual([]);
    expect(excluded(2)).toEqual([{ poolId: "nodepool/default", excluded: 4, total: 4 }]);
  });
});

describe("NodePool limits during planning", () => {
  const bitsOf = (rows: readonly number[], size: number) => {
    const bits = noBits(size);
    for (const row of rows) setBit(bits, row);
    return bits;
  };

  it("are charged with the largest type for each resource, and leave the types that still fit", () => {
    const random = new Random("limits");
    for (let round = 0; round < 60; round++) {
      const limits = {
        ...(random.int(2) === 0 ? { cpu: 1_000 * (8 + random.int(60)) } : {}),
        ...(random.int(3) === 0 ? { memory: 2 ** 30 * (16 + random.int(200)) } : {}),
        ...(random.int(3) === 0 ? { nodes: 1 + random.int(3) } : {}),
      };
      const template = createTemplate(
        poolInput({ limits }),
        0,
        new RequirementSpace(new Set()),
        [],
      );
      const { types } = template.table;
      const most = (rows: readonly number[], name: string) =>
        Math.max(name === "nodes" ? 1 : 0, ...rows.map((row) => types[row]?.capacity[name] ?? 0));
      const left: Record<string, number> = { ...limits };
      let among = [...types.keys()];
      for (let step = 0; step < 4 && among.length > 0; step++) {
        const fits = (row: number, more: Readonly<Record<string, number>> = {}) =>
          Object.keys(left).every(
            (name) => (types[row]?.capacity[name] ?? 0) <= (left[name] ?? 0) + (more[name] ?? 0),
          );
        among = (left["nodes"] ?? 1) < 1 ? [] : among.filter((row) => fits(row));
        expect(bitIndices(template.limitsLeft.within)).toEqual(among);
        expect(
          [...types.keys()].filter((row) => withinLimits(template, types[row] as never)),
        ).toEqual((left["nodes"] ?? 1) < 1 ? [] : [...types.keys()].filter((row) => fits(row)));
        const nodes = 1 + random.int(3);
        expect(mayRunOut(template, nodes)).toBe(
          Object.keys(left).some((name) => (left[name] ?? 0) < most(among, name) * (nodes + 1)),
        );
        const some = among.filter(() => random.int(2) === 0);
        const before: Resources = random.int(2) === 0 ? { cpu: 2_000 } : {};
        const charged = chargeLimits(template, bitsOf(some, types.length), before);
        for (const name of Object.keys(left)) {
          const amount = Math.max(before[name] ?? 0, most(some, name));
          expect(charged[name] ?? 0).toBe(amount);
          left[name] = (left[name] ?? 0) - (amount - (before[name] ?? 0));
        }
        const paid = affordable(template, charged);
        expect(paid && bitIndices(paid)).toEqual(
          [...types.keys()].every((row) => fits(row, charged))
            ? undefined
            : [...types.keys()].filter((row) => fits(row, charged)),
        );
      }
    }
  });
});
