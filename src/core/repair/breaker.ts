/**
 * The limit of node repair, the current one and the older one (`--legacy-node-repair`). If too many nodes are broken at
 * the same time, none is repaired. The cause is then probably the network or the control plane, and new nodes would not
 * help.
 * upstream: pkg/controllers/node/health/controller.go
 */

/** At most this share of the nodes may be broken, rounded up to a whole node. */
const MOST_BROKEN_PERCENT = 20;

/**
 * Whether more nodes are broken than the limit allows. `broken`, `nodes`: numbers for one NodePool, or for the whole
 * cluster. Broken nodes count even before their repair is due.
 */
export function isTooMany(broken: number, nodes: number): boolean {
  return broken > Math.ceil((nodes * MOST_BROKEN_PERCENT) / 100);
}
