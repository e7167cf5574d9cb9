/**
 * Pods that ask for a node that ends by itself: batch work that must not outlive its time. The annotation is ours.
 */
import { parseDuration } from "../../base/duration.ts";
import { MAX_RUN_DURATION_KEY } from "../karpenter/labels.ts";
import type { Pod } from "./pod.ts";

/** How long a node that is launched for the pod may live; undefined: the pod does not ask, or cannot be read. */
export function maxRunMs({ metadata: { annotations } }: Pod): number | undefined {
  const text = annotations?.[MAX_RUN_DURATION_KEY];
  const ms = text === undefined ? undefined : parseDuration(text);
  return ms !== undefined && ms > 0 ? ms : undefined;
}

/** What is wrong with the pod's annotation, for its owner; undefined: nothing. */
export function maxRunProblem(pod: Pod): string | undefined {
  const text = pod.metadata.annotations?.[MAX_RUN_DURATION_KEY];
  if (text === undefined || maxRunMs(pod) !== undefined) return undefined;
  return `annotation ${MAX_RUN_DURATION_KEY} is ${JSON.stringify(text)}: wanted a duration above 0, such as 2h or 90m`;
}
