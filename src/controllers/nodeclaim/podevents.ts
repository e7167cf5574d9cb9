/**
 * Writes down when something last happened to a pod of a claim's node: consolidateAfter counts from
 * there. Being bound, ending and being asked to go count; daemons do not. That a pod has vanished is none: it
 * left when it ended or was asked to. At most one write in ten seconds.
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
      source(POD, (pod, event, before): readonly Request[] => {
        if (!isEventful(pod, event, before)) return [];
        const name = pod.spec.nodeName as string;
        // Pods come by the hundred: what has just been written down needs no turn of the queue.
        return claimToTell(world, name) === undefined ? [] : [{ kind: "Node", name }];
      }),
    ],
    concurrency: 100,
    reconcile: (request) => reconcile(world, request),
  };
}

function isEventful(pod: Pod, event: MirrorEvent, before: Pod | undefined): boolean {
  // What was there when we started has happened some other time.
  if (event !== "updated" || pod.spec.nodeName === undefined) return false;
  if (isOwnedByDaemonSet(pod)) return false;
  if (before?.spec.nodeName !== pod.spec.nodeName) return true;
  const ended = isTerminal(pod) && !(before !== undefined && isTerminal(before));
  const leaving = isTerminating(pod) && !(before !== undefined && isTerminating(before));
  return ended || leaving;
}

/** The claim of a Node, where nothing has been written down for long enough. */
function claimToTell(world: World, nodeName: string): NodeClaim | undefined {
  const node = nodes(world).get(nodeName);
  const claim = node === undefined ? undefined : claimOfNode(world, node);
  if (claim === undefined || isDeleting(claim) || !isManagedClaim(world, claim)) return undefined;
  const last = fromRfc3339(claim.status?.lastPodEventTime);
  return last !== undefined && world.clock.now() - last < DEDUPE_MS ? undefined : claim;
}

async function reconcile(world: World, request: Request): Promise<Outcome> {
  const claim = claimToTell(world, request.name);
  if (claim === undefined) return AWAIT_CHANGE;
  const lastPodEventTime = toRfc3339(world.clock.now());
  await changeClaim(world, claim, (one: NodeClaim) => ({
    ...one,
    status: { ...one.status, lastPodEventTime },
  }));
  return AWAIT_CHANGE;
}
