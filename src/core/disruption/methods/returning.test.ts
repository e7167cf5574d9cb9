import { describe, expect, it } from "vitest";
import { returnsOf } from "../../../apis/hub/returns.ts";
import { atOnce } from "../../../base/steps.ts";
import { instanceType, poolInput } from "../../../testing/builders.ts";
import { type CandidateOptions, candidate, NOW, roundOf } from "../../../testing/disruption.ts";
import type { InstanceType } from "../../cloudprovider/instance-type.ts";
import { describeCommand } from "../command.ts";
import { returning } from "./returning.ts";

/** Instance types with spot at this price; on-demand costs 50,000. Undefined: there is no spot capacity. */
function types(spotMicroUsd: number | undefined): readonly InstanceType[] {
  const type = instanceType({ cpu: 4 });
  return [
    {
      ...type,
      offerings: (["on-demand", "spot"] as const).map((capacityType) => ({
        zone: "zone-a",
        capacityType,
        priceMicroUsd: capacityType === "spot" ? (spotMicroUsd ?? 0) : 50_000,
        available: capacityType === "on-demand" || spotMicroUsd !== undefined,
      })),
    },
  ];
}

const CAPACITY_TYPE = "karpenter.sh/capacity-type";
const both = [{ key: CAPACITY_TYPE, operator: "In" as const, values: ["spot", "on-demand"] }];
const onDemand = [{ key: CAPACITY_TYPE, operator: "In" as const, values: ["on-demand"] }];
const returns = { nodePool: false, capacityType: true, dearer: false };

function commandsFor(
  spotMicroUsd: number | undefined,
  more: Partial<CandidateOptions> = {},
  allowed = 1,
) {
  const offered = types(spotMicroUsd);
  const node = candidate("a", {
    types: offered,
    pods: ["3"],
    pool: { requirements: both, returns },
    ...more,
  });
  return atOnce(returning.propose(roundOf([node], { types: offered, allowed }))).commands;
}

describe("active return", () => {
  it("replaces an on-demand node by spot once spot is available and no more expensive", () => {
    const [command] = commandsFor(50_000);
    expect(command?.replacements[0]?.cheapest).toMatchObject({ capacityType: "spot" });
    const wanted = command?.replacements[0]?.requirements.find(({ key }) => key === CAPACITY_TYPE);
    expect(wanted?.values).toEqual(["spot"]);
    expect(command && describeCommand(command, "x")).toBe(
      "Drifted/x: replace: nodepools=[default]: [a] -> [1 replacement], returning to spot (savings: $0.00)",
    );
  });

  it.each([
    ["while spot has no capacity", undefined, {}],
    ["if spot is more expensive", 60_000, {}],
    ["of a spot node", 50_000, { capacityType: "spot" }],
    ["that nobody asked for", 50_000, { pool: { requirements: both } }],
    [
      "to a capacity type that the NodePool excludes",
      50_000,
      { pool: { requirements: onDemand, returns } },
    ],
    ["of an empty node", 50_000, { pods: [] }],
    ["of a static node", 50_000, { pool: { requirements: both, returns, replicas: 1 } }],
  ] as const)("is none %s", (_, price, more) => {
    expect(commandsFor(price, more as never)).toEqual([]);
  });

  it("accepts a higher price if so configured, and respects budgets", () => {
    const pool = { requirements: both, returns: { ...returns, dearer: true } };
    expect(commandsFor(60_000, { pool })).toHaveLength(1);
    expect(commandsFor(60_000, { pool }, 0)).toEqual([]);
  });

  it.each([
    ["v1", 'NodePool "first"'],
    ["alpha", 'Provisioner "first"'],
  ] as const)(
    "names the pool of higher weight in the words of its generation (%s)",
    (generation, to) => {
      const own = { returns: { ...returns, nodePool: true } };
      const node = candidate("a", { types: types(50_000), pods: ["3"], pool: own });
      const first = {
        ...node.pool,
        id: `${node.pool.id}-first`,
        name: "first",
        weight: 10,
        generation,
      };
      const pools = [node.pool, first].map((pool) => poolInput(pool, types(50_000)));
      const round = roundOf([node], { types: types(50_000), scheduling: { pools } });
      const [command] = atOnce(returning.propose(round)).commands;
      expect(command?.returnsTo).toBe(to);
    },
  );

  it("finds the one of many nodes that can return, over several rounds", () => {
    const offered = types(50_000);
    const cheap = offered.map((type) => ({
      ...type,
      offerings: type.offerings.map((one) => ({ ...one, priceMicroUsd: 10_000 })),
    }));
    const pool = { requirements: both, returns };
    const nodes = Array.from({ length: 70 }, (_, at) => {
      const isLast = at === 69;
      const name = isLast ? "z" : `a-${String(at).padStart(2, "0")}`;
      return candidate(name, { types: isLast ? offered : cheap, pods: ["3"], pool });
    });
    const found = [0, 1].flatMap((minute) => {
      const round = roundOf(nodes, { types: offered, nowMs: NOW + minute * 60_000 });
      return atOnce(returning.propose(round)).commands;
    });
    expect(found.map(({ candidates: [one] }) => one?.node.name)).toEqual(["z"]);
  });

  it("is tried in every round if few nodes can return", () => {
    const offered = types(50_000);
    const node = candidate("a", {
      types: offered,
      pods: ["3"],
      pool: { requirements: both, returns },
    });
    const found = [0, 1, 2].map((minute) => {
      const round = roundOf([node], { types: offered, nowMs: NOW + minute * 60_000 });
      return atOnce(returning.propose(round)).commands.length;
    });
    expect(found).toEqual([1, 1, 1]);
  });

  it("leaves a node alone in its first hour", () => {
    const node = candidate("a", { pods: ["3"], pool: { requirements: both, returns } });
    const createdMs = Date.parse(node.claim.metadata.creationTimestamp ?? "");
    expect(createdMs).toBeLessThan(NOW - 3_600_000);
    expect(returning.isEligible(node, createdMs + 3_599_999)).toBe(false);
    expect(returning.isEligible(node, createdMs + 3_600_000)).toBe(true);
    const strict = candidate("b", { pods: ["3"], pool: { requirements: onDemand, returns } });
    expect(returning.isEligible(strict, NOW)).toBe(false);
  });

  it("is configured by an annotation of the NodePool", () => {
    const of = (text: string) =>
      returnsOf({
        metadata: { name: "a", annotations: { "karpenter.sh/return-to-preferred": text } },
      });
    expect(of("capacity-type, NodePool")).toEqual({
      nodePool: true,
      capacityType: true,
      dearer: false,
    });
    expect(of("dearer")).toBeUndefined();
    expect(returnsOf({ metadata: { name: "a" } })).toBeUndefined();
  });
});
