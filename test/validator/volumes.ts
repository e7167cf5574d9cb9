/**
 * Checks volumes where the plan puts pods. In every outcome, the node is in the zone of the pod's disks, or they can be
 * created there, and the node can attach them all. Written from the documented meaning of the fields.
 */
import { type Json, type Labels, meets, milli } from "./kubernetes.ts";
import type { Place } from "./places.ts";

interface Disk {
  /** A text that identifies the volume. */
  readonly id: string;
  readonly driver: string | undefined;
  /** Alternative terms, of which one must match. Empty: any node. */
  readonly terms: readonly (readonly Json[])[];
}

export function volumeFaults(places: readonly Place[], manifests: readonly Json[]): string[] {
  const of = (kind: string) => manifests.filter((one) => one.kind === kind);
  const byName = (kind: string) => new Map(of(kind).map((one) => [one.metadata.name, one]));
  const claims = new Map(
    of("PersistentVolumeClaim").map((one) => [
      `${one.metadata.namespace}/${one.metadata.name}`,
      one,
    ]),
  );
  const [volumes, classes] = [byName("PersistentVolume"), byName("StorageClass")];
  const csiNodes = byName("CSINode");

  function disksOf(pod: Json): Disk[] {
    const { name: podName, namespace } = pod.metadata;
    return (pod.spec.volumes ?? []).flatMap((volume: Json) => {
      const template = volume.ephemeral?.volumeClaimTemplate;
      const claimName = volume.persistentVolumeClaim?.claimName ?? `${podName}-${volume.name}`;
      const claim = claims.get(`${namespace}/${claimName}`) ?? template;
      if (claim === undefined) return [];
      const bound = volumes.get(claim.spec.volumeName);
      if (bound !== undefined) {
        const terms = bound.spec.nodeAffinity?.required?.nodeSelectorTerms ?? [];
        const all = terms.map((term: Json) => term.matchExpressions ?? []);
        return [{ id: bound.metadata.name, driver: bound.spec.csi?.driver, terms: all }];
      }
      const storageClass = classes.get(claim.spec.storageClassName);
      const terms = (storageClass?.allowedTopologies ?? []).map((term: Json) =>
        (term.matchLabelExpressions ?? []).map((one: Json) => ({ operator: "In", ...one })),
      );
      return [{ id: `${namespace}/${claimName}`, driver: storageClass?.provisioner, terms }];
    });
  }

  return places.flatMap((place) => {
    const wanted = place.pods.flatMap(disksOf);
    if (wanted.length === 0) return [];
    const faults = place.outcomes.flatMap(({ labels, instanceType }) => {
      const stray = wanted.find(({ terms }) => !isReached(terms, labels));
      return stray === undefined
        ? []
        : [`${place.name} (${instanceType}): the disk ${stray.id} is not to be had there`];
    });
    const all = [...place.running.flatMap(disksOf), ...wanted];
    for (const driver of new Set(wanted.flatMap((disk) => disk.driver ?? []))) {
      const count = new Set(all.filter((disk) => disk.driver === driver).map(({ id }) => id)).size;
      for (const { capacity, instanceType } of place.outcomes) {
        const told = capacity[`attachable-volumes-csi-${driver}`];
        const ofType = told === undefined ? undefined : told / 1_000;
        const slots =
          place.claim === undefined ? slotsOf(csiNodes.get(place.name), driver) : ofType;
        if (slots !== undefined && count > slots)
          faults.push(`${place.name} (${instanceType}): ${count} disks, slots for ${slots}`);
      }
    }
    return [...new Set(faults)].slice(0, 1);
  });
}

function isReached(terms: Disk["terms"], labels: Labels): boolean {
  return terms.length === 0 || terms.some((term) => term.every((one) => meets(one, labels)));
}

function slotsOf(csiNode: Json, driver: string): number | undefined {
  const count = csiNode?.spec.drivers.find(({ name }: Json) => name === driver)?.allocatable?.count;
  return count === undefined ? undefined : milli(count) / 1_000;
}
