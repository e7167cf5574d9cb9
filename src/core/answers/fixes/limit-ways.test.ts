import { describe, expect, it } from "vitest";
import { instanceType, poolInput } from "../../../testing/builders.ts";
import type { PlannedClaim } from "../../provisioning/result.ts";
import { fittedLimits, type LimitFacts, limitWays } from "./limit-ways.ts";

const GI = 2 ** 30;
const { pool } = poolInput({ limits: { cpu: 10_000, memory: GI, nodes: 1 } });
const [small, large] = [4, 8].map((cpu) => instanceType({ name: `m-${cpu}`, cpu, memoryGi: 1 }));
const counted: LimitFacts = {
  pool,
  usage: { cpu: 2_000 },
  largest: { cpu: 16_000, memory: GI, nodes: 1 },
  pods: 5,
};
const claims = [1, 2].map(
  () => ({ pool, instanceTypes: [small, large] }) as unknown as PlannedClaim,
);
const poolId = pool.id;
const limit = (resource: string, from: number, to: number) =>
  ({ on: "pool", poolId, change: "limit", resource, from, to }) as const;

describe("limitWays", () => {
  it("raises limits to what planned nodes need, to their largest types, and beyond all plans", () => {
    const [memory, nodes] = [limit("memory", GI, 2 * GI), limit("nodes", 1, 2)];
    const far = [
      limit("cpu", 10_000, 82_000),
      limit("memory", GI, 5 * GI),
      limit("nodes", 1, 5),
    ] as const;
    expect(limitWays(counted, claims)).toEqual([
      [memory, nodes],
      [limit("cpu", 10_000, 18_000), memory, nodes],
      [limit("cpu", 10_000, 34_000), memory, nodes],
      ...far.map((edit) => [edit]),
      [far[0], far[1]],
      [far[0], far[2]],
      [far[1], far[2]],
    ]);
  });

  it("omits limits that have enough room", () => {
    const ample = { ...pool, limits: { cpu: 82_000, nodes: 5 } };
    expect(limitWays({ ...counted, pool: ample }, claims)).toEqual([]);
  });
});

describe("fittedLimits", () => {
  it("lowers limits beyond all plans to what planned nodes need or may count", () => {
    const drop = { on: "pod", change: "dropKey", key: "team" } as const;
    const edits = [limit("cpu", 10_000, 82_000), drop];
    expect(fittedLimits(edits, () => counted, claims)).toEqual([
      [limit("cpu", 10_000, 18_000), drop],
      [limit("cpu", 10_000, 34_000), drop],
    ]);
    expect(fittedLimits([limit("cpu", 10_000, 18_000)], () => counted, claims)).toEqual([]);
  });
});
