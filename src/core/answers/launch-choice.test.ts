import { describe, expect, it } from "vitest";
import type { RequirementSpec } from "../../apis/karpenter/nodepool.ts";
import { instanceType } from "../../testing/builders.ts";
import { candidate } from "../../testing/disruption.ts";
import type { InstanceType, Offering } from "../cloudprovider/instance-type.ts";
import { launchChoice } from "./launch-choice.ts";

const ZONE = "topology.kubernetes.io/zone";
const TYPE = "node.kubernetes.io/instance-type";
const FAMILY = "test.sh/family";
/** The current price of the node. */
const PRICE = 1_000;

const offering = (priceMicroUsd: number, more: Partial<Offering> = {}): Offering => ({
  ...{ zone: "zone-a", capacityType: "on-demand", available: true, priceMicroUsd },
  ...more,
});
const type = (name: string, cpu: number, priceMicroUsd: number, more: Partial<Offering> = {}) =>
  instanceType({
    name,
    cpu,
    labels: { [FAMILY]: [name.slice(0, 1)] },
    offerings: [offering(priceMicroUsd, more)],
  });

interface Launch {
  readonly pool?: readonly RequirementSpec[];
  readonly claim?: readonly RequirementSpec[];
  /** The cpu that the claim requested when it was launched. */
  readonly cpu?: string;
  /** The cpu requests of the pods that run there now. */
  readonly pods?: readonly string[];
}

/** Each type that costs less than a node of 4 cpu, and why it was ruled out: `name: by: text`. */
function ruledOut(types: readonly InstanceType[], launch: Launch = {}): readonly string[] {
  return choice(types, launch).nearest.map(
    ({ instanceType: name, ruledOutBy, says }) => `${name}: ${ruledOutBy}: ${says}`,
  );
}

function choice(types: readonly InstanceType[], { pool = [], claim = [], cpu, pods = [] }: Launch) {
  const own = type("m-own", 4, PRICE);
  const base = candidate("n", { types: [own], type: "m-own", pods });
  const resources = cpu === undefined ? {} : { resources: { requests: { cpu } } };
  const spec = { ...base.claim.spec, ...resources, requirements: claim };
  const launched = {
    ...base,
    claim: { ...base.claim, spec },
    pool: { ...base.pool, requirements: pool },
  };
  return launchChoice(launched, [own, ...types]);
}

describe("instance types cheaper than the launched one", () => {
  it("are those with an offering below the price of the node", () => {
    const found = choice([type("a", 4, PRICE), type("b", 4, PRICE - 1)], {});
    expect(found).toMatchObject({
      ...{ instanceType: "m-own", zone: "zone-a", priceMicroUsdPerHour: PRICE, askedFor: 0 },
      cheaper: { later: 1 },
    });
    expect(found.nearest).toEqual([
      {
        ...{ instanceType: "b", zone: "zone-a", capacityType: "on-demand" },
        priceMicroUsdPerHour: PRICE - 1,
        ruledOutBy: "later",
        says: "possible now, but not requested at the launch",
      },
    ]);
  });

  it("exclude offerings without a known price", () => {
    const found = choice([type("a", 4, 0, { available: false }), type("b", 4, 0)], {});
    expect(found.nearest.map(({ instanceType: name }) => name)).toEqual(["b"]);
  });

  it("say if the NodePool or the NodeClaim excluded them", () => {
    const only = (key: string, value: string) => [
      { key, operator: "In" as const, values: [value] },
    ];
    const small = [type("a", 4, 10)];
    expect(ruledOut(small, { pool: only(FAMILY, "b") })).toEqual([
      "a: nodePool: the NodePool requires test.sh/family In [b]",
    ]);
    expect(ruledOut(small, { claim: only(FAMILY, "b") })).toEqual([
      "a: requirements: the NodeClaim requires test.sh/family In [b]",
    ]);
    // In zone-b, the type is not cheaper than the node.
    const both = instanceType({
      ...{ name: "a", cpu: 4 },
      offerings: [offering(10), offering(2 * PRICE, { zone: "zone-b" })],
    });
    expect(ruledOut([both], { pool: only(ZONE, "zone-b") })).toEqual([
      "a: nodePool: not cheaper with topology.kubernetes.io/zone In [zone-b], as the NodePool requires",
    ]);
    expect(ruledOut([both], { claim: only(ZONE, "zone-b") })).toEqual([
      "a: requirements: not cheaper with topology.kubernetes.io/zone In [zone-b], as the NodeClaim requires",
    ]);
  });

  it("say if they were too small for the requests at launch, or for the pods now", () => {
    const small = [type("a", 2, 10)];
    expect(ruledOut(small, { cpu: "3" })).toEqual([
      "a: resources: the NodeClaim requests 3 of cpu; this type has 2",
    ]);
    expect(ruledOut(small, { cpu: "2", pods: ["3"] })).toEqual([
      "a: pods: its pods now use 3 of cpu; this type has 2",
    ]);
    expect(ruledOut(small, { cpu: "2", pods: ["2"] })[0]).toContain("a: later");
  });

  it("say if the cloud has no capacity, or if they were requested in vain", () => {
    expect(ruledOut([type("a", 4, 10, { available: false })])).toEqual([
      "a: offerings: the cloud has no capacity of this type at the moment",
    ]);
    const asked = [{ key: TYPE, operator: "In" as const, values: ["a", "m-own"] }];
    const found = choice([type("a", 4, 10), type("b", 4, 10)], { claim: asked });
    expect(found.askedFor).toBe(2);
    expect(found.nearest.map((one) => [one.instanceType, one.ruledOutBy])).toEqual([
      ["b", "later"],
      ["a", "other"],
    ]);
  });

  it("are sorted by reason, price and name, and the first five are listed", () => {
    const types = [
      ...[type("late-1", 4, 20), type("late-3", 4, 30), type("late-2", 4, 20)],
      ...["f", "g", "h"].map((name) => type(name, 2, 30)),
    ];
    const found = choice(types, { cpu: "3" });
    expect(found.cheaper).toEqual({ later: 3, resources: 3 });
    expect(found.nearest.map((one) => one.instanceType)).toEqual([
      ...["late-3", "late-1", "late-2"],
      ...["f", "g"],
    ]);
  });
});
