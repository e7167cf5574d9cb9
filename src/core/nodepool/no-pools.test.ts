import { describe, expect, it } from "vitest";
import type { Pool } from "../../apis/hub/pool.ts";
import { pool } from "../../testing/builders.ts";
import { foreignPools, noPools } from "./no-pools.ts";

const OURS = { group: "ours.sh", kind: "OurClass" };
const THEIRS = { group: "theirs.sh", kind: "TheirClass" };
const served = [OURS];

const of = (name: string, kind = OURS, more: Partial<Pool> = {}) =>
  pool({ name, classRef: { ...kind, name: "default" }, ...more });

describe("the message without a usable NodePool", () => {
  it("is upstream's, with the pool kind of the API generation", () => {
    const message = (generation: Pool["generation"]) =>
      noPools([of("a", OURS, { generation })], served, []);
    expect(noPools([], served, [])).toEqual({
      message: "no dynamic nodepools found",
      text: "no dynamic nodepools found",
    });
    expect(message("v1").text).toBe("no dynamic nodepools found");
    expect(message("beta").text).toBe("no nodepools found");
    expect(message("alpha").text).toBe("no provisioners found");
  });

  it("says why up to three pools of this provider cannot be used", () => {
    const why = ["a is not ready", "b is not ready", "c is not ready"];
    expect(noPools([], served, why).text).toBe(
      "no dynamic nodepools found: a is not ready; b is not ready; c is not ready",
    );
    expect(noPools([], served, [...why, "d", "e"]).text).toContain("c is not ready; and 2 more");
  });

  it("names the pools of other providers", () => {
    const theirs = of("theirs", THEIRS);
    const tail = '"theirs" (TheirClass of theirs.sh); this Karpenter serves OurClass of ours.sh';
    const head = "no dynamic nodepools found";
    expect(noPools([theirs], served, []).text).toBe(`${head}: none is ours: nodepool ${tail}`);
    expect(noPools([theirs, of("ours")], served, []).text).toBe(
      `${head}: not ours: nodepool ${tail}`,
    );
    expect(noPools([theirs], undefined, []).text).toBe(head);
  });
});

describe("pools of other providers", () => {
  it("have another kind of node class and a valid spec", () => {
    const theirs = of("theirs", THEIRS);
    const broken = of("broken", THEIRS, { unreadable: "spec is missing" } as Partial<Pool>);
    expect(foreignPools([of("ours"), theirs, broken], served)).toEqual([theirs]);
    expect(foreignPools([theirs], undefined)).toEqual([]);
  });
});
