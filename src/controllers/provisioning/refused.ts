/**
 * Decides which pods are planned again after the API server refused their claim as invalid (422). Perhaps only one kind
 * of pod on the claim is the cause, but all pods of the claim would stay pending. So each kind is planned alone.
 * karpenter-ts only: upstream plans them together again.
 */
import type { Pod } from "../../apis/core/pod.ts";
import { perTemplate } from "../../apis/core/pod-template.ts";
import { keyOf } from "../../apis/meta.ts";
import type { PlannedClaim } from "../../core/provisioning/result.ts";
import { KubeError } from "../../kube/errors.ts";

const INVALID = 422;
/** The most kinds that are planned alone in one pass. Each needs its own plan. */
const MOST_AT_ONCE = 10;

/** Whether the API server refused the object as invalid (422), so that a retry with the same object is useless. */
export function isInvalid(answer: unknown): boolean {
  return answer instanceof KubeError && answer.status === INVALID;
}

/**
 * Divides the pods of refused claims by kind. If there are too many kinds for one pass, the next pass continues with
 * the next kinds.
 */
export class Apart {
  #next = 0;

  /**
   * Keys of pods of invalid claims, by kind. A kind that was alone on an invalid claim is left out: it would be refused
   * again.
   */
  kindsOf(invalid: readonly PlannedClaim[]): readonly (readonly string[])[] {
    const mixed = new Map<string, string[]>();
    const alone = new Set<string>();
    for (const { pods } of invalid) {
      const kinds = pods.map(kindOf);
      if (new Set(kinds).size === 1) alone.add(kinds[0] as string);
      else
        for (const [index, kind] of kinds.entries()) {
          const keys = mixed.get(kind) ?? [];
          keys.push(keyOf(pods[index] as Pod));
          mixed.set(kind, keys);
        }
    }
    const kinds = [...mixed.keys()].filter((kind) => !alone.has(kind)).sort();
    // All kinds fit in this pass, so the position for later passes does not change.
    if (kinds.length <= MOST_AT_ONCE) return kinds.map((kind) => mixed.get(kind) ?? []);
    const first = this.#next % kinds.length;
    this.#next = first + MOST_AT_ONCE;
    const inTurn = [...kinds.slice(first), ...kinds.slice(0, first)].slice(0, MOST_AT_ONCE);
    return inTurn.map((kind) => mixed.get(kind) ?? []);
  }
}

/** The fields of a pod that may become part of a claim, as text. Pods with equal fields are one kind. */
function kindOf({ metadata: { namespace }, spec }: Pod): string {
  const { volumes = [] } = spec;
  const kept = volumes.filter((one) => "persistentVolumeClaim" in one || "ephemeral" in one);
  return `${namespace} ${textOf(spec)} ${kept.length === 0 ? "" : JSON.stringify(kept)}`;
}

/** The text of a pod spec, kept by template: the text is long, and there may be ten thousand pods. */
const textOf = perTemplate(({ hostname: _, ...common }) => JSON.stringify(common));
