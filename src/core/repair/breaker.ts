/**
 * Stops node repair while many nodes are broken at the same time. The cause is then probably the network or the control
 * plane.
 * upstream: pkg/controllers/node/health/controller.go
 */

/** The largest share of a pool that may be broken, rounded up. For standalone claims: of the cluster. */
const MOST_BROKEN_PERCENT = 20;

/** Whether so many nodes are broken that repair must stop. Nodes whose repair is not due yet count, too. */
export function isTooMany(broken: number, nodes: number): boolean {
  return broken > Math.ceil((nodes * MOST_BROKEN_PERCENT) / 100);
}
