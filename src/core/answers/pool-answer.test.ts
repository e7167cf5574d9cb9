import { describe, expect, it } from "vitest";
import type { Pool } from "../../apis/hub/pool.ts";
import { atOnce } from "../../base/steps.ts";
import { instanceType } from "../../testing/builders.ts";
import { type CandidateOptions, candidate, NOW } from "../../testing/disruption.ts";
import { quietModel } from "../../testing/quiet-model.ts";
import type { Picture } from "../disruption/make-round.ts";
import type { PoolInput } from "../provisioning/scheduling-input.ts";
import { poolAnswer } from "./pool-answer.ts";

const HOUR_MS = 3_600_000;
const QUIET = { Initialized: HOUR_MS, Consolidatable: HOUR_MS };

interface Question {
  /** Changes of the pool's input: its instance types and usage. */
  readonly input?: Partial<PoolInput>;
  readonly unused?: ReadonlyMap<string, string>;
  /** The cpu requests of the pods of each node. */
  readonly nodes?: readonly (readonly string[])[];
  readonly pool?: Partial<Pool>;
  readonly disruption?: CandidateOptions["disruption"];
  readonly conditions?: CandidateOptions["conditions"];
  readonly picture?: Partial<Picture>;
}

function asked({ nodes = [["1"], ["2"]], pool = {}, disruption = {}, ...more }: Question = {}) {
  const types = [instanceType({ cpu: 4, capacityTypes: ["on-demand"] })];
  const { conditions = QUIET, picture = {}, input = {}, unused = new Map() } = more;
  const options = { types, pool, disruption, conditions };
  const candidates = nodes.map((pods, index) =>
    candidate("abcdefgh"[index] as string, { ...options, pods }),
  );
  const own = (candidates[0] ?? candidate("none", options)).pool;
  const restraint = {
    minSavingsPercent: 0,
    maxPaybackMs: HOUR_MS,
    replacementRestMs: HOUR_MS,
    maxMovesPerPodHour: 4,
  };
  const planned = { pool: own, instanceTypes: types, usage: {}, ...input };
  const model = quietModel({
    pools: [planned],
    nodes: candidates.map(({ node }) => node),
    restraint,
  });
  const aside = { next: undefined, brake: undefined, unused };
  return atOnce(poolAnswer({ ...model.picture, ...picture }, planned, aside));
}

