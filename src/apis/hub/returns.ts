/**
 * Which nodes of a pool go back to what is preferred once that can be had again: an annotation on the pool, for
 * karpenter-ts only.
 */
import { meantName } from "../../base/slips.ts";
import { RETURN_TO_PREFERRED_ANNOTATION_KEY } from "../karpenter/labels.ts";
import type { KubeObject } from "../meta.ts";

/** What a pool asks for. */
export interface PoolReturns {
  /** To a pool of higher weight. */
  readonly nodePool: boolean;
  /** From on-demand to spot, and from either into a reservation, where the pool allows both. */
  readonly capacityType: boolean;
  /** Also where that costs more. */
  readonly dearer: boolean;
}

const WORDS: readonly string[] = ["nodepool", "capacity-type", "dearer"];

/** Words by comma: `nodepool`, `capacity-type`, `dearer`. Undefined: nothing is asked for. */
export function returnsOf({ metadata }: KubeObject): PoolReturns | undefined {
  const words = new Set(wordsOf(metadata).map((word) => word.toLowerCase()));
  const returns = {
    nodePool: words.has("nodepool"),
    capacityType: words.has("capacity-type"),
    dearer: words.has("dearer"),
  };
  return returns.nodePool || returns.capacityType ? returns : undefined;
}

/** What of the annotation has no effect, and what to write. Undefined: all of it has, or there is none. */
export function returnsProblem({ metadata }: KubeObject): string | undefined {
  const words = wordsOf(metadata);
  const unknown = words.filter((word) => !WORDS.includes(word.toLowerCase()));
  if (unknown.length > 0) {
    const named = unknown.map((word) => JSON.stringify(word)).join(" and ");
    const verb = unknown.length === 1 ? "has" : "have";
    const meant = unknown
      .map((word) => meantName(word, WORDS))
      .filter((word) => word !== undefined);
    const guess = meant.length === 0 ? "" : ` (did you mean ${[...new Set(meant)].join(", ")}?)`;
    return `annotation ${RETURN_TO_PREFERRED_ANNOTATION_KEY}: ${named} ${verb} no effect${guess}: write ${WORDS.join(", ")}, separated by commas`;
  }
  if (words.length === 0 || words.some((word) => word.toLowerCase() !== "dearer")) return undefined;
  return `annotation ${RETURN_TO_PREFERRED_ANNOTATION_KEY}: "dearer" alone has no effect: add nodepool, capacity-type or both`;
}

function wordsOf({ annotations }: KubeObject["metadata"]): readonly string[] {
  const text = annotations?.[RETURN_TO_PREFERRED_ANNOTATION_KEY] ?? "";
  return text
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");
}
