/**
 * Pods that need a node with a limited lifetime, for batch work that must not run longer. They say so by an annotation
 * that exists only in karpenter-ts.
 */
import { parseDuration } from "../../base/duration.ts";
import { MAX_RUN_DURATION_KEY } from "../karpenter/labels.ts";
import type { Pod } from "./pod.ts";

/**
 * The shortest permitted lifetime. A node needs about a minute to join, and draining takes time too. With less, node
 * after node would be launched for one pod.
 */
const LEAST_MS = 10 * 60_000;

/** The longest lifetime in these annotations or labels. Undefined: there is none, or it is invalid. */
export function maxRunOf(texts: Readonly<Record<string, string>> | undefined): number | undefined {
  const text = texts?.[MAX_RUN_DURATION_KEY];
  const ms = text === undefined ? undefined : parseDuration(text);
  return ms !== undefined && ms >= LEAST_MS ? ms : undefined;
}

/** The longest lifetime of a node that is launched for the pod. Undefined: it is not limited. */
export function maxRunMs({ metadata: { annotations } }: Pod): number | undefined {
  return maxRunOf(annotations);
}

/** The error in the pod's annotation, as text for the pod's owner. Undefined: it is valid. */
export function maxRunProblem(pod: Pod): string | undefined {
  const text = pod.metadata.annotations?.[MAX_RUN_DURATION_KEY];
  if (text === undefined || maxRunMs(pod) !== undefined) return undefined;
  return `annotation ${MAX_RUN_DURATION_KEY} is ${JSON.stringify(text)}: wanted a duration of at least 10m, such as 2h or 90m`;
}
