/**
 * StorageClasses that bind volumes at once (Immediate). Their provisioner makes a volume before its pod has a node, in
 * a zone that it chooses itself. Karpenter plans the pod only once the volume is bound. A file has claims that no
 * cluster has seen, so the plan supposes that their volumes will be bound, in any zone that the class allows.
 */
import type { PersistentVolumeClaim } from "../../apis/core/kinds.ts";
import { keyOf } from "../../apis/meta.ts";
import type { StorageClass } from "../../apis/storage/kinds.ts";
import { counted } from "../../base/counted.ts";

const AT_FIRST_POD = "WaitForFirstConsumer";
/** Volumes of such a class are made by hand. A claim waits until there is one. */
const BY_HAND = "kubernetes.io/no-provisioner";

/** The classes with which the plan goes on, and a note for each class that it changed. */
export function withSupposedBinding(
  classes: readonly StorageClass[],
  claims: readonly PersistentVolumeClaim[],
): { readonly classes: readonly StorageClass[]; readonly notes: readonly string[] } {
  const notes: string[] = [];
  const supposed = classes.map((one): StorageClass => {
    const { metadata, volumeBindingMode, provisioner } = one;
    if (volumeBindingMode === AT_FIRST_POD || provisioner === BY_HAND) return one;
    const waiting = claims.filter(
      ({ spec }) => spec.storageClassName === metadata.name && !spec.volumeName,
    );
    // A claim with a UID comes from a cluster: there its volume is not bound, and Karpenter leaves its pod out.
    const isNew = waiting.every((claim) => claim.metadata.uid === undefined);
    const [first, ...others] = waiting;
    if (first === undefined || !isNew) return one;
    const more = others.length === 0 ? "" : ` and ${counted(others.length, "more claim")}`;
    notes.push(
      `StorageClass ${metadata.name} binds volumes at once (Immediate), in a zone that its provisioner chooses; the plan takes any zone that the class allows for ${keyOf(first)}${more}. With volumeBindingMode ${AT_FIRST_POD}, volumes follow their pods`,
    );
    return { ...one, volumeBindingMode: AT_FIRST_POD };
  });
  return { classes: notes.length === 0 ? classes : supposed, notes };
}
