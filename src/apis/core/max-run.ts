/**
 * Pods that ask for a node with a limited lifetime, for batch work that must not run longer. The annotation
 * is karpenter-ts only.
 */
import { parseDuration } from "../../base/duration.ts";
import { MAX_RUN_DURATION_KEY } from "../karpenter/labels.ts";
import type { Pod } from "./pod.ts";

/**
 * Shortest lifetime. A node needs about a minute to join, and draining takes time too. With less, node after
 * node would be launched for one pod.
 */
const LEAST_MS = 10 * 60_000;

/** The longest lifetime in these annotations or labels. Undefined if there is none, or if it is invalid. */
export function maxRunOf(texts: Readonly<Record<string, string>> | undefined): number | undefined {
  const text = texts?.[MAX_RUN_DURATION_KEY];
  const ms = text === undefined ? undefined : parseDuration(text);
  return ms !== undefined && ms >= LEAST_MS ? ms : undefined;
}

/** Longest lifetime of a node that is launched for the pod. */
export function maxRunMs({ metadata: { annotations } }: Pod): number | undefined {
  return maxRunOf(annotations);
}

/** The error in the pod's annotation, as text for the pod's owner. Undefined: it is valid. */
export function maxRunProblem(pod: Pod): string | undefined {
  const text = pod.metadata.annotations?.[MAX_RUN_DURATION_KEY];
  if (text === undefined || maxRunMs(pod) !== undefined) return undefined;
  return `annotation ${MAX_RUN_DURATION_KEY} is ${JSON.stringify(text)}: wanted a duration of at least 10m, such as 2h or 90m`;
}
