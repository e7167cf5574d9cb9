/** What Karpenter did and said, newest last. From events: they live an hour by default. */
import type { Event } from "../../apis/core/kinds.ts";
import { compareText } from "../../base/text-order.ts";
import type { View } from "./view.ts";

export interface DecisionsHead {
  /** Events that were left out because there are too many. */
  readonly dropped: number;
}

export interface DecisionRow {
  /** RFC 3339: the last time. */
  readonly at: string;
  readonly reason: string;
  readonly says: string;
  readonly isWarning: boolean;
  readonly count: number;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

/** A page that holds more is read by nobody. */
const MOST_ROWS = 2_000;

/** A row per event, oldest first. */
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

/** Also kube-scheduler's word on pods without a place. */
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