describe("the answer about a NodePool", () => {
  it("has its number of nodes, their price, and its limits in percent", () => {
    const found = asked({ pool: { limits: { cpu: 16_000, nodes: 0 }, replicas: 3 } });
    expect(found.says).toContain(
      "NodePool default can launch no further node: spec.limits.nodes is 0; it has 2 nodes for $0.4000 an hour",
    );
    expect(found.nodes).toEqual({ total: 2, leaving: 0, wanted: 3 });
    expect(found.limits).toEqual([
      { resource: "cpu", used: "8", limit: "16", percent: 50 },
      { resource: "nodes", used: "2", limit: "0", percent: 100 },
    ]);
  });

  it("says what budgets allow now, and when they allow the next disruption", () => {
    const now = asked({ disruption: { budgets: [{ nodes: "50%" }] } });
    expect(now.says).toContain("; a disruption is allowed now");
    expect(now.disruptions.map(({ reason, allowed, says }) => [reason, allowed, says])).toEqual([
      ["Empty", 1, "budgets allow 1 of 2 nodes to be disrupted now"],
      ["Drifted", 1, "budgets allow 1 of 2 nodes to be disrupted now"],
      ["Underutilized", 1, "budgets allow 1 of 2 nodes to be disrupted now"],
    ]);
    const window = { nodes: "0", schedule: "0 0 * * *", duration: "8h" };
    const later = asked({ disruption: { budgets: [window] } });
    expect(later.nextAllowedDisruption).toBe("2026-01-05T08:00:00Z");
    expect(later.says).toContain("; next allowed disruption: 2026-01-05T08:00:00Z");
    expect(later.budgets).toEqual([{ ...window, active: true, changesAt: "2026-01-05T08:00:00Z" }]);
    const never = asked({ disruption: { budgets: [{ nodes: "0" }] } });
    expect(never.says).toContain("budgets allow no disruption, and no schedule ever ends that");
    expect(never.nextAllowedDisruption).toBeUndefined();
  });

  it("leads with why the pool can launch no node, whatever the pods are", () => {
    const stop = (question: Question) => asked({ nodes: [], ...question }).launchesNothing;
    const arch = { key: "kubernetes.io/arch", operator: "In", values: ["riscv"] } as const;
    const found = asked({ nodes: [], pool: { requirements: [arch] } });
    expect(found.says).toBe(
      "NodePool default can launch no node: no instance type has kubernetes.io/arch In [riscv] (there are amd64); it has 0 nodes for $0.0000 an hour",
    );
    // Each of the two requirements alone leaves the type, so both are named, and the third is not.
    const amd64 = { ...arch, values: ["amd64"] };
    const zones = {
      key: "topology.kubernetes.io/zone",
      operator: "In",
      values: ["zone-a"],
    } as const;
    const spot = { key: "karpenter.sh/capacity-type", operator: "In", values: ["spot"] } as const;
    const [type] = [instanceType({ cpu: 4, capacityTypes: ["on-demand", "spot"] })];
    const offerings = type.offerings.filter(
      ({ zone, capacityType }) => zone !== "zone-a" || capacityType !== "spot",
    );
    const instanceTypes = [{ ...type, offerings }];
    const both = { pool: { requirements: [amd64, zones, spot] }, input: { instanceTypes } };
    expect(stop(both)).toBe(
      "no instance type has all of karpenter.sh/capacity-type In [spot], topology.kubernetes.io/zone In [zone-a]",
    );
    const contrary = [amd64, { ...arch, values: ["arm64"] }];
    const twoArchs = { instanceTypes: [type, instanceType({ name: "arm", arch: "arm64" })] };
    expect(stop({ pool: { requirements: contrary }, input: twoArchs })).toBe(
      "no instance type has all of kubernetes.io/arch In [amd64], kubernetes.io/arch In [arm64]",
    );
    expect(stop({ input: { instanceTypes: [] } })).toBe("its node class offers no instance type");
    const gone = type.offerings.map((one) => ({ ...one, available: false }));
    expect(stop({ input: { instanceTypes: [{ ...type, offerings: gone }] } })).toBe(
      "none of its 1 instance type can be bought now",
    );
    expect(stop({ pool: { limits: { cpu: 6_000 } }, input: { usage: { cpu: 4_000 } } })).toBe(
      "spec.limits.cpu has 2 left, its smallest instance type has 4",
    );
    const types = {
      key: "node.kubernetes.io/instance-type",
      operator: "Exists",
      minValues: 2,
    } as const;
    expect(stop({ pool: { requirements: [types] } })).toBe(
      "minValues of node.kubernetes.io/instance-type is 2, and its instance types have 1 value of it",
    );
    expect(stop({ unused: new Map([["nodepool/default", "it is being deleted"]]) })).toBe(
      "it is being deleted",
    );
    expect(stop({ pool: { requirements: [amd64] } })).toBeUndefined();
  });

  it("says that a pool without nodes has no node to disrupt", () => {
    const found = asked({ nodes: [], disruption: { budgets: [{ nodes: "100%" }] } });
    expect(found.disruptions[0]).toMatchObject({ allowed: 0, says: "it has no node to disrupt" });
    const usual = asked({ nodes: [] });
    expect(usual.disruptions[0]?.says).toBe("it has no node to disrupt");
    expect(usual.disruptions.map((one) => one.nextAllowedDisruption)).toEqual(
      usual.disruptions.map(() => undefined),
    );
    expect(usual.nextAllowedDisruption).toBeUndefined();
  });

  it("says for which reasons its consolidation policy allows no disruption", () => {
    const says = (question: Question) =>
      asked(question).disruptions.map((one) => (one.allowed === 0 ? one.says : one.allowed));
    expect(says({ disruption: { policy: "WhenEmpty" } })).toEqual([
      1,
      1,
      "only empty nodes go (policy WhenEmpty)",
    ]);
    const off = ["consolidation is disabled", 1, "consolidation is disabled"];
    expect(says({ disruption: { consolidateAfter: "Never" } })).toEqual(off);
    const fixed = "a pool with replicas is not consolidated";
    expect(says({ pool: { replicas: 2 } })).toEqual([fixed, 1, fixed]);
  });

  it("says that disruption of its nodes is paused", () => {
    const message = "paused by a person";
    const found = asked({ picture: { paused: () => ({ kind: "paused", message }) as never } });
    expect(found.paused).toBe(message);
    expect(found.says).toContain(`; ${message}`);
    expect(found.disruptions.map(({ allowed, says }) => [allowed, says])).toEqual([
      [0, message],
      [0, message],
      [0, message],
    ]);
  });

  it("says whether the budgets of the pool or of the cluster block disruption", () => {
    const budgets = [{ nodes: "1" }];
    const cluster = asked({
      disruption: { budgets },
      picture: { clusterBudgets: [{ nodes: "0" }] },
    });
    expect(cluster.disruptions[0]?.says).toContain("the cluster's budgets (disruption-budgets)");
    const own = asked({ disruption: { budgets: [{ nodes: "0" }] } });
    expect(own.disruptions[0]?.says).toMatch(/^budgets /);
  });

  it("counts its nodes by the first reason that blocks their disruption", () => {
    const found = asked({
      nodes: [["3"], ["3"], ["3"]],
      disruption: { policy: "WhenEmpty", budgets: [{ nodes: "100%" }] },
    });
    expect(found.held).toEqual([{ block: "policy", count: 3, nodes: ["a", "b", "c"] }]);
  });

  it("contains the next commands for this pool alone", () => {
    const all = { budgets: [{ nodes: "100%" }] };
    expect(asked({ disruption: all }).at).toBe(new Date(NOW).toISOString().replace(".000", ""));
    expect(asked({ nodes: [["3"], ["3"]], disruption: all }).next).toEqual([]);
  });

  it("says what the last repack saved, and until when the pool is not repacked", () => {
    const repack = (overrun: number, endsMs?: number) => {
      const outcome = { predictedMicroUsd: 400_000, realisedMicroUsd: 300_000, overrun };
      const ledger = { outcome: () => outcome, repackHoldOffEndsMs: () => endsMs };
      return asked({ nodes: [], picture: { ledger: ledger as never } }).repack;
    };
    const says = "the last moves of several nodes saved $0.3000 of $0.4000 an hour";
    expect(repack(0)).toBe(says);
    expect(repack(0.125, NOW + HOUR_MS)).toBe(
      `${says}; not repacked until 2026-01-05T01:00:00Z; the next must save enough even if what comes costs 12.5 % more than planned`,
    );
    expect(asked().repack).toBeUndefined();
  });
});
