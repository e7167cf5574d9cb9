import { describe, expect, it } from "vitest";
import type { Generation } from "../../../apis/hub/generation.ts";
import type { PoolDisruption } from "../../../apis/hub/pool.ts";
import { toRfc3339 } from "../../../base/clock.ts";
import { atOnce } from "../../../base/steps.ts";
import { instanceType, nodeClaim, nodeView, pod, pool } from "../../../testing/builders.ts";
import { NOW, roundOf, validated } from "../../../testing/disruption.ts";
import type { Candidate } from "../candidates.ts";
import { type Command, describeCommand, describeOlder } from "../command.ts";
import { emptiness } from "./emptiness.ts";

function candidate(
  name: string,
  options: {
    generation?: Generation;
    disruption?: Partial<PoolDisruption>;
    condition?: { type: string; forMs: number };
    used?: boolean;
  } = {},
): Candidate {
  const { generation = "v1", condition } = options;
  const owner = pool({
    generation,
    disruption: { ...pool().disruption, policy: "WhenEmpty", ...options.disruption },
  });
  const conditions =
    condition === undefined
      ? []
      : [
          {
            type: condition.type,
            status: "True" as const,
            lastTransitionTime: toRfc3339(NOW - condition.forMs),
          },
        ];
  const claim = nodeClaim({ name, status: { providerID: `test://${name}`, conditions } });
  const pods = options.used ? [pod({ nodeName: name })] : [];
  return {
    node: nodeView({ node: { name }, claim, pods }),
    claim,
    generation,
    pool: owner,
    instanceType: instanceType(),
    zone: "zone-a",
    capacityType: "spot",
    pods,
    reschedulablePods: pods,
    priceMicroUsd: 140_000,
    rescheduleCost: 1,
    doNotConsolidate: false,
    keepsRoom: false,
  };
}

function commands(candidates: readonly Candidate[], allowed = 10) {
  return atOnce(emptiness.propose(roundOf(candidates, { allowed }))).commands;
}

const CONSOLIDATABLE = { condition: { type: "Consolidatable", forMs: 0 } };

describe("emptiness", () => {
  it("waits for consolidateAfter from the last pod event, whatever the condition (calm seed 90154)", () => {
    const when = (lastMs: number): Candidate => {
      const fresh = candidate("a", {
        ...CONSOLIDATABLE,
        disruption: { consolidateAfter: 120_000 },
      });
      const { conditions = [], ...status } = fresh.claim.status ?? {};
      const initialized = { type: "Initialized", status: "True" as const };
      const lastPodEventTime = toRfc3339(lastMs);
      const claim = {
        ...fresh.claim,
        status: { ...status, lastPodEventTime, conditions: [...conditions, initialized] },
      };
      return { ...fresh, claim };
    };
    expect(commands([when(NOW - 119_000)])).toEqual([]);
    expect(commands([when(NOW - 120_000)])).toHaveLength(1);
  });

  it("removes as many empty nodes as the budget allows in one command with validation", () => {
    const [command, ...others] = commands(
      ["b", "a", "c"].map((name) => candidate(name, CONSOLIDATABLE)),
      2,
    );
    expect(others).toEqual([]);
    expect(command?.candidates.map(({ node }) => node.name)).toEqual(["a", "b"]);
    expect(command?.validateAfterMs).toBe(15_000);
    expect(describeCommand(command as NonNullable<typeof command>, "id")).toBe(
      "Empty/id: delete: nodepools=[default]: [a, b] (savings: $0.28)",
    );
  });

  it("removes at most 500 nodes in a command, each validated alone within the budget", () => {
    const empty = Array.from({ length: 950 }, (_, index) =>
      candidate(`n${String(index).padStart(4, "0")}`, CONSOLIDATABLE),
    );
    const sizes = (all: readonly Command[]) => all.map(({ candidates }) => candidates.length);
    expect(sizes(commands(empty, 1_000))).toEqual([500, 450]);
    const within = commands(empty, 600);
    expect(sizes(within)).toEqual([500, 100]);
    expect(within.flatMap(({ candidates }) => candidates)).toEqual(empty.slice(0, 600));
    const [, second] = within as [Command, Command];
    const still = validated(emptiness, second, roundOf(empty, { allowed: 90 }));
    expect((still as Command).candidates).toEqual(empty.slice(500, 590));
  });

  it("leaves used nodes, nodes not yet consolidatable, and pools without consolidation", () => {
    expect(commands([candidate("a", { ...CONSOLIDATABLE, used: true })])).toEqual([]);
    expect(commands([candidate("a")])).toEqual([]);
    const never = { consolidateAfter: "Never" } as const;
    expect(commands([candidate("a", { ...CONSOLIDATABLE, disruption: never })])).toEqual([]);
    const none = { policy: "none" } as const;
    expect(commands([candidate("a", { ...CONSOLIDATABLE, disruption: none })])).toEqual([]);
  });

  it("S0-23: counts ttlSecondsAfterEmpty from the Empty condition, and skips validation", () => {
    const at = (forMs: number) =>
      commands([
        candidate("a", {
          generation: "alpha",
          disruption: { consolidateAfter: 30_000 },
          condition: { type: "Empty", forMs },
        }),
      ]);
    expect(at(29_000)).toEqual([]);
    const [command] = at(30_000);
    expect(command).toMatchObject({ via: "emptiness", validateAfterMs: 0 });
    expect(describeOlder(command as NonNullable<typeof command>)).toBe(
      "delete, terminating 1 machines a/m-4x/spot",
    );
  });

  it("S3-41: removes empty nodes of an older pool with consolidation, after validation", () => {
    const disruption = { policy: "WhenEmptyOrUnderutilized" } as const;
    const [command] = commands([candidate("a", { generation: "beta", disruption })]);
    expect(command).toMatchObject({ via: "consolidation", validateAfterMs: 15_000 });
    expect(describeOlder(command as NonNullable<typeof command>)).toBe(
      "delete, terminating 1 candidates a/m-4x/spot",
    );
  });

  it("keeps at validation only the nodes that are still empty", () => {
    const [command] = commands(["a", "b"].map((name) => candidate(name, CONSOLIDATABLE)));
    const again = (candidates: readonly Candidate[]) =>
      validated(emptiness, command as NonNullable<typeof command>, roundOf(candidates));
    const kept = again([
      candidate("a", { ...CONSOLIDATABLE, used: true }),
      candidate("b", CONSOLIDATABLE),
      candidate("new", CONSOLIDATABLE),
    ]);
    expect((kept as Command).candidates.map(({ node }) => node.name)).toEqual(["b"]);
    expect(again([])).toBe("churn");
  });
});
