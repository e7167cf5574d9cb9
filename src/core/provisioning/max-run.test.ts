import { describe, expect, it } from "vitest";
import type { Pod } from "../../apis/core/pod.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import { instanceType, nodeView, pod, poolInput, schedulingInput } from "../../testing/builders.ts";
import { planBatch } from "../planner/plan-batch.ts";
import { DEFAULT_PLANNER } from "../planner/planner-options.ts";
import { claimManifest } from "./manifest.ts";
import type { SchedulingInput } from "./scheduling-input.ts";
import { solve } from "./solve.ts";

const KEY = "karpenter.sh/max-run-duration";
const EAGER = { ...DEFAULT_PLANNER, minPods: 0, minSaving: 0, nodeMicroUsdPerHour: 0 };
const TYPES = [2, 16].map((cpu) => instanceType({ cpu }));

function lasting(name: string, duration?: string): Pod {
  const one = pod({ name, cpu: "1" });
  if (duration === undefined) return one;
  return { ...one, metadata: { ...one.metadata, annotations: { [KEY]: duration } } };
}

const input = (
  pods: readonly Pod[],
  pool: Partial<Pool> = {},
  more: Partial<SchedulingInput> = {},
) => schedulingInput({ pods, pools: [poolInput(pool, TYPES)], ...more });

/** For each planned node: the names of its pods, and how many minutes the node may live. */
function nodesFor(pods: readonly Pod[]) {
  return solve(input(pods))
    .newClaims.map(({ pods: own, maxRunMs }) => ({
      pods: own.map(({ metadata }) => metadata.name).sort(),
      minutes: maxRunMs === undefined ? undefined : maxRunMs / 60_000,
    }))
    .sort((a, b) => ((a.pods[0] ?? "") < (b.pods[0] ?? "") ? -1 : 1));
}

describe("pods with the max-run-duration annotation", () => {
  const MIXED = [
    lasting("a", "2h"),
    lasting("b"),
    lasting("c", "120m"),
    lasting("d"),
    lasting("e", "30m"),
  ];

  it("share new nodes only with pods of the same duration", () => {
    expect(nodesFor(MIXED)).toEqual([
      { pods: ["a", "c"], minutes: 120 },
      { pods: ["b", "d"], minutes: undefined },
      { pods: ["e"], minutes: 30 },
    ]);
  });

  it("are separated by duration in every plan of the planner", () => {
    const many = ["2h", undefined, "30m"].flatMap((duration, kind) =>
      Array.from({ length: 20 }, (_, at) => lasting(`p-${kind}-${at}`, duration)),
    );
    const { newClaims, unschedulable } = planBatch(input(many), EAGER);
    expect(unschedulable).toEqual([]);
    for (const { pods } of newClaims)
      expect(new Set(pods.map(({ metadata }) => metadata.annotations?.[KEY])).size).toBe(1);
  });

  it.each(["alpha", "beta", "v1"] as const)(
    "get nodes with a label of their longest lifetime (%s)",
    (generation) => {
      const [planned] = solve(input([lasting("a", "90m")], { generation })).newClaims;
      if (planned === undefined) throw new Error("nothing is planned");
      expect(claimManifest(planned, "x").metadata.labels?.[KEY]).toBe("1h30m");
    },
  );

  it("use room on existing nodes, as kube-scheduler does", () => {
    const nodes = [nodeView({ node: { name: "n" } })];
    const result = solve(input([lasting("a", "2h")], {}, { nodes }));
    expect(result.existing.map(({ nodeName }) => nodeName)).toEqual(["n"]);
  });

  it.each(["soon", "0", "-1h", "1ms", "9m59s", "2562048h"])(
    "are refused if the duration is invalid: %s",
    (text) => {
      const [refused] = solve(input([lasting("a", text)])).unschedulable;
      expect(refused?.message).toBe(
        `annotation ${KEY} is "${text}": wanted a duration of at least 10m, such as 2h or 90m`,
      );
    },
  );
});
