/** Heartbeats: the kubelets of all simulated nodes renew their Leases every ten seconds, as real ones. */
import { NODE } from "../../apis/core/node.ts";
import {
  type Controller,
  type Outcome,
  type Request,
  requeueAfter,
} from "../../kube/manager/controller.ts";
import type { NodeLeases } from "../node-leases.ts";
import type { Kubelets } from "./machines.ts";

const REQUEST: Request = { kind: "Leases", name: "all" };
const RENEW_MS = 10_000;
/**
 * Milliseconds after which a node counts as silent if its Lease was not renewed. upstream: kube-controller-manager
 * --node-monitor-grace-period
 */
export const NODE_MONITOR_GRACE_MS = 50_000;

/** Renews the Lease of each simulated node. */
export function leaseController(kubelets: Kubelets, leases: NodeLeases): Controller {
  const nodes = kubelets.deps.mirrors.of(NODE);

  function reconcile(): Promise<Outcome> {
    for (const node of nodes.list()) if (kubelets.runs(node)) leases.renew(node.metadata.name);
    return Promise.resolve(requeueAfter(RENEW_MS));
  }

  return {
    name: "kubelet.lease",
    watches: [],
    concurrency: 1,
    initialRequests: [REQUEST],
    reconcile,
  };
}
