/** Makes an empty picture of the cluster. */
import type { ClusterState, ClusterStateOptions } from "./cluster.ts";

/** Not built yet. */
export function createClusterState(options: ClusterStateOptions): ClusterState {
  throw new Error(`cluster state is not built yet (${options.managedLabels.length} classes)`);
}
