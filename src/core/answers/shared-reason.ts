/**
 * Makes the reasons of replicas equal. A message names the PersistentVolumeClaim of its pod, and each replica of a
 * StatefulSet has its own. Answers group pods by the shared reason.
 */

/** The reason without the names of a replica's own claims, so that all replicas have the same one. */
export function sharedReason(reason: string): string {
  return reason
    .replace(/ \(PersistentVolumeClaim=[^,)]*\)/g, "")
    .replace(/PersistentVolumeClaim=[^,)]*, /g, "");
}
