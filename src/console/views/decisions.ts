/**
 * What Karpenter did and reported, newest last. It comes from Events, which Kubernetes keeps for an hour by
 * default.
 */
import type { Event } from "../../apis/core/kinds.ts";
import { compareText } from "../../base/text-order.ts";
import type { View } from "./view.ts";

export interface DecisionsHead {
  /** Number of events that were left out because there are too many. */
  readonly dropped: number;
}

export interface DecisionRow {
  /** When it last happened, in RFC 3339. */
  readonly at: string;
  readonly reason: string;
  readonly says: string;
  readonly isWarning: boolean;
  readonly count: number;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

/** Maximum number of rows of the table. */
const MOST_ROWS = 2_000;

/** One row for each event, oldest first. */
export function decisionsView(events: readonly Event[]): View<DecisionsHead, DecisionRow> {
  const ours = events
    .filter(isOurs)
    .map((event) => [keyOfEvent(event), decisionRow(event)] as const)
    .sort(([a, { at }], [b, { at: other }]) => compareText(at, other) || compareText(a, b));
  const rows = ours.slice(-MOST_ROWS);
  return {
    head: {
      dropped: ours.length - rows.length,
    },
    rows: new Map(rows),
  };
}

/** Whether an event is from Karpenter, or from kube-scheduler about a pod that fits nowhere. */
function isOurs({ source, reportingComponent, reason }: Event): boolean {
  const by = source?.component || reportingComponent;
  return by === "karpenter" || reason === "FailedScheduling";
}

function keyOfEvent({ metadata }: Event): string {
  return metadata.uid ?? `${metadata.namespace}/${metadata.name}`;
}

function decisionRow(event: Event): DecisionRow {
  const { kind, name, namespace } = event.involvedObject;
  return {
    at: event.lastTimestamp ?? event.firstTimestamp ?? event.metadata.creationTimestamp ?? "",
    reason: event.reason,
    says: event.message,
    isWarning: event.type === "Warning",
    count: event.count ?? 1,
    kind,
    name,
    ...(namespace === undefined ? {} : { namespace }),
  };
}
