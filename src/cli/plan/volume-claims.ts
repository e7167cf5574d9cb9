/**
 * Completes volume claims as a cluster's controllers and admission would. Claims are created from the templates of
 * StatefulSets and of ephemeral volumes. They get the default storage class if they name none, and are bound if
 * they name an existing volume.
 */

import type { StatefulSet } from "../../apis/apps/kinds.ts";
import type { PersistentVolumeClaim } from "../../apis/core/kinds.ts";
import type { Pod } from "../../apis/core/pod.ts";
import { keyOf, type ObjectMeta } from "../../apis/meta.ts";
import type { StorageClass } from "../../apis/storage/kinds.ts";
import { compareText } from "../../base/text-order.ts";
import { BIND_COMPLETED_ANNOTATION_KEY } from "../../core/scheduling/volumes.ts";
import type { Manifests } from "./manifests.ts";

const IS_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class";

/** The claims of the input, and those of `made` that are missing, completed. */
export function completeClaims(
  made: readonly PersistentVolumeClaim[],
  { volumeClaims, volumes, storageClasses, withDefaults }: Manifests,
): readonly PersistentVolumeClaim[] {
  const claims = new Map(volumeClaims.map((claim) => [keyOf(claim), claim]));
  for (const claim of made) {
    if (!claims.has(keyOf(claim))) claims.set(keyOf(claim), withDefaults(claim));
  }
  const names = new Set(volumes.map(({ metadata }) => metadata.name));
  const className = defaultClass(storageClasses);
  return [...claims.values()].map((claim) => withBinding(withClass(claim, className), names));
}

/** The claims of one pod of a StatefulSet. */
export function claimsOfSet({ spec }: StatefulSet, pod: Pod): PersistentVolumeClaim[] {
  return (spec.volumeClaimTemplates ?? []).map((template) =>
    claimFor(pod, `${template.metadata.name}-${pod.metadata.name}`, template),
  );
}

/** The claims of the pod's ephemeral volumes. */
export function claimsOfPod(pod: Pod): PersistentVolumeClaim[] {
  return (pod.spec.volumes ?? []).flatMap(({ name, ephemeral }) =>
    ephemeral?.volumeClaimTemplate === undefined
      ? []
      : [claimFor(pod, `${pod.metadata.name}-${name}`, ephemeral.volumeClaimTemplate)],
  );
}

function claimFor(
  pod: Pod,
  name: string,
  template: { readonly metadata?: Partial<ObjectMeta>; readonly spec?: unknown },
): PersistentVolumeClaim {
  const namespace = pod.metadata.namespace as string;
  return {
    ...(template as PersistentVolumeClaim),
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { ...template.metadata, name, namespace },
  };
}

/** The newest default class, as in admission. */
function defaultClass(classes: readonly StorageClass[]): string | undefined {
  const madeAt = ({ metadata }: StorageClass) => metadata.creationTimestamp ?? "";
  return classes
    .filter(({ metadata }) => metadata.annotations?.[IS_DEFAULT_CLASS] === "true")
    .sort(
      (a, b) => compareText(madeAt(b), madeAt(a)) || compareText(a.metadata.name, b.metadata.name),
    )[0]?.metadata.name;
}

function withClass(
  claim: PersistentVolumeClaim,
  className: string | undefined,
): PersistentVolumeClaim {
  const { storageClassName, volumeName } = claim.spec;
  if (className === undefined || storageClassName !== undefined || volumeName) return claim;
  return { ...claim, spec: { ...claim.spec, storageClassName: className } };
}

function withBinding(
  claim: PersistentVolumeClaim,
  volumes: ReadonlySet<string>,
): PersistentVolumeClaim {
  const { metadata, spec } = claim;
  if (!volumes.has(spec.volumeName ?? "")) return claim;
  const annotations = { ...metadata.annotations, [BIND_COMPLETED_ANNOTATION_KEY]: "yes" };
  return { ...claim, metadata: { ...metadata, annotations } };
}
