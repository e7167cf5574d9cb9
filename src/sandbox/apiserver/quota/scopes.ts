/**
 * Which objects a ResourceQuota counts. Scopes are about pods, so a quota with scopes counts nothing else.
 * upstream: kubernetes pkg/quota/v1/evaluator/core/pods.go podMatchesScopeFunc
 */
import type { KubeObject } from "../../../apis/meta.ts";
import type { QuotaAmounts } from "./amounts.ts";
import { type Counted, takes } from "./usage.ts";

/** A ResourceQuota. */
export interface Quota extends KubeObject {
  readonly spec?: {
    readonly hard?: QuotaAmounts;
    readonly scopes?: readonly string[];
    readonly scopeSelector?: { readonly matchExpressions?: readonly ScopeExpression[] };
  };
  readonly status?: { readonly hard?: QuotaAmounts; readonly used?: QuotaAmounts };
}

interface ScopeExpression {
  readonly scopeName: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

interface AffinityTerm {
  readonly namespaces?: readonly string[];
  readonly namespaceSelector?: object;
}

interface Pod extends KubeObject {
  readonly spec?: {
    readonly activeDeadlineSeconds?: number;
    readonly priorityClassName?: string;
    readonly affinity?: Readonly<Record<"podAffinity" | "podAntiAffinity", Affinity | undefined>>;
  };
  readonly status?: { readonly qosClass?: string };
}

interface Affinity {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: readonly AffinityTerm[];
  readonly preferredDuringSchedulingIgnoredDuringExecution?: readonly {
    readonly podAffinityTerm: AffinityTerm;
  }[];
}

/** Whether the quota counts the object, as far as its scopes and the resources in `hard` decide. */
export function isAbout(
  quota: Quota,
  hard: QuotaAmounts,
  kind: Counted,
  object: KubeObject,
): boolean {
  if (!Object.keys(hard).some((resource) => takes(kind, resource))) return false;
  const { scopes = [], scopeSelector } = quota.spec ?? {};
  const expressions = [
    ...scopes.map((scopeName): ScopeExpression => ({ scopeName, operator: "Exists" })),
    ...(scopeSelector?.matchExpressions ?? []),
  ];
  if (expressions.length === 0) return true;
  const isPod = kind.group === "" && kind.plural === "pods";
  return isPod && expressions.every((expression) => isInScope(expression, object as Pod));
}

function isInScope({ scopeName, operator, values = [] }: ScopeExpression, pod: Pod): boolean {
  const { activeDeadlineSeconds, priorityClassName = "" } = pod.spec ?? {};
  switch (scopeName) {
    case "Terminating":
      return activeDeadlineSeconds !== undefined;
    case "NotTerminating":
      return activeDeadlineSeconds === undefined;
    case "BestEffort":
      return pod.status?.qosClass === "BestEffort";
    case "NotBestEffort":
      return pod.status?.qosClass !== "BestEffort";
    case "CrossNamespacePodAffinity":
      return termsOf(pod).some(
        ({ namespaces, namespaceSelector }) =>
          (namespaces ?? []).length > 0 || namespaceSelector !== undefined,
      );
    case "PriorityClass":
      if (operator === "Exists") return priorityClassName !== "";
      if (operator === "DoesNotExist") return priorityClassName === "";
      return values.includes(priorityClassName) === (operator === "In");
    default:
      return false;
  }
}

function termsOf({ spec }: Pod): readonly AffinityTerm[] {
  const { podAffinity, podAntiAffinity } = spec?.affinity ?? {};
  return [podAffinity, podAntiAffinity].flatMap((affinity) => [
    ...(affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(
      ({ podAffinityTerm }) => podAffinityTerm,
    ),
  ]);
}
