/**
 * Fixes for pods whose volume claims prevent planning: a missing StorageClass, a missing claim, or a class that
 * binds too early. Planning refuses such pods before it checks NodePools.
 */
import type { PersistentVolumeClaim } from "../../apis/core/kinds.ts";
import type { Pod } from "../../apis/core/pod.ts";
import { controllerOf, keyOf } from "../../apis/meta.ts";
import type { StorageClass } from "../../apis/storage/kinds.ts";
import { claimName } from "../../core/scheduling/volumes.ts";
import { addObject, type ObjectFix } from "./object-fix.ts";

/** The volume objects of a plan's input. */
interface Volumes {
  readonly claims: readonly PersistentVolumeClaim[];
  readonly classes: readonly StorageClass[];
}

const DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class";

/** The fix for the pod's first volume that is incomplete. Undefined if there is none. */
export function volumeFix(pod: Pod, { claims, classes }: Volumes): ObjectFix | undefined {
  for (const volume of pod.spec.volumes ?? []) {
    const name = claimName(pod, volume);
    if (name === undefined) continue;
    const key = `${pod.metadata.namespace ?? "default"}/${name}`;
    const claim = claims.find((one) => keyOf(one) === key);
    const fix =
      claim === undefined
        ? addObject("PersistentVolumeClaim", key, claims.map(keyOf))
        : claimFix(pod, claim);
    if (fix !== undefined) return fix;
  }
  return undefined;

  function claimFix(owner: Pod, claim: PersistentVolumeClaim): ObjectFix | undefined {
    const { storageClassName, volumeName } = claim.spec;
    if (volumeName) return undefined;
    if (!storageClassName) return nameClass(owner, claim);
    const found = classes.find(({ metadata }) => metadata.name === storageClassName);
    if (found === undefined) return addObject("StorageClass", storageClassName, classes.map(keyOf));
    return found.volumeBindingMode === "WaitForFirstConsumer" ? undefined : bindLater(found);
  }
}

/**
 * The fix that sets a storage class: in the StatefulSet's template if the claim comes from one, otherwise in the claim.
 */
function nameClass(pod: Pod, claim: PersistentVolumeClaim): ObjectFix {
  const owner = controllerOf(pod);
  const { name } = claim.metadata;
  const isTemplate = owner?.kind === "StatefulSet" && name.endsWith(`-${pod.metadata.name}`);
  const template = name.slice(0, -pod.metadata.name.length - 1);
  const where = isTemplate
    ? {
        object: `StatefulSet ${claim.metadata.namespace}/${owner.name}`,
        field: `spec.volumeClaimTemplates[${template}].spec.storageClassName`,
      }
    : { object: `PersistentVolumeClaim ${keyOf(claim)}`, field: "spec.storageClassName" };
  return {
    text:
      `set ${where.field} of ${where.object}, or add a StorageClass with the annotation ` +
      `${DEFAULT_CLASS}: "true"`,
    edits: [{ ...where, action: "set", value: "NAME", from: "" }],
  };
}

function bindLater({ metadata, volumeBindingMode = "Immediate" }: StorageClass): ObjectFix {
  const value = "WaitForFirstConsumer";
  return {
    text: `set volumeBindingMode of StorageClass ${metadata.name} to ${value}, so that its volumes follow their pods`,
    edits: [
      {
        object: `StorageClass ${metadata.name}`,
        field: "volumeBindingMode",
        action: "set",
        value,
        from: volumeBindingMode,
      },
    ],
  };
}
