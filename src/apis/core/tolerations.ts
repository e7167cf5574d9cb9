/** Evaluates taints and tolerations as Kubernetes does. upstream: k8s.io/component-helpers scheduling/corev1 */
import type { Taint } from "./node.ts";
import type { TaintEffect, Toleration } from "./pod.ts";

const INTEGER = /^(0|-?[1-9][0-9]*)$/;

/** Whether any of the tolerations covers the taint. */
export function tolerates(tolerations: readonly Toleration[] | undefined, taint: Taint): boolean {
  return tolerations?.some((toleration) => covers(toleration, taint)) ?? false;
}

/** The first taint that no toleration covers, among taints with these effects (default: all three). */
export function firstUntolerated(
  tolerations: readonly Toleration[] | undefined,
  taints: readonly Taint[] | undefined,
  options: { readonly effects?: readonly TaintEffect[] } = {},
): Taint | undefined {
  return taints?.find(
    (taint) => (options.effects?.includes(taint.effect) ?? true) && !tolerates(tolerations, taint),
  );
}

/** Whether two taints have the same key and effect. Such taints replace each other. */
export function isSameTaint(a: Taint, b: Taint): boolean {
  return a.key === b.key && a.effect === b.effect;
}

/** The taint as kubectl writes it: `key=value:Effect`. */
export function formatTaint({ key, value, effect }: Taint): string {
  return value === undefined || value === "" ? `${key}:${effect}` : `${key}=${value}:${effect}`;
}

/**
 * Whether the toleration covers the taint. An empty effect covers all effects; an empty key with Exists covers all
 * keys.
 */
function covers(toleration: Toleration, taint: Taint): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false;
  if (toleration.key && toleration.key !== taint.key) return false;
  const operator = toleration.operator || "Equal";
  if (operator === "Exists") return true;
  if (operator === "Equal") {
    return Boolean(toleration.key) && (toleration.value ?? "") === (taint.value ?? "");
  }
  const { value: bound = "" } = toleration;
  const { value = "" } = taint;
  if (!INTEGER.test(bound) || !INTEGER.test(value)) return false;
  return operator === "Lt" ? BigInt(value) < BigInt(bound) : BigInt(value) > BigInt(bound);
}
