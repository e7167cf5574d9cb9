/**
 * Claims that the API server refuses as invalid (422) would be refused each time. One kind of pod on the claim may
 * be the cause, and the others would stay pending with it. This file decides which pods are planned again, each kind
 * by itself. karpenter-ts only: upstream plans them together again.
 */
import type { Pod } from "../../apis/core/pod.ts";
import { perTemplate } from "../../apis/core/pod-template.ts";
import { keyOf } from "../../apis/meta.ts";
import type { PlannedClaim } from "../../core/provisioning/result.ts";
import { KubeError } from "../../kube/errors.ts";

const INVALID = 422;
/** Kinds that are planned by themselves in one pass: each is a plan more. */
const MOST_AT_ONCE = 10;

/** The API server refused the object for good (422): the same object will not be accepted later. */
export function isInvalid(answer: unknown): boolean {
  return answer instanceof KubeError && answer.status === INVALID;
}

/** Remembers where it was: of many kinds each gets its turn. */
export class Apart {
  #next = 0;

  /**
   * Keys of pods of claims that were found invalid, by kind. None that were alone on one: it would be refused again.
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
    // Where all get theirs at once, whose turn it is stays as it was.
    if (kinds.length <= MOST_AT_ONCE) return kinds.map((kind) => mixed.get(kind) ?? []);
    const first = this.#next % kinds.length;
    this.#next = first + MOST_AT_ONCE;
    const inTurn = [...kinds.slice(first), ...kinds.slice(0, first)].slice(0, MOST_AT_ONCE);
    return inTurn.map((kind) => mixed.get(kind) ?? []);
  }
}

/** The fields of a pod that may become a part of a claim. Pods with equal fields are one kind. */
function kindOf({ metadata: { namespace }, spec }: Pod): string {
  const { volumes = [] } = spec;
  const kept = volumes.filter((one) => "persistentVolumeClaim" in one || "ephemeral" in one);
  return `${namespace} ${textOf(spec)} ${kept.length === 0 ? "" : JSON.stringify(kept)}`;
}

/** Long, and there may be ten thousand pods. */
const textOf = perTemplate(({ hostname: _, ...common }) => JSON.stringify(common));
