import { describe, expect, it } from "vitest";
import { allows, anyValue, formatRequirement, toRequirement } from "./requirement.ts";
import { type Conflict, Requirements } from "./requirements.ts";

const text = (specs: Parameters<typeof Requirements.fromSpecs>[0]) =>
  Requirements.fromSpecs(specs).toString();

const textsOf = (conflicts: readonly Conflict[]) => conflicts.map(({ text }) => text);

describe("Requirements", () => {
  it("is formatted as by upstream", () => {
    const values = ["g", "a", "b", "c", "d", "e", "f"];
    expect(text([{ key: "k", operator: "In", values }])).toBe("k In [a b c d e and 2 others]");
    expect(text([{ key: "k", operator: "Gt", values: ["3"], minValues: 2 }])).toBe(
      "k Exists >=4 minValues 2",
    );
    expect(
      text([
        { key: "b", operator: "Exists" },
        { key: "a", operator: "DoesNotExist" },
      ]),
    ).toBe("a DoesNotExist, b Exists");
  });

  it("keeps excluded values within its bounds", () => {
    const set = Requirements.fromSpecs([
      { key: "k", operator: "Gt", values: ["3"] },
      { key: "k", operator: "NotIn", values: ["5"] },
    ]);
    expect(set.specs()).toEqual([
      { key: "k", operator: "Gte", values: ["4"] },
      { key: "k", operator: "NotIn", values: ["5"] },
    ]);
  });

  it("drops excluded values that are outside its bounds", () => {
    const set = Requirements.fromSpecs([
      { key: "k", operator: "Gt", values: ["3"] },
      { key: "k", operator: "NotIn", values: ["2", "big"] },
    ]);
    expect(set.specs()).toEqual([{ key: "k", operator: "Gte", values: ["4"] }]);
  });

  it("returns the same object for an unknown key each time", () => {
    const set = Requirements.fromLabels({ mentioned: "a" });
    const [zone, arch] = [set.get("zone"), set.get("arch")];
    expect(allows(zone, "anything")).toBe(true);
    // Caches use the requirement object as key, so the same object must be returned each time.
    expect([set.get("zone") === zone, set.get("arch") === arch]).toEqual([true, true]);
  });

  it("becomes DoesNotExist if its bounds contradict each other", () => {
    const between = (from: string, to: string) =>
      text([
        { key: "k", operator: "Gte", values: [from] },
        { key: "k", operator: "Lte", values: [to] },
      ]);
    expect(between("3", "3")).toBe("k Exists >=3 <=3");
    expect(between("4", "3")).toBe("k DoesNotExist");
    expect(between("9", "3")).toBe("k DoesNotExist");
  });

  it("accepts negative bounds, but suggests no negative value", () => {
    const above = toRequirement({ key: "k", operator: "Gt", values: ["-3"] });
    expect([allows(above, "-3"), allows(above, "-2"), allows(above, "0")]).toEqual([
      false,
      true,
      true,
    ]);
    expect(anyValue(above)).toBe("0");
  });

  it("conflicts with exclusions of every integer within its bounds", () => {
    const range = Requirements.fromSpecs([
      { key: "k", operator: "Gte", values: ["1"] },
      { key: "k", operator: "Lte", values: ["2"] },
    ]);
    const holes = Requirements.fromSpecs([{ key: "k", operator: "NotIn", values: ["1", "2"] }]);
    expect(textsOf(range.conflicts(holes, new Set()))).toEqual([
      "key k, k NotIn [1 2] not in k Exists >=1 <=2",
    ]);
  });

  it("replaces a deprecated label key by the stable one", () => {
    expect(text([{ key: "beta.kubernetes.io/arch", operator: "In", values: ["arm64"] }])).toBe(
      "kubernetes.io/arch In [arm64]",
    );
  });

  it("suggests the known key for a misspelled one", () => {
    const known = new Set(["topology.kubernetes.io/zone"]);
    const wanted = Requirements.fromSpecs([{ key: "zone", operator: "In", values: ["a"] }]);
    expect(textsOf(Requirements.NONE.conflicts(wanted, known))).toEqual([
      'label "zone" does not have known values (typo of "topology.kubernetes.io/zone"?)',
    ]);
  });

  it("with DoesNotExist of a key accept NotIn of the same key", () => {
    const absent = Requirements.fromSpecs([{ key: "k", operator: "DoesNotExist" }]);
    const other = Requirements.fromSpecs([{ key: "k", operator: "NotIn", values: ["a"] }]);
    expect(absent.accepts(other, new Set())).toBe(true);
    expect(Requirements.NONE.accepts(other, new Set())).toBe(true);
    expect(formatRequirement(toRequirement({ key: "k", operator: "Exists" }))).toBe("k Exists");
  });

  it("with In and DoesNotExist of one key is impossible", () => {
    const both = [
      { key: "k", operator: "In" as const, values: ["a"] },
      { key: "k", operator: "DoesNotExist" as const },
    ];
    const wanted = Requirements.fromSpecs(both);
    expect(Requirements.NONE.accepts(wanted, new Set(["k"]))).toBe(false);
    expect(Requirements.fromSpecs(both.slice(1)).accepts(wanted, new Set())).toBe(false);
    expect(textsOf(Requirements.NONE.conflicts(wanted, new Set()))).toEqual([
      "key k, no value satisfies all of its requirements",
    ]);
  });

  it("keep Exists if the same key also has NotIn", () => {
    const set = Requirements.fromSpecs([
      { key: "k", operator: "NotIn", values: ["a"] },
      { key: "k", operator: "Exists" },
    ]);
    expect(Requirements.NONE.accepts(set, new Set())).toBe(false);
    expect(set.specs()).toEqual([
      { key: "k", operator: "NotIn", values: ["a"] },
      { key: "k", operator: "Exists" },
    ]);
  });
});
