import { describe, expect, it } from "vitest";
import type { Pool } from "../../apis/hub/pool.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { instanceType, nodeClaim } from "../../testing/builders.ts";
import { type CandidateOptions, candidate, NOW } from "../../testing/disruption.ts";
import { quietModel } from "../../testing/quiet-model.ts";
import type { Picture } from "../disruption/make-round.ts";
import { withRecord } from "../disruption/record.ts";
import { aloneCommand, holdsOf } from "./holds.ts";
import { type Owned, ownedNode } from "./owned-node.ts";

const ZONE = "topology.kubernetes.io/zone";
const HOUR_MS = 3_600_000;
const QUIET = { Initialized: HOUR_MS, Consolidatable: HOUR_MS };
const TYPES = [2, 4].map((cpu) => instanceType({ cpu, capacityTypes: ["on-demand"] }));

interface Question extends Pick<CandidateOptions, "generation" | "annotations" | "type"> {
  readonly pods?: readonly string[];
  readonly conditions?: Readonly<Record<string, number>>;
  readonly pool?: Partial<Pool>;
  readonly disruption?: CandidateOptions["disruption"];
  readonly claim?: Partial<NodeClaim["metadata"]>;
  readonly picture?: Partial<Picture>;
}

/** The picture of one node `n` of 4 cpu, which is the only node of its pool. */
function asked(question: Question): { picture: Picture; owned: Owned } {
  const { pods = ["3"], conditions = QUIET, pool = {}, claim = {}, picture = {} } = question;
  const { generation = "v1", annotations = {}, type = "m-4x" } = question;
  const disruption = { budgets: [{ nodes: "100%" }], ...question.disruption };
  const options = { generation, annotations, type, pool, disruption, conditions, pods };
  const one = candidate("n", { ...options, types: TYPES });
  const old = one.node.claim as NodeClaim;
  const node = { ...one.node, claim: { ...old, metadata: { ...old.metadata, ...claim } } };
  const restraint = {
    minSavingsPercent: 0,
    maxPaybackMs: HOUR_MS,
    replacementRestMs: HOUR_MS,
    maxMovesPerPodHour: 4,
  };
  const pools = [{ pool: one.pool, instanceTypes: TYPES, usage: {} }];
  const whole = { ...quietModel({ pools, nodes: [node], restraint }).picture, ...picture };
  return { picture: whole, owned: ownedNode(whole, node) as Owned };
}

/** Each hold as text: `block | text | until | reasons`. */
function held(question: Question): readonly string[] {
  const { picture, owned } = asked(question);
  return holdsOf(picture, owned).map(({ block, says, until = "-", against }) =>
    [block, says, until, against.join(" ")].join(" | "),
  );
}

