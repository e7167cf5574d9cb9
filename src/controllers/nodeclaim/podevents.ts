/**
 * Writes down when something last happened to a pod of a claim's node: consolidateAfter counts from
 * there. Being bound, ending and being asked to go count; daemons do not. That a pod has vanished is none: it
 * left when it ended or was asked to. At most one write in ten seconds.
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
import { nodes } from "../mirrors.ts";
import type { World } from "../world.ts";

const DEDUPE_MS = 10_000;

/** Until when nothing is to be written for a Node: pods come by the hundred, and ask no more than that. */
type Rests = WeakMap<Node, number>;

/** Notes on the claim when a pod was last added or removed; consolidateAfter counts from there. */
export function podEvents(world: World): Controller {
  const rests: Rests = new WeakMap();
  return {
    name: "nodeclaim.podevents",
    watches: [
      source(POD, (pod, event, before): readonly Request[] => {
        if (!isEventful(pod, event, before)) return [];
        const name = pod.spec.nodeName as string;
        return claimToTell(world, name, rests) === undefined ? [] : [{ kind: "Node", name }];
      }),
    ],
    concurrency: 100,
    reconcile: (request) => reconcile(world, request, rests),
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
function claimToTell(world: World, nodeName: string, rests: Rests): NodeClaim | undefined {
  const nowMs = world.clock.now();
  const node = nodes(world).get(nodeName);
  if (node === undefined || nowMs < (rests.get(node) ?? 0)) return undefined;
  const claim = claimOfNode(world, node);
  if (claim === undefined || isDeleting(claim) || !isManagedClaim(world, claim)) return undefined;
  const lastMs = fromRfc3339(claim.status?.lastPodEventTime);
  if (lastMs === undefined || nowMs - lastMs >= DEDUPE_MS) return claim;
  rests.set(node, lastMs + DEDUPE_MS);
  return undefined;
}

async function reconcile(world: World, request: Request, rests: Rests): Promise<Outcome> {
  const claim = claimToTell(world, request.name, rests);
  if (claim === undefined) return AWAIT_CHANGE;
  const lastPodEventTime = toRfc3339(world.clock.now());
  await changeClaim(world, claim, (one: NodeClaim) => ({
    ...one,
    status: { ...one.status, lastPodEventTime },
  }));
  return AWAIT_CHANGE;
}
