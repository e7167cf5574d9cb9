/**
 * Kubernetes' order of preference of API versions: v2, v1, v1beta2, v1beta1, v1alpha5, then all other names
 * alphabetically.
 */
import { compareText } from "../../../base/text-order.ts";

const GRAMMAR = /^v(\d+)(?:(alpha|beta)(\d+))?$/;
const STAGE: Readonly<Record<string, number>> = { alpha: 0, beta: 1 };

/** Compares two versions for sorting: negative when `a` is preferred. upstream: apimachinery pkg/version/helpers.go */
export function compareVersions(a: string, b: string): number {
  const left = GRAMMAR.exec(a);
  const right = GRAMMAR.exec(b);
  if (left === null || right === null) {
    if (left !== null) return -1;
    if (right !== null) return 1;
    return compareText(a, b);
  }
  const stageOf = (match: RegExpExecArray): number => STAGE[match[2] ?? ""] ?? 2;
  return (
    stageOf(right) - stageOf(left) ||
    Number(right[1]) - Number(left[1]) ||
    Number(right[3] ?? 0) - Number(left[3] ?? 0)
  );
}
