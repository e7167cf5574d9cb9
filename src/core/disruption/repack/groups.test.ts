import { expect, it } from "vitest";
import { Random } from "../../../base/random.ts";
import { atOnce } from "../../../base/steps.ts";
import type { Candidate } from "../candidates.ts";
import { groupByPool, poolGroups } from "./groups.ts";

const POOLS = ["a", "b", "c", "d", "e", "f"];

/** All pools that are connected with this one through shared lists. */
function reached(pool: string, openTo: readonly (readonly string[])[]): readonly string[] {
  const found = new Set([pool]);
  for (const one of found)
    for (const list of openTo) if (list.includes(one)) for (const other of list) found.add(other);
  return [...found].sort();
}

it("groups pools that the same pods could use, directly or through other pools", () => {
  const random = new Random("groups");
  for (let round = 0; round < 80; round++) {
    const openTo = Array.from({ length: random.int(5) }, () =>
      POOLS.filter(() => random.int(3) === 0),
    );
    const groupOf = groupByPool(openTo);
    const named = POOLS.filter((pool) => openTo.flat().includes(pool));
    const found = POOLS.flatMap((pool) => groupOf(pool) ?? []);
    expect(found.map((group) => [...group].sort())).toEqual(
      named.map((pool) => reached(pool, openTo)),
    );
    // All pools of a group must get the same set object.
    expect(new Set(found).size).toBe(new Set(found.map((group) => [...group].sort().join())).size);
    const candidates = Array.from({ length: random.int(6) }, () => {
      return { pool: { id: POOLS[random.int(POOLS.length)] } } as unknown as Candidate;
    });
    const groups = atOnce(poolGroups(candidates, openTo));
    const grouped = candidates.filter(({ pool }) => groupOf(pool.id) !== undefined);
    expect(new Set(groups.flatMap((one) => one.candidates))).toEqual(new Set(grouped));
    const least = groups.map(({ poolIds }) => [...poolIds].sort()[0] as string);
    expect(least).toEqual(least.toSorted());
    const isRight = ({ poolIds, candidates: own }: (typeof groups)[number]) =>
      own.length > 0 && own.every(({ pool }) => poolIds.has(pool.id));
    expect(groups.filter((group) => !isRight(group))).toEqual([]);
  }
});
