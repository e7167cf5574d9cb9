/**
 * Heartbeats: every kubelet renews its Lease in `kube-node-lease`, every ten seconds as a real one. With very many
 * nodes renewals would keep the API server busy. Then they are less frequent, and the node lifecycle controller
 * waits longer in proportion.
 */
import { NODE } from "../../apis/core/node.ts";
import { LEASE } from "../../apis/policy/kinds.ts";
import { toRfc3339Micro } from "../../base/clock.ts";
import { isNotFound } from "../../kube/errors.ts";
import {
  type Controller,
  type Outcome,
  type Request,
  requeueAfter,
} from "../../kube/manager/controller.ts";
import { LEASE_NAMESPACE } from "./join.ts";
import type { Kubelets } from "./machines.ts";

const REQUEST: Request = { kind: "Leases", name: "all" };
/** Maximum number of renewals in a second of simulated time, for all nodes together. */
const RENEWALS_PER_SECOND = 10;
/**
 * A node counts as silent after this many missed renewals: 50 s. upstream: kube-controller-manager
 * --node-monitor-grace-period
 */
const MISSED_RENEWALS = 5;

/** Milliseconds between two renewals of a node. They grow with the number of nodes. */
function renewIntervalMs(kubelets: Kubelets): number {
  const nodes = kubelets.deps.mirrors.of(NODE).size;
  return Math.max(kubelets.options.leaseRenewMs, Math.ceil((nodes * 1_000) / RENEWALS_PER_SECOND));
}

/** Milliseconds after which a node counts as silent if its Lease was not renewed. */
export function nodeMonitorGraceMs(kubelets: Kubelets): number {
  return MISSED_RENEWALS * renewIntervalMs(kubelets);
}

/** Renews the Lease of each simulated node. */
export function leaseController(kubelets: Kubelets): Controller {
  const { clock, kube, mirrors, log } = kubelets.deps;
  const nodes = mirrors.of(NODE);
  const leases = mirrors.of(LEASE);

  async function renew(name: string): Promise<void> {
    const body = { spec: { renewTime: toRfc3339Micro(clock.now()) } };
    try {
      await kube.patch(LEASE, { name, namespace: LEASE_NAMESPACE }, { type: "merge", body });
    } catch (error) {
      if (!isNotFound(error))
        log.debug("renewing lease failed", { Node: name, error: String(error) });
    }
  }

  async function reconcile(): Promise<Outcome> {
    const alive = nodes
      .list()
      .filter((node) => kubelets.runs(node))
      .map((node) => node.metadata.name)
      .filter((name) => leases.get(`${LEASE_NAMESPACE}/${name}`) !== undefined);
    await Promise.all(alive.map(renew));
    return requeueAfter(renewIntervalMs(kubelets));
  }

  return {
    name: "kubelet.lease",
    watches: [],
    concurrency: 1,
    initialRequests: [REQUEST],
    reconcile,
  };
}
