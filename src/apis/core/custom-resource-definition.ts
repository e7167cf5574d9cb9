/**
 * CustomResourceDefinitions, with the fields that Karpenter reads: whether a kind has a definition, and whether the
 * definition is being deleted.
 */
import type { Kind, KubeObject } from "../meta.ts";

/** Where the API server calls a webhook. */
export interface ClientConfig {
  readonly url?: string;
  readonly service?: Readonly<Record<string, unknown>>;
  readonly caBundle?: string;
}

/** A CustomResourceDefinition, with the fields that the controller reads. */
export interface Crd extends KubeObject {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly plural: string };
    readonly versions: readonly { readonly name: string; readonly served: boolean }[];
    readonly conversion?: {
      readonly strategy: string;
      readonly webhook?: {
        readonly clientConfig?: ClientConfig;
        readonly conversionReviewVersions?: readonly string[];
      };
    };
  };
  readonly status?: { readonly storedVersions?: readonly string[] };
}

export const CUSTOM_RESOURCE_DEFINITION: Kind<Crd> = {
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
};

/**
 * Whether a kind is defined by a CustomResourceDefinition. Kubernetes' own groups have no dot or end with `.k8s.io`.
 * Karpenter's group `karpenter.k8s.aws` does neither.
 */
export function isCustom({ group }: Pick<Kind, "group">): boolean {
  return group.includes(".") && !group.endsWith(".k8s.io");
}

/** The name of a custom kind's definition, such as `nodeclaims.karpenter.sh`. */
export function definitionName({ group, plural }: Pick<Kind, "group" | "plural">): string {
  return `${plural}.${group}`;
}
