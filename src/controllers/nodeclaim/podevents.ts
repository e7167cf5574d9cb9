/**
 * Writes on each claim when its node last got or lost a pod; `consolidateAfter` counts from that time. A pod counts
 * when it is bound, when it finishes and when its deletion begins. Pods of DaemonSets do not count. There is at most
 * one write in ten seconds.
 * upstream: pkg/controllers/nodeclaim/podevents/controller.go
 */
import type { Node } from "../../apis/core/node.ts";
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
} from "../../kube/manager/controller.ts";
import type { MirrorEvent } from "../../kube/mirror/mirror.ts";
import { changeClaim, claimOfNode, isDeleting, isManagedClaim } from "../claims.ts";
import { laterNow } from "../ending/two-clocks.ts";
import { nodes } from "../mirrors.ts";
import type { World } from "../world.ts";

const DEDUPE_MS = 10_000;

/** When the claim of each Node was last written. Kept because hundreds of pods may be bound at once. */
type LastWrites = WeakMap<Node, number>;

/** The controller that writes on the claim when its node last got or lost a pod. */
export function podEvents(world: World): Controller {
  const lastWrites: LastWrites = new WeakMap();
  return {
    name: "nodeclaim.podevents",
    watches: [
      source(POD, (pod, event, before): readonly Request[] => {
        if (!isEventful(pod, event, before)) return [];
        const name = pod.spec.nodeName as string;
        return claimToTell(world, name, lastWrites) === undefined ? [] : [{ kind: "Node", name }];
      }),
    ],
    concurrency: 100,
    reconcile: (request) => reconcile(world, request, lastWrites),
  };
}

function isEventful(pod: Pod, event: MirrorEvent, before: Pod | undefined): boolean {
  // Pods that exist at the start of this process were bound earlier.
  if (event !== "updated" || pod.spec.nodeName === undefined) return false;
  if (isOwnedByDaemonSet(pod)) return false;
  if (before?.spec.nodeName !== pod.spec.nodeName) return true;
  const ended = isTerminal(pod) && !(before !== undefined && isTerminal(before));
  const leaving = isTerminating(pod) && !(before !== undefined && isTerminating(before));
  return ended || leaving;
}

/** The claim of a Node, if its last write is long enough ago. */
function claimToTell(
  world: World,
  nodeName: string,
  lastWrites: LastWrites,
): NodeClaim | undefined {
  const nowMs = laterNow(world);
  const node = nodes(world).get(nodeName);
  if (node === undefined || isRecent(nowMs, lastWrites.get(node) ?? 0)) return undefined;
  const claim = claimOfNode(world, node);
  if (claim === undefined || isDeleting(claim) || !isManagedClaim(world, claim)) return undefined;
  const lastMs = fromRfc3339(claim.status?.lastPodEventTime);
  if (lastMs === undefined || !isRecent(nowMs, lastMs)) return claim;
  lastWrites.set(node, lastMs);
  return undefined;
}

/**
 * Whether the last write was a moment ago. A time in the future comes from a wrong clock, and must not prevent the
 * write of the right time.
 */
function isRecent(nowMs: number, lastMs: number): boolean {
  return lastMs <= nowMs && nowMs < lastMs + DEDUPE_MS;
}

async function reconcile(world: World, request: Request, lastWrites: LastWrites): Promise<Outcome> {
  const claim = claimToTell(world, request.name, lastWrites);
  if (claim === undefined) return AWAIT_CHANGE;
  const lastPodEventTime = toRfc3339(laterNow(world));
  await changeClaim(world, claim, (one: NodeClaim) => ({
    ...one,
    status: { ...one.status, lastPodEventTime },
  }));
  return AWAIT_CHANGE;
}
