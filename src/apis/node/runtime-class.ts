/**
 * The RuntimeClass kind: the runtime of a pod's containers, its overhead, and the nodes that have it. Admission writes
 * this into pods. So code that predicts a pod before it exists must do the same.
 * upstream: kubernetes plugin/pkg/admission/runtimeclass, pkg/util/tolerations
 */
import { parseNano } from "../../base/quantity.ts";
import type { PodSpec, Toleration } from "../core/pod.ts";
import type { Kind, KubeObject, ResourceAmounts } from "../meta.ts";

/** The overhead and the scheduling rules for pods that reference this RuntimeClass. */
export interface RuntimeClass extends KubeObject {
  readonly handler: string;
  readonly overhead?: { readonly podFixed?: ResourceAmounts };
  readonly scheduling?: {
    readonly nodeSelector?: Readonly<Record<string, string>>;
    readonly tolerations?: readonly Toleration[];
  };
}

export const RUNTIME_CLASS: Kind<RuntimeClass> = {
  group: "node.k8s.io",
  version: "v1",
  kind: "RuntimeClass",
  plural: "runtimeclasses",
  namespaced: false,
};

/** The spec as admission would complete it, or kube-apiserver's message if it would refuse the pod. */
export type RuntimeClassOutcome =
  | { readonly spec: PodSpec; readonly problem?: undefined }
  | { readonly problem: string };

/** Applies a RuntimeClass to a spec. `runtimeClass`: the one that the spec names. Undefined: it names none. */
export function withRuntimeClass(
  spec: PodSpec,
  runtimeClass: RuntimeClass | undefined,
): RuntimeClassOutcome {
  if (runtimeClass === undefined) return { spec };
  const { overhead, scheduling } = runtimeClass;
  let next = spec;
  if (overhead !== undefined) {
    const given = spec.overhead ?? {};
    if (Object.keys(given).length > 0 && !areEqual(given, overhead.podFixed))
      return { problem: OTHER_OVERHEAD };
    const { overhead: _, ...rest } = spec;
    next =
      overhead.podFixed === undefined
        ? (rest as PodSpec)
        : { ...(rest as PodSpec), overhead: overhead.podFixed };
  }
  if (scheduling === undefined) return { spec: next };
  const nodeSelector: Record<string, string> = { ...spec.nodeSelector };
  for (const [key, value] of Object.entries(scheduling.nodeSelector ?? {})) {
    const own = Object.hasOwn(nodeSelector, key) ? nodeSelector[key] : undefined;
    if (own !== undefined && own !== value) {
      const wanted = `runtimeClass.scheduling.nodeSelector[${key}] = ${value}`;
      return { problem: `conflict: ${wanted}; pod.spec.nodeSelector[${key}] = ${own}` };
    }
    nodeSelector[key] = value;
  }
  const tolerations = mergedTolerations([
    ...(spec.tolerations ?? []),
    ...(scheduling.tolerations ?? []),
  ]);
  return {
    spec: {
      ...next,
      ...(Object.keys(nodeSelector).length === 0 ? {} : { nodeSelector }),
      ...(tolerations.length === 0 ? {} : { tolerations }),
    },
  };
}

const OTHER_OVERHEAD = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";

/** Why the pod's overhead differs from that of its class, in kube-apiserver's words. Undefined: it does not differ. */
export function overheadProblem(
  { overhead }: PodSpec,
  runtimeClass: RuntimeClass | undefined,
): string | undefined {
  if (runtimeClass?.overhead !== undefined)
    return areEqual(overhead, runtimeClass.overhead.podFixed) ? undefined : OTHER_OVERHEAD;
  if (overhead === undefined) return undefined;
  return "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";
}

function areEqual(a: ResourceAmounts = {}, b: ResourceAmounts = {}): boolean {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].every(
    (name) =>
      Object.hasOwn(a, name) &&
      Object.hasOwn(b, name) &&
      parseNano(a[name] ?? "") === parseNano(b[name] ?? ""),
  );
}

/** Removes each toleration that another one covers. Of equal tolerations the first is kept. */
function mergedTolerations(all: readonly Toleration[]): readonly Toleration[] {
  const merged: Toleration[] = [];
  all.forEach((one, index) => {
    if (merged.some((other) => covers(other, one))) return;
    const later = all.slice(index + 1);
    if (later.some((other) => !isSame(one, other) && covers(other, one))) return;
    merged.push(one);
  });
  return merged;
}

function isSame(a: Toleration, b: Toleration): boolean {
  return (
    (a.key ?? "") === (b.key ?? "") &&
    (a.operator ?? "") === (b.operator ?? "") &&
    (a.value ?? "") === (b.value ?? "") &&
    (a.effect ?? "") === (b.effect ?? "") &&
    a.tolerationSeconds === b.tolerationSeconds
  );
}

/** Whether `wide` tolerates everything that `narrow` does, for at least as long. */
function covers(wide: Toleration, narrow: Toleration): boolean {
  if (isSame(wide, narrow)) return true;
  const { key = "", operator = "", effect = "", tolerationSeconds } = wide;
  if ((narrow.key ?? "") !== key && (key !== "" || operator !== "Exists")) return false;
  if ((narrow.effect ?? "") !== effect && effect !== "") return false;
  const seconds = narrow.tolerationSeconds;
  const isBounded = effect === "NoExecute" && tolerationSeconds !== undefined;
  if (isBounded && (seconds === undefined || seconds > tolerationSeconds)) return false;
  if (operator === "Exists") return true;
  return narrow.operator === "Equal" && (narrow.value ?? "") === (wide.value ?? "");
}
