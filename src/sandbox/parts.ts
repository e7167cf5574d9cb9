/**
 * What all simulated parts of Kubernetes (scheduler, kubelets, workload controllers) use: the mirrors with their
 * indexes, and a recorder of Events with the limits of the real one.
 */
import { POD, type Pod } from "../apis/core/pod.ts";
import { apiVersionOf, controllerOf, type Kind, type KubeObject, keyOf } from "../apis/meta.ts";
import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import type { Random } from "../base/random.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { EventRecorder, EventToPublish } from "../kube/events/events.ts";
import { createRecorder } from "../kube/events/recorder.ts";
import type { Mirror, Mirrors } from "../kube/mirror/mirror.ts";
import type { Trace } from "./trace.ts";

/** The dependencies of a part of the sandbox. */
export interface PartDeps {
  readonly clock: Clock;
  /** The source of random numbers. Each part derives its own stream from it. */
  readonly random: Random;
  /** A client whose writes are in the mirrors at once. */
  readonly kube: KubeClient;
  readonly mirrors: Mirrors;
  readonly log: Logger;
  readonly trace?: Trace | undefined;
}

/** Index of the pod mirror by `spec.nodeName`. */
export const PODS_BY_NODE = "sandbox.node";
/** Index of the pod mirror by the UID of the controlling owner; `namespace/` for orphans. */
export const PODS_BY_OWNER = "sandbox.owner";

/** The one pod mirror of all parts. The first caller sets its options, so all callers use this function. */
export function podMirror(mirrors: Mirrors): Mirror<Pod> {
  return mirrors.of(POD, {
    indexes: {
      [PODS_BY_NODE]: (pod) => (pod.spec.nodeName === undefined ? [] : [pod.spec.nodeName]),
      [PODS_BY_OWNER]: (pod) => {
        const owner = controllerOf(pod);
        return [owner === undefined ? `${pod.metadata.namespace ?? ""}/` : owner.uid];
      },
    },
  });
}

/** Limit of client-go's spam filter: an object may have this many Events without a wait, then one each five minutes. */
const BURST_PER_OBJECT = 25;
const REFILL_MS = 300_000;
/**
 * Number of objects for which it is remembered how many Events they may still have. The object known longest is
 * forgotten first.
 */
const REMEMBERED_OBJECTS = 4_096;

/** The Event recorder of one component (`default-scheduler`, `kubelet`, …), with the rate limits of the real one. */
export function createPartRecorder(deps: PartDeps, component: string): EventRecorder {
  const recorder = createRecorder({
    client: deps.kube,
    clock: deps.clock,
    random: deps.random.fork(`events/${component}`),
    log: deps.log,
    component,
  });
  const allowances = new Map<string, { tokens: number; atMs: number }>();
  return {
    publish: (...events) => {
      const now = deps.clock.now();
      recorder.publish(...events.filter((event) => spend(allowances, event, now)));
    },
  };
}

function spend(
  allowances: Map<string, { tokens: number; atMs: number }>,
  { object }: EventToPublish,
  now: number,
): boolean {
  const key = `${object.kind}/${keyOf(object)}/${object.metadata.uid}`;
  const allowance = allowances.get(key) ?? { tokens: BURST_PER_OBJECT, atMs: now };
  const refill = Math.floor((now - allowance.atMs) / REFILL_MS);
  if (refill > 0) {
    allowance.tokens = Math.min(BURST_PER_OBJECT, allowance.tokens + refill);
    allowance.atMs += refill * REFILL_MS;
  }
  allowances.delete(key);
  allowances.set(key, allowance);
  if (allowances.size > REMEMBERED_OBJECTS) {
    allowances.delete(allowances.keys().next().value as string);
  }
  if (allowance.tokens === 0) return false;
  allowance.tokens -= 1;
  return true;
}

/** The reference to an object for an Event. `kind` is passed because objects in mirrors may lack it. */
export function subject<T extends KubeObject>(kind: Kind<T>, object: T): EventToPublish["object"] {
  return { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata: object.metadata };
}