describe("the reasons why a node is not disrupted", () => {
  it("are none for an empty node of a pool without restrictions", () => {
    expect(held({ pods: [] })).toEqual([]);
  });

  it("are only its deletion, or the command that is under way", () => {
    const deletionTimestamp = toRfc3339(NOW);
    const leaving = held({ claim: { deletionTimestamp } });
    expect(leaving.map((one) => one.split(" | ")[0])).toEqual(["leaving"]);
    const { metadata } = withRecord(nodeClaim(), {
      ...{ id: "c1", reason: "Drifted", consolidationType: "", startedAt: toRfc3339(NOW) },
      ...{ nodes: ["n"], replacements: 1 },
    });
    expect(held({ claim: { annotations: metadata.annotations ?? {} } })).toEqual([
      "command | the command c1 (Drifted) of 2026-01-05T00:00:00Z is under way | - | Underutilized",
    ]);
  });

  it("include the price if no cheaper node has room for its pods", () => {
    const [only, ...others] = held({});
    expect(others).toEqual([]);
    expect(only).toMatch(/^\w+ \| Can't replace with a cheaper node \| - \| Underutilized$/);
  });

  it("include a budget, last for a node without a Drifted condition", () => {
    const disruption = { budgets: [{ nodes: "0" }] };
    expect(held({ pods: [], disruption })).toEqual([
      "budget | budgets allow no disruption, and no schedule ever ends that | - | Empty",
    ]);
    const marked = held({ pods: [], disruption, conditions: { ...QUIET, Drifted: 0 } });
    expect(marked.map((one) => one.split(" | ").at(-1))).toEqual(["Drifted", "Empty"]);
  });

  it("include the consolidation policy of its pool", () => {
    const whenEmpty = held({ disruption: { policy: "WhenEmpty" } });
    expect(whenEmpty).toHaveLength(1);
    expect(whenEmpty[0]).toMatch(/^policy \| .*WhenEmpty.* \| - \| Underutilized$/);
    expect(held({ pods: [], disruption: { policy: "WhenEmpty" } })).toEqual([]);
    const off = held({ pods: [], disruption: { consolidateAfter: "Never" } });
    expect(off.map((one) => one.split(" | ")[0])).toEqual(["policy"]);
  });

  it("include that its pool is static", () => {
    expect(held({ pool: { replicas: 2 } })).toEqual([
      'static | NodePool "default" is static and keeps 2 nodes | - | Empty Underutilized',
    ]);
  });

  it("include consolidateAfter, and when it ends", () => {
    const conditions = { Initialized: 60_000 };
    const disruption = { consolidateAfter: HOUR_MS / 2 };
    const wait =
      "consolidateAfter | pods were added or removed less than consolidateAfter=30m0s ago | 2026-01-05T00:29:00Z";
    expect(held({ pods: [], conditions, disruption })).toEqual([`${wait} | Empty`]);
    const busy = held({ conditions, disruption });
    expect(busy[0]).toBe(`${wait} | Underutilized`);
    const onlyEmpty = held({ conditions, disruption: { ...disruption, policy: "WhenEmpty" } });
    expect(onlyEmpty.some((one) => one.startsWith("consolidateAfter"))).toBe(false);
  });

  it("include ttlSecondsAfterEmpty for nodes of older generations", () => {
    const disruption = { policy: "WhenEmpty" as const, consolidateAfter: HOUR_MS };
    const conditions = { Initialized: HOUR_MS, Empty: HOUR_MS / 4 };
    const waits = (pods: readonly string[], more = {}) =>
      held({ pods, generation: "beta", conditions: { ...conditions, ...more }, disruption }).filter(
        (one) => one.startsWith("consolidateAfter"),
      );
    expect(waits([])).toEqual([
      "consolidateAfter | it has been empty for less than 1h0m0s | 2026-01-05T00:45:00Z | Empty",
    ]);
    expect(waits([], { Empty: HOUR_MS })).toEqual([]);
    expect(waits(["1"])).toEqual([]);
  });

  it("include that the pods of a drifted node have no other place", () => {
    const conditions = { ...QUIET, Drifted: 0 };
    const requirements = [{ key: ZONE, operator: "In" as const, values: ["zone-z"] }];
    const full = held({ conditions, pool: { requirements } });
    expect(full[0]).toMatch(/^\w+ \| not all pods would schedule.* \| - \| Drifted$/);
    expect(held({ conditions }).filter((one) => one.endsWith("Drifted"))).toEqual([]);
    expect(held({ pods: [], conditions, pool: { requirements } })).toEqual([]);
  });
});

describe("the command that would remove a single node", () => {
  const alone = (question: Question) => {
    const { picture, owned } = asked(question);
    return owned.candidate === undefined ? undefined : aloneCommand(picture, owned.candidate);
  };

  it("deletes an empty node, and replaces a node if a cheaper one has room", () => {
    expect(alone({ pods: [] })?.replacements).toEqual([]);
    expect(alone({ pods: ["1"] })?.replacements).toHaveLength(1);
    expect(alone({ pods: ["3"] })).toBeUndefined();
  });

  it("is undefined for a node of a static pool or of an unknown type", () => {
    expect(alone({ pods: [], pool: { replicas: 1 } })).toBeUndefined();
    expect(alone({ pods: [], type: "unknown" })).toBeUndefined();
  });
});
