/**
 * The limit of both kinds of node repair: if too many nodes are broken at the same time, none is repaired. The cause is
 * then probably the network or the control plane, and new nodes would not help.
 * upstream: pkg/controllers/node/health/controller.go
 */

/**
 * At most this share of the nodes of a NodePool may be broken, rounded up to a whole node. Nodes without a NodePool are
 * compared with the whole cluster.
 */
const MOST_BROKEN_PERCENT = 20;

/** Whether more nodes are broken than the limit allows. Broken nodes count even before their repair is due. */
export function isTooMany(broken: number, nodes: number): boolean {
  return broken > Math.ceil((nodes * MOST_BROKEN_PERCENT) / 100);
}
