/**
 * Feeds our picture of the cluster from the mirrors: nodes, claims of both kinds, pods and DaemonSets.
 * The mapping of an event does the work itself, at once and in order, and asks for nothing: the picture
 * must be as fresh as the mirrors before any queue runs, so these come first in all.ts.
 * upstream: pkg/controllers/state/informer
 */
import { DAEMON_SET, type DaemonSet } from "../../apis/apps/kinds.ts";
import { NODE, type Node } from "../../apis/core/node.ts";
import { POD, type Pod } from "../../apis/core/pod.ts";
import { CLAIM_KINDS, toClaim } from "../../apis/hub/claim.ts";
import { type Kind, type KubeObject, keyOf } from "../../apis/meta.ts";
import { AWAIT_CHANGE, type Controller, type Source, source } from "../../kube/controller.ts";
import type { MirrorEvent } from "../../kube/mirror.ts";
import type { World } from "../world.ts";

/** `state.node`: every Node, also those that are not ours: pods may be placed there. */
export function stateNode({ cluster }: World): Controller {
  return feeder("state.node", [
    fed<Node>(NODE, (event, node) => {
      if (event === "removed") cluster.deleteNode(node.metadata.name);
      else cluster.updateNode(node);
    }),
  ]);
}

/** `state.nodeclaim`: NodeClaims and Machines, in hub shape. */
export function stateNodeClaim({ cluster }: World): Controller {
  return feeder(
    "state.nodeclaim",
    CLAIM_KINDS.map((kind) =>
      fed<KubeObject>(kind, (event, claim) => {
        if (event === "removed") cluster.deleteClaim(claim.metadata.name, kind.kind);
        else cluster.updateClaim(toClaim(claim));
      }),
    ),
  );
}

/** `state.pod`: pods bound and unbound, as the mirror projects them. */
export function statePod({ cluster }: World): Controller {
  return feeder("state.pod", [
    fed<Pod>(POD, (event, pod) => {
      if (event === "removed") cluster.deletePod(keyOf(pod));
      else cluster.updatePod(pod);
    }),
  ]);
}

/** `state.daemonset`: what each new node will carry. */
export function stateDaemonSet({ cluster }: World): Controller {
  return feeder("state.daemonset", [
    fed<DaemonSet>(DAEMON_SET, (event, daemonSet) => {
      if (event === "removed") cluster.deleteDaemonSet(keyOf(daemonSet));
      else cluster.updateDaemonSet(daemonSet);
    }),
  ]);
}

function fed<T extends KubeObject>(
  kind: Kind<T>,
  take: (event: MirrorEvent, object: T) => void,
): Source {
  return source(kind, (object, event) => {
    take(event, object);
    return [];
  });
}

function feeder(name: string, watches: readonly Source[]): Controller {
  return { name, watches, concurrency: 1, reconcile: async () => AWAIT_CHANGE };
}
