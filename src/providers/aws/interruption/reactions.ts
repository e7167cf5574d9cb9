/**
 * What each kind of message causes: an action, an event, a mark on the offering. "CordonAndDrain" deletes the claim,
 * and the claim's finalizer drains the node. Disruption budgets do not delay this. The drain evicts no pod with
 * do-not-disrupt; it waits for such a pod until the node's deadline, if there is one
 * (src/controllers/node/eviction-queue.ts).
 * upstream: pkg/controllers/interruption/controller.go, events
 */
import type { KubeObject } from "../../../apis/meta.ts";
import type { EventToPublish } from "../../../kube/events/events.ts";
import type { MessageKind } from "./messages.ts";

/** The kinds that have a reaction. */
export type ActingKind = Exclude<MessageKind, "no_op">;

/** What a message causes: an event, and for some kinds the deletion of the claim. */
export interface Reaction {
  readonly action: "CordonAndDrain" | "NoAction";
  /** The name of the kind in logs of v1alpha5 and v1beta1. */
  readonly formerKind: string;
  readonly event: Pick<EventToPublish, "type" | "reason" | "message">;
  /** Whether the offering of the claim is not used again for a while. */
  readonly marksOffering: boolean;
  /**
   * Whether no event is published on claims that are being deleted: terminating an instance here also changes its
   * state, and a warning about that would be a false alarm.
   */
  readonly quietWhenDeleting: boolean;
}

/** The reaction to each kind. upstream: pkg/controllers/interruption/controller.go. */
export const REACTIONS: Readonly<Record<ActingKind, Reaction>> = {
  spot_interrupted: {
    action: "CordonAndDrain",
    formerKind: "SpotInterruptionKind",
    event: warning("SpotInterrupted", "Spot interruption warning was triggered"),
    marksOffering: true,
    quietWhenDeleting: false,
  },
  rebalance_recommendation: {
    action: "NoAction",
    formerKind: "RebalanceRecommendationKind",
    event: {
      type: "Normal",
      reason: "SpotRebalanceRecommendation",
      message: "Spot rebalance recommendation was triggered",
    },
    marksOffering: false,
    quietWhenDeleting: false,
  },
  scheduled_change: {
    action: "CordonAndDrain",
    formerKind: "ScheduledChangeKind",
    event: warning("InstanceUnhealthy", "An unhealthy warning was triggered for the instance"),
    marksOffering: false,
    quietWhenDeleting: false,
  },
  instance_stopped: {
    action: "CordonAndDrain",
    formerKind: "StateChangeKind",
    event: warning("InstanceStopping", "Instance is stopping"),
    marksOffering: false,
    quietWhenDeleting: true,
  },
  instance_terminated: {
    action: "CordonAndDrain",
    formerKind: "StateChangeKind",
    event: warning("InstanceTerminating", "Instance is terminating"),
    marksOffering: false,
    quietWhenDeleting: true,
  },
  capacity_reservation_interrupted: {
    action: "CordonAndDrain",
    formerKind: "CapacityReservationInterruptionKind",
    event: warning(
      "CapacityReservationInstanceInterrupted",
      "Capacity Reservation interruption warning was triggered",
    ),
    marksOffering: false,
    quietWhenDeleting: false,
  },
};

function warning(reason: string, message: string): Reaction["event"] {
  return { type: "Warning", reason, message };
}

/** The events that say what happened: one for each of these objects, the claim and its Node if it has one. */
export function happened({ event }: Reaction, objects: readonly KubeObject[]): EventToPublish[] {
  return objects.map((object) => published(object, event));
}

/** The events that say that the node will be drained and terminated. */
export function terminating(objects: readonly KubeObject[]): EventToPublish[] {
  return objects.map((object) =>
    published(
      object,
      warning(
        "TerminatingOnInterruption",
        `Interruption triggered termination for the ${object.kind}`,
      ),
    ),
  );
}

function published(object: KubeObject, event: Reaction["event"]): EventToPublish {
  // An equal event is published at most once for some time, because SQS may deliver a message twice.
  return { ...event, object, dedupeValues: [object.metadata.uid ?? ""] };
}
