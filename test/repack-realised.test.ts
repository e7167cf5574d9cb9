/**
 * Repack when its plans do not come true, on virtual time. It packs nodes tightly, but kube-scheduler spreads the
 * pods. So the last pod finds no room, and one more node is launched. The loop, the ledger and what they learn are
 * real; the cluster is simulated.
 */
import { describe, expect, it } from "vitest";
import { toRfc3339 } from "../src/base/clock.ts";
import { atOnce } from "../src/base/steps.ts";
import { change, later, type Model } from "../src/core/answers/model.ts";
import { type PlanPass, provision } from "../src/core/answers/rehearsal.ts";
import { totalsOf } from "../src/core/answers/totals.ts";
import { priceOf } from "../src/core/disruption/candidates.ts";
import type { Command } from "../src/core/disruption/command.ts";
import { moveOf } from "../src/core/disruption/moves.ts";
import { movesToJudge, outcomeOf } from "../src/core/disruption/outcome.ts";
import { nextCommands } from "../src/core/disruption/run-round.ts";
import { planBatchInSteps } from "../src/core/planner/plan-batch.ts";
import { DEFAULT_PLANNER } from "../src/core/planner/planner-options.ts";
import { nodeView } from "../src/core/state/node-view.ts";
import { instanceType, pod, pool as poolOf } from "../src/testing/builders.ts";
import { candidate, NOW } from "../src/testing/disruption.ts";
import { quietModel } from "../src/testing/quiet-model.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

describe("a cluster in which the savings of a repack are not realised", () => {
  it("is repacked again and again if the results are not evaluated", () => {
    expect(play("careless", 6 * HOUR_MS).repackedAfterHours).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it("settles, and costs no more at the end than when it first settled", () => {
    const { repackedAfterHours, firstQuietMicroUsd, endMicroUsd } = play("learns", 6 * HOUR_MS);
    expect(repackedAfterHours).toEqual([0]);
    expect(endMicroUsd).toBeLessThanOrEqual(firstQuietMicroUsd);
  });
});

function play(mode: "learns" | "careless", forMs: number) {
  let model = startModel();
  const repackedAfterHours: number[] = [];
  let firstQuietMicroUsd: number | undefined;
  while (model.picture.nowMs < NOW + forMs) {
    const { nowMs } = model.picture;
    if (mode === "learns") judge(model);
    const found = atOnce(nextCommands(model.picture));
    if (found === undefined) {
      firstQuietMicroUsd ??= atOnce(totalsOf(model)).priceMicroUsdPerHour;
      model = atOnce(later(model, nowMs + 10 * MINUTE_MS));
      continue;
    }
    if (found.method.name === "repack")
      repackedAfterHours.push(Math.floor((nowMs - NOW) / HOUR_MS));
    for (const command of found.commands) model = carriedOut(model, command, `c-${nowMs}`);
  }
  const endMicroUsd = atOnce(totalsOf(model)).priceMicroUsdPerHour;
  return { repackedAfterHours, firstQuietMicroUsd: firstQuietMicroUsd ?? 0, endMicroUsd };
}

/**
 * Carries out a command. New nodes are launched as planned, but each pod, small ones first, goes where most room
 * is free.
 */
function carriedOut(before: Model, command: Command, id: string): Model {
  const { nowMs, ledger } = before.picture;
  const begun = { id, reason: command.reason, startedAt: toRfc3339(nowMs) };
  ledger.note(moveOf(command, begun), nowMs);
  const cpuOf = (one: ReturnType<typeof pod>) =>
    Number(one.spec.containers[0]?.resources?.requests?.["cpu"]);
  const open = command.replacements.map((plan) => ({
    plan,
    pods: [] as ReturnType<typeof pod>[],
    free: Number(plan.cheapest.instanceType.slice(2)),
  }));
  const evicted = command.candidates.flatMap((one) => one.reschedulablePods);
  for (const one of evicted.toSorted((a, b) => cpuOf(a) - cpuOf(b))) {
    const [most] = open.toSorted((a, b) => b.free - a.free);
    if (most === undefined || most.free < cpuOf(one)) continue;
    most.pods.push(one);
    most.free -= cpuOf(one);
  }
  const { model } = atOnce(
    change(before, {
      gone: command.candidates.map(({ node }) => node.name),
      launched: open.map(({ plan, pods }) => ({ ...plan, pods })),
      command: id,
      nowMs: nowMs + MINUTE_MS,
    }),
  );
  const plan: PlanPass = (input) => planBatchInSteps(input, DEFAULT_PLANNER);
  return atOnce(provision(model, plan)).model;
}

/** Judges past moves as controllers/disruption/outcomes.ts does. */
function judge({ picture: { ledger, nodes, nowMs, pools } }: Model): void {
  for (const { pool, instanceTypes } of pools) {
    const last = ledger.lastOutcome(pool.id);
    const moves = movesToJudge(ledger.recent(nowMs), pool.id, last);
    const priced = () =>
      nodes.map((node) => ({ node, priceMicroUsd: priceOf(node.labels, instanceTypes) }));
    const outcome = outcomeOf(moves, priced, { last, nowMs });
    if (outcome !== undefined) ledger.setOutcome(pool.id, outcome);
  }
}

/** Six nodes of 8 CPU, each with a pod of 4 CPU and two of 1.5 CPU. On paper four nodes of 12 CPU would do. */
function startModel(): Model {
  const types = [
    { cpu: 8, priceMicroUsd: 400_000 },
    { cpu: 12, priceMicroUsd: 500_000 },
  ].map(({ cpu, priceMicroUsd }) =>
    instanceType({
      name: `m-${cpu}`,
      cpu,
      priceMicroUsd,
      overhead: {},
      zones: ["zone-a"],
      capacityTypes: ["on-demand"],
    }),
  );
  const base = poolOf();
  const disruption = { ...base.disruption, budgets: [{ nodes: "100%" }] };
  const pool = { ...base, disruption };
  const nodes = ["a", "b", "c", "d", "e", "f"].map((name) => {
    const { node, claim } = candidate(name, { types, type: "m-8", disruption });
    const running = ["4", "1.5", "1.5"].map((cpu, index) =>
      pod({
        name: `${name}-${index}`,
        nodeName: name,
        cpu,
        owner: { kind: "ReplicaSet", name: `cpu-${cpu}` },
      }),
    );
    return nodeView({ node: node.node, claim, pods: running, marked: false, nominatedUntilMs: 0 });
  });
  const own = { pool, instanceTypes: types, usage: {} };
  const restraint = {
    minSavingsPercent: 5,
    maxPaybackMs: 4 * HOUR_MS,
    replacementRestMs: HOUR_MS,
    maxMovesPerPodHour: 4,
  };
  const repack = { planner: DEFAULT_PLANNER, minSavingsPercent: 5 };
  return quietModel({ pools: [own], nodes, restraint, repack });
}
