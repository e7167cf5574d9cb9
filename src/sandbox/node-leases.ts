/** The Leases of nodes, as kubelets renew them and the node lifecycle controller reads them. */

/** The namespace of the Leases of nodes. A Lease is named after its Node. */
export const LEASE_NAMESPACE = "kube-node-lease";

/** The Leases of nodes. Their renewals are most writes of a quiet cluster, so they do not pass as requests. */
export interface NodeLeases {
  /** Whether the node has a Lease. */
  has(node: string): boolean;
  /** When the Lease of the node was last renewed. Undefined: it has no Lease, or its Lease has no such time. */
  renewedMs(node: string): number | undefined;
  /** Renews the Lease of the node now. Does nothing if it has none. */
  renew(node: string): void;
  /** Calls `listener` with the node of each new Lease. Returns a function that stops this. */
  onCreated(listener: (node: string) => void): () => void;
}
