/**
 * Rules of Events: fields that the client left out are written as empty or null, because Go does not omit
 * them. Such fields have no owner.
 * upstream: api/core/v1/types.go and api/events/v1/types.go, Event
 */
import { fallback, type KindRules, type Raw } from "./kind-rules.ts";

/** Rules of an Event of core/v1. */
export const EVENT_RULES: KindRules = filling((event) => {
  fallback(event, "source", {});
  for (const field of ["firstTimestamp", "lastTimestamp", "eventTime"])
    fallback(event, field, null);
  for (const field of ["reportingComponent", "reportingInstance"]) fallback(event, field, "");
});

/** Rules of an Event of events.k8s.io/v1. */
export const NEW_EVENT_RULES: KindRules = filling((event) => {
  fallback(event, "deprecatedSource", {});
  for (const field of ["deprecatedFirstTimestamp", "deprecatedLastTimestamp", "eventTime"])
    fallback(event, field, null);
});

function filling(fill: (event: Raw) => void): KindRules {
  return { prepareCreate: fill, prepareUpdate: fill };
}
