/**
 * Checks once a minute which nodes will be disrupted next, and gives their pods low deletion costs. Then a ReplicaSet
 * that scales down deletes these pods first. Needs the feature gate PodDeletionCostManagement.
 * upstream: pkg/controllers/pod/deletioncost/controller.go
 */
import { SILENT } from "../../base/log.ts";
import { StandingProblems } from "../../base/standing-problems.ts";
import { type Steps, stepRunner, TURN_MS } from "../../base/steps.ts";
import { allowancesFor } from "../../core/disruption/budgets.ts";
import { findCandidates } from "../../core/disruption/candidates.ts";
import { type CostChanges, deletionCosts } from "../../core/disruption/deletion-cost.ts";
import { pauseOf } from "../../core/disruption/pause.ts";
import { type Controller, type Outcome, requeueAfter } from "../../kube/manager/controller.ts";
import { poolsInUse } from "../disruption/gather.ts";
import { mayDecide } from "../may-decide.ts";
import { disruptionBudgets } from "../mirrors.ts";
import { poolById } from "../pools.ts";
import { catchUp } from "../state/catch-up.ts";
import { poolLabel } from "../words.ts";
import type { World } from "../world.ts";
import { createWriteQueue, type WriteQueue } from "./queue.ts";

const POLL_MS = 60_000;
/** A pass runs at least this often, because budget windows begin and end without a change in the cluster. */
const AT_LEAST_MS = 5 * 60_000;
const UNSYNCED_RETRY_MS = 1_000;

const SELF = { kind: "", name: "pod.deletioncost" };

/** The cluster revision and the time of the last pass, and whether the pass was cut short. */
interface Last {
  revision: number;
  atMs: number;
  isCut: boolean;
}

/** Returns two controllers: one decides on the costs, the other writes them. */
export function deletionCost(world: World): readonly Controller[] {
  const queue = createWriteQueue(world);
  const last: Last = { revision: -1, atMs: 0, isCut: false };
  const controller: Controller = {
    name: SELF.name,
    watches: [],
    concurrency: 1,
    initialRequests: [SELF],
    reconcile: () => reconcile(world, queue, last),
  };
  return [controller, queue.controller];
}

async function reconcile(world: World, queue: WriteQueue, last: Last): Promise<Outcome> {
  if (!mayDecide(world)) return requeueAfter(UNSYNCED_RETRY_MS);
  const atMs = world.clock.elapsedMs();
  const { revision } = world.cluster;
  const isDue = last.isCut || last.revision !== revision || atMs - last.atMs >= AT_LEAST_MS;
  if (!isDue) return requeueAfter(POLL_MS);
  const run = stepRunner(world.clock, TURN_MS);
  await catchUp(world, run);
  const pools = await poolsInUse(world, new StandingProblems(SILENT, world.clock));
  const { nodes, isCut } = await run(decide(world, pools));
  for (const { node, changes } of nodes) {
    const nodepool = poolLabel({ labels: node.labels });
    queue.add(changes.map((change) => ({ ...change, node: node.name, nodepool })));
  }
  Object.assign(last, { revision, atMs, isCut });
  return requeueAfter(POLL_MS);
}

function* decide(world: World, pools: Awaited<ReturnType<typeof poolsInUse>>): Steps<CostChanges> {
  const nowMs = world.clock.now();
  const nodes = world.cluster.nodes();
  const { pauseDisruption, clusterBudgets } = world.settings;
  const { candidates } = yield* findCandidates({
    ...{ nowMs, nodes, pools },
    pdbs: disruptionBudgets(world).list(),
    queued: new Set(),
    disruptionClass: "graceful",
    paused: ({ id }) => pauseOf(poolById(world, id)?.native, pauseDisruption),
  });
  const about = { pools: pools.map(({ pool }) => pool), nodes, nowMs, clusterBudgets };
  const drifted = yield* allowancesFor({ ...about, reason: "Drifted" });
  const underutilized = yield* allowancesFor({ ...about, reason: "Underutilized" });
  const managed = nodes.filter((one) => one.managed);
  return deletionCosts({ nodes: managed, candidates, drifted, underutilized });
}
