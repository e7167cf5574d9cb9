import { describe, expect, it } from "vitest";
import { toRfc3339 } from "../../base/clock.ts";
import { atOnce } from "../../base/steps.ts";
import { pod, pool as poolOf, schedulingInput } from "../../testing/builders.ts";
import { candidate, NOW } from "../../testing/disruption.ts";
import { nodeView } from "../state/node-view.ts";
import { Ledger } from "./ledger.ts";
import { isSettling } from "./settling.ts";
import { createSimulator } from "./simulate.ts";

const MINUTE_MS = 60_000;
const RESTRAINT = {
  minSavingsPercent: 5,
  maxPaybackMs: 0,
  replacementRestMs: 60 * MINUTE_MS,
  maxMovesPerPodHour: 4,
};

interface Options {
  readonly isRestless?: boolean;
  readonly owner?: string;
  readonly afterMs?: number;
  readonly consolidateAfterMs?: number;
  readonly reason?: "Underutilized" | "Drifted";
  readonly poolId?: string;
}

describe("a workload moved by consolidation", () => {
  it.each<[string, boolean, Options]>([
    ["is settling while its pods are on nodes that are not consolidatable", true, {}],
    ["has settled on consolidatable nodes", false, { isRestless: false }],
    ["does not delay other workloads", false, { owner: "ReplicaSet other" }],
    ["does not delay other pools", false, { poolId: "nodepool/other" }],
    ["delays no longer than the pool's consolidateAfter", false, { afterMs: 2 * MINUTE_MS }],
    ["does not delay if consolidateAfter is long", false, { consolidateAfterMs: 10 * MINUTE_MS }],
    ["does not delay if drift moved it", false, { reason: "Drifted" }],
  ])("%s", (_, expected, options) => {
    const { poolId = "nodepool/default", ...rest } = options;
    expect(atOnce(isSettling(picture(rest), new Set([poolId])))).toBe(expected);
  });
});

function picture({
  isRestless = true,
  owner = "ReplicaSet web",
  afterMs = 20_000,
  consolidateAfterMs = 30_000,
  reason = "Underutilized",
}: Options) {
  const disruption = { ...poolOf().disruption, consolidateAfter: consolidateAfterMs };
  const conditions: Readonly<Record<string, number>> = isRestless ? {} : { Consolidatable: 0 };
  const { node, claim } = candidate("a", { disruption, conditions });
  const [kind = "", name = ""] = "ReplicaSet web".split(" ");
  const running = pod({ name: "web-0", nodeName: "a", cpu: "1", owner: { kind, name } });
  const uid = running.metadata.ownerReferences?.[0]?.uid ?? "";
  const view = nodeView({
    node: node.node,
    claim,
    pods: [running],
    marked: false,
    nominatedUntilMs: 0,
  });
  const ledger = new Ledger(RESTRAINT);
  ledger.note(
    {
      command: "c",
      reason,
      at: toRfc3339(NOW - afterMs),
      nodes: ["gone"],
      priceMicroUsd: 2,
      savesMicroUsd: 1,
      replacements: 0,
      pods: { [owner === "ReplicaSet web" ? uid : owner]: 1 },
    },
    NOW,
  );
  const own = { pool: { ...poolOf(), disruption }, instanceTypes: [], usage: {} };
  const simulator = createSimulator(schedulingInput({ pools: [own], nodes: [view] }));
  return { pools: [own], nodes: [view], ledger, simulator, nowMs: NOW };
}
