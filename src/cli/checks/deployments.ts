/** Deployments that run a Karpenter, this one or upstream's, and what their container gets. */
import type { Deployment } from "../../apis/apps/kinds.ts";
import type { KubeObject } from "../../apis/meta.ts";
import type { OptionDefinition } from "../../operator/settings/option-definition.ts";
import { OPTIONS } from "../../operator/settings/options.ts";

interface WithContainers {
  readonly containers?: readonly {
    readonly image?: string;
    readonly command?: readonly string[];
    readonly args?: readonly string[];
    readonly env?: readonly { readonly name: string; readonly value?: string }[];
  }[];
}

/** Whether a Deployment is a Karpenter: by the label that both charts set, or by the image. */
export function isKarpenter({ metadata, spec }: Deployment): boolean {
  const { containers = [] } = spec.template.spec as unknown as WithContainers;
  return (
    metadata.labels?.["app.kubernetes.io/name"] === "karpenter" ||
    containers.some(({ image = "" }) => /(^|\/)karpenter(-ts)?([/:@]|$)/.test(image))
  );
}

/** The image of the first container. */
export function imageOf({ spec }: Deployment): string {
  return (spec.template.spec as unknown as WithContainers).containers?.[0]?.image ?? "no image";
}

/**
 * The variables of the first container by name. A variable without a literal value, such as a reference to a Secret, is
 * empty.
 */
export function environmentOf({ spec }: Deployment): ReadonlyMap<string, string> {
  const [first] = (spec.template.spec as unknown as WithContainers).containers ?? [];
  return new Map((first?.env ?? []).map(({ name, value = "" }) => [name, value]));
}

/** Namespace and name of a Lease. */
export interface LeaseRef {
  readonly namespace: string;
  readonly name: string;
}

/** The Lease by which the pods of this Deployment choose their leader: from its flags, its variables or the defaults. */
export function leaseOf(deployment: Deployment): LeaseRef {
  const { leaderElectionName, leaderElectionNamespace } = OPTIONS;
  return {
    namespace:
      settingOf(deployment, leaderElectionNamespace) || (deployment.metadata.namespace ?? ""),
    name: settingOf(deployment, leaderElectionName) || leaderElectionName.default,
  };
}

/**
 * Whether a Karpenter uses this Lease: it is the Lease of one of these Deployments, or has Karpenter's default name.
 */
export function isLeaseOf({ metadata }: KubeObject, deployments: readonly Deployment[]): boolean {
  return (
    metadata.name === OPTIONS.leaderElectionName.default ||
    deployments.map(leaseOf).some((one) => isSameLease(one, metadata))
  );
}

/** Whether `ref` names the Lease with this metadata. */
export function isSameLease(ref: LeaseRef, { namespace, name }: KubeObject["metadata"]): boolean {
  return ref.namespace === namespace && ref.name === name;
}

/** The value of a setting as the program reads it: a flag wins over the variable. Undefined: neither is given. */
export function settingOf(
  deployment: Deployment,
  { flag, env, type }: Pick<OptionDefinition, "flag" | "env" | "type">,
): string | undefined {
  const [first] = (deployment.spec.template.spec as unknown as WithContainers).containers ?? [];
  const args = [...(first?.command ?? []), ...(first?.args ?? [])];
  // Go's programs take one dash as well as two.
  const at = args.findLastIndex((one) => /^--?([^=]*)/.exec(one)?.[1] === flag);
  const [, value] = /^[^=]*=(.*)$/s.exec(args[at] ?? "") ?? [];
  if (at < 0) return environmentOf(deployment).get(env);
  return value ?? (type === "boolean" ? "true" : args[at + 1]);
}
