/**
 * Metrics of the cluster state: whether it is complete, and since when it is not. Nothing is decided while it is
 * incomplete.
 * upstream: pkg/controllers/state/metrics.go
 */
import { CLAIM_KINDS } from "../../apis/hub/claim.ts";
import type { MetricSpec, Sample, Series } from "../../base/metrics.ts";
import { type Controller, source } from "../../kube/manager/controller.ts";
import { observer } from "../metrics/observer.ts";
import type { World } from "../world.ts";

/** Metrics of the size and completeness of the cluster state. */
export const STATE_METRICS: readonly MetricSpec[] = [
  {
    name: "cluster_state_node_count",
    type: "gauge",
    help: "Number of nodes in the cluster state that the controller keeps in memory.",
    labels: [],
  },
  {
    name: "cluster_state_synced",
    type: "gauge",
    help: "1 while the cluster state in memory agrees with the API server and the cloud.",
    labels: [],
  },
  {
    name: "cluster_state_unsynced_time_seconds",
    type: "gauge",
    help: "How long the cluster state in memory has not been synced.",
    labels: [],
  },
];

/**
 * The controller that updates these metrics. It runs after the controllers that put claims into the cluster state,
 * because it reads their result.
 */
export function stateMetrics({ metrics, cluster, clock }: World): Controller {
  let unsyncedSinceMs: number | undefined;

  function look(): void {
    unsyncedSinceMs = cluster.synced ? undefined : (unsyncedSinceMs ?? clock.now());
  }

  function unsyncedSeconds(): number {
    look();
    return unsyncedSinceMs === undefined ? 0 : (clock.now() - unsyncedSinceMs) / 1_000;
  }

  function one(value: number): readonly Sample[] {
    return [{ labels: {}, value }];
  }

  function* count(): Series {
    yield* cluster.catchUp();
    yield* one(cluster.nodes().length);
  }

  return observer(
    metrics,
    "state.metrics",
    [
      ["cluster_state_node_count", count],
      ["cluster_state_synced", () => one(cluster.synced ? 1 : 0)],
      ["cluster_state_unsynced_time_seconds", () => one(unsyncedSeconds())],
    ],
    CLAIM_KINDS.map((kind) =>
      source(kind, () => {
        look();
        return [];
      }),
    ),
  );
}
