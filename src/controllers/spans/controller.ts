/**
 * Watches claims and the pods that they were created for, and exports what happens to them as spans. Runs only if the
 * export of traces is enabled. It writes nothing to the cluster.
 */
import { POD, type Pod } from "../../apis/core/pod.ts";
import { CLAIM_KINDS } from "../../apis/hub/claim.ts";
import type { Kind } from "../../apis/meta.ts";
import { keyOf } from "../../apis/meta.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  requestFor,
  requeueAfter,
  source,
} from "../../kube/manager/controller.ts";
import { isManagedClaim, readClaim } from "../claims.ts";
import { pods } from "../mirrors.ts";
import type { World } from "../world.ts";
import type { SpanNotes } from "./span-notes.ts";

/** The controller that passes the states of claims and pods to {@link SpanNotes}. */
export function spans(world: World, notes: SpanNotes): Controller {
  return {
    name: "spans",
    watches: [
      ...CLAIM_KINDS.map((kind) => source(kind as Kind)),
      source(POD, (pod: Pod) => (notes.awaits(keyOf(pod)) ? [requestFor(POD.kind, pod)] : [])),
    ],
    concurrency: 1,
    reconcile: async (request) => {
      if (request.kind === POD.kind) {
        const key = `${request.namespace}/${request.name}`;
        notes.sawPod(key, pods(world).get(key));
        return AWAIT_CHANGE;
      }
      const claim = readClaim(world, request);
      if (claim !== undefined && !isManagedClaim(world, claim)) return AWAIT_CHANGE;
      const againMs = notes.saw(request.name, claim);
      return againMs === undefined ? AWAIT_CHANGE : requeueAfter(againMs);
    },
  };
}
