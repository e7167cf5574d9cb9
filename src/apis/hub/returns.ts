/**
 * The return to preferred capacity: nodes of a pool are replaced when preferred capacity is available again. An
 * annotation on the pool turns it on. karpenter-ts only.
 */
import { meantName } from "../../base/slips.ts";
import { RETURN_TO_PREFERRED_ANNOTATION_KEY } from "../karpenter/labels.ts";
import type { KubeObject } from "../meta.ts";

/** The kinds of return that a pool's annotation requests. */
export interface PoolReturns {
  /** Whether nodes return to a pool of higher weight. */
  readonly nodePool: boolean;
  /** Whether nodes return from on-demand to spot, and from both to a reservation, if the pool allows them. */
  readonly capacityType: boolean;
  /** Whether nodes return even if the preferred capacity is more expensive. */
  readonly dearer: boolean;
}

const WORDS: readonly string[] = ["nodepool", "capacity-type", "dearer"];

/**
 * Parses the annotation, a comma-separated list of `nodepool`, `capacity-type` and `dearer`. Undefined: it requests no
 * return.
 */
export function returnsOf({ metadata }: KubeObject): PoolReturns | undefined {
  const words = new Set(wordsOf(metadata).map((word) => word.toLowerCase()));
  const returns = {
    nodePool: words.has("nodepool"),
    capacityType: words.has("capacity-type"),
    dearer: words.has("dearer"),
  };
  return returns.nodePool || returns.capacityType ? returns : undefined;
}

/**
 * A message for the user: which part of the annotation has no effect, and what to write instead. Undefined: all parts
 * have an effect.
 */
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
