/** Deployments that run a Karpenter, this one or upstream's, and what their container gets. */
import type { Deployment } from "../../apis/apps/kinds.ts";

interface WithContainers {
  readonly containers?: readonly {
    readonly image?: string;
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

/** The variables of the first container by name. One that is not given as a text is empty. */
export function environmentOf({ spec }: Deployment): ReadonlyMap<string, string> {
  const [first] = (spec.template.spec as unknown as WithContainers).containers ?? [];
  return new Map((first?.env ?? []).map(({ name, value = "" }) => [name, value]));
}
