/**
 * Renewals of the Leases of nodes. A renewal gets its resourceVersion at once, but is written only when a client reads
 * or watches Leases. Of several renewals that no client read, only the last one is written. They skip admission.
 */
import type { Lease } from "../../../apis/policy/kinds.ts";
import { fromRfc3339, toRfc3339Micro } from "../../../base/clock.ts";
import { LEASE_NAMESPACE, type NodeLeases } from "../../node-leases.ts";
import type { Engine } from "../engine.ts";
import { ownedAfterWrite } from "../patch/managed-fields.ts";
import { callOn, storageDefinition } from "../request/internal-call.ts";
import { withManagedFields } from "../store/store-update.ts";

const LEASES = "coordination.k8s.io/leases";
const MANAGER = { "user-agent": "kube-controller-manager" };

interface Renewal {
  readonly atMs: number;
  readonly revision: number;
}

/** The Leases of nodes in the store of this server. */
export function createNodeLeases(engine: Engine): NodeLeases {
  const { clock, store } = engine;
  /** Renewals that are not written yet, by node, in the order of their versions. */
  const late = new Map<string, Renewal>();
  const leaseOf = (node: string) => store.peek(LEASES, LEASE_NAMESPACE, node) as Lease | undefined;
  const write = (): void => {
    if (late.size === 0) return;
    const renewals = [...late];
    late.clear();
    for (const [node, renewal] of renewals) {
      const lease = leaseOf(node);
      if (lease !== undefined) store.put(LEASES, renewed(engine, lease, renewal), renewal.revision);
    }
  };
  store.defer(LEASES, write);
  return {
    has: (node) => leaseOf(node) !== undefined,
    renewedMs: (node) => late.get(node)?.atMs ?? fromRfc3339(leaseOf(node)?.spec.renewTime),
    renew: (node) => {
      if (leaseOf(node) === undefined) return;
      late.delete(node);
      late.set(node, { atMs: clock.now(), revision: store.reserve() });
      if (store.isWatched(LEASES)) write();
    },
    onCreated: (listener) =>
      store.subscribeAll(({ type, storageKey, object: { metadata } }) => {
        if (type !== "ADDED" || storageKey !== LEASES) return;
        if (metadata.namespace === LEASE_NAMESPACE) listener(metadata.name);
      }),
  };
}

/** The Lease after the renewal, with the managedFields that it would have had then. */
function renewed(engine: Engine, lease: Lease, { atMs }: Renewal): Lease {
  const definition = storageDefinition(engine, LEASES);
  const next = { ...lease, spec: { ...lease.spec, renewTime: toRfc3339Micro(atMs) } };
  if (definition === undefined) return next;
  const clock = Object.create(engine.clock, { now: { value: () => atMs } });
  const call = { ...callOn({ ...engine, clock }, definition, lease, ""), headers: MANAGER };
  return withManagedFields(next, ownedAfterWrite(call, next, lease, "")) as Lease;
}
