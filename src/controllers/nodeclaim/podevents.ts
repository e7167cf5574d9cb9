/**
 * Writes down when something last happened to a pod of a claim's node: consolidateAfter counts from
 * there. Binding, ending and being deleted count; daemons do not. At most one write in ten seconds.
 * upstream: pkg/controllers/nodeclaim/podevents/controller.go
 */
import {
  isOwnedByDaemonSet,
  isTerminal,
  isTerminating,
  POD,
  type Pod,
} from "../../apis/core/pod.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { fromRfc3339, toRfc3339 } from "../../base/clock.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  source,
} from "../../kube/controller.ts";
import type { MirrorEvent } from "../../kube/mirror.ts";
import { changeClaim, claimOfNode, isDeleting, isManagedClaim } from "../claims.ts";
import { nodes } from "../mirrors.ts";
import type { World } from "../world.ts";

const DEDUPE_MS = 10_000;

export function podEvents(world: World): Controller {
  return {
    name: "nodeclaim.podevents",
    watches: [
      source(POD, (pod, event, before): readonly Request[] =>
        isEventful(pod, event, before) ? [{ kind: "Node", name: pod.spec.nodeName as string }] : [],
      ),
    ],
    concurrency: 100,
    reconcile: (request) => reconcile(world, request),
  };
}

function isEventful(pod: Pod, event: MirrorEvent, before: Pod | undefined): boolean {
  if (pod.spec.nodeName === undefined || isOwnedByDaemonSet(pod)) return false;
  if (event === "removed") return true;
  // What was there when we started has happened some other time.
  if (event === "added") return false;
  if (before?.spec.nodeName !== pod.spec.nodeName) return true;
  const ended = isTerminal(pod) && !(before !== undefined && isTerminal(before));
  const leaving = isTerminating(pod) && !(before !== undefined && isTerminating(before));
  return ended || leaving;
}

async function reconcile(world: World, request: Request): Promise<Outcome> {
  const node = nodes(world).get(request.name);
  const claim = node === undefined ? undefined : claimOfNode(world, node);
  if (claim === undefined || isDeleting(claim) || !isManagedClaim(world, claim))
    return AWAIT_CHANGE;
  const nowMs = world.clock.now();
  const last = fromRfc3339(claim.status?.lastPodEventTime);
  if (last !== undefined && nowMs - last < DEDUPE_MS) return AWAIT_CHANGE;
  await changeClaim(world, claim, (one: NodeClaim) => ({
    ...one,
    status: { ...one.status, lastPodEventTime: toRfc3339(nowMs) },
  }));
  return AWAIT_CHANGE;
}
