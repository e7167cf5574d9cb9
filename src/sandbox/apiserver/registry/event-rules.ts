/**
 * Events as they are answered: what nobody filled in is shown empty, not left out, because their Go type says so.
 * Nobody owns what is shown that way.
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
