/**
 * Stops node repair while many nodes are broken together. The cause is then probably the network or the control plane.
 * upstream: pkg/controllers/node/health/controller.go
 */

/** Largest share of a pool, or of the cluster for standalone claims, that may be broken. Rounded up. */
const MOST_BROKEN_PERCENT = 20;

/** Whether so many nodes are broken that repair must stop. Nodes that broke just now count, too. */
export function isTooMany(broken: number, nodes: number): boolean {
  return broken > Math.ceil((nodes * MOST_BROKEN_PERCENT) / 100);
}
