/**
 * Pods that ask for a node that ends by itself: batch work that must not outlive its time. The annotation is ours.
 */
import { parseDuration } from "../../base/duration.ts";
import { MAX_RUN_DURATION_KEY } from "../karpenter/labels.ts";
import type { Pod } from "./pod.ts";

/** A shorter time would buy machine after machine for one pod: a node takes a minute to join, and a drain takes time. */
const LEAST_MS = 10 * 60_000;

/** How long a node may live, by a pod's annotation or its own label; undefined: nothing asks, or it cannot be read. */
export function maxRunOf(texts: Readonly<Record<string, string>> | undefined): number | undefined {
  const text = texts?.[MAX_RUN_DURATION_KEY];
  const ms = text === undefined ? undefined : parseDuration(text);
  return ms !== undefined && ms >= LEAST_MS ? ms : undefined;
}

/** How long a node that is launched for the pod may live. */
export function maxRunMs({ metadata: { annotations } }: Pod): number | undefined {
  return maxRunOf(annotations);
}

/** What is wrong with the pod's annotation, for its owner; undefined: nothing. */
export function maxRunProblem(pod: Pod): string | undefined {
  const text = pod.metadata.annotations?.[MAX_RUN_DURATION_KEY];
  if (text === undefined || maxRunMs(pod) !== undefined) return undefined;
  return `annotation ${MAX_RUN_DURATION_KEY} is ${JSON.stringify(text)}: wanted a duration of at least 10m, such as 2h or 90m`;
}
