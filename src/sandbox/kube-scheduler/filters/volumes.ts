/**
 * Filters for volumes: ReadWriteOncePod claims, attach limits of CSI drivers, node affinity of bound volumes,
 * provisioning for the first consumer, and zones.
 */
import type { PersistentVolume, PersistentVolumeClaim } from "../../../apis/core/kinds.ts";
import { parseUnits } from "../../../base/quantity.ts";
import type { NodeInfo } from "../node-info.ts";
import type { PodInfo } from "../pod-info.ts";
import type { Snapshot } from "../snapshot.ts";
import {
  isDelayed,
  NO_PROVISIONER,
  podVolumes,
  SELECTED_NODE_ANNOTATION,
  type VolumeObjects,
} from "../volumes.ts";
import { type Filter, type Prepared, SKIP, unresolvable, unschedulable } from "./filter.ts";
import { matchesAnyTerm } from "./node.ts";

const ONCE_POD = "ReadWriteOncePod";

/**
 * Refuses all nodes while another pod uses a ReadWriteOncePod claim of this pod. upstream:
 * plugins/volumerestrictions.
 */
export const volumeRestrictions: Filter = {
  name: "VolumeRestrictions",
  prepare(pod, snapshot) {
    const { volumes } = snapshot.surroundings;
    const exclusive = pod.claims.filter((name) =>
      volumes.claim(pod.namespace, name)?.spec.accessModes?.includes(ONCE_POD),
    );
    if (exclusive.length === 0) return SKIP;
    const holders = snapshot.tally(
      `once-pod ${pod.namespace}/${exclusive.join(",")}`,
      (other) =>
        other.namespace === pod.namespace && other.claims.some((name) => exclusive.includes(name)),
    );
    if (holders.size === 0) return SKIP;
    const out = unschedulable(
      "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
    );
    return { kind: "check", check: () => out };
  },
};

/** Refuses nodes whose CSI drivers can attach too few volumes. upstream: plugins/nodevolumelimits. */
export const nodeVolumeLimits: Filter = {
  name: "NodeVolumeLimits",
  prepare(pod, snapshot) {
    if (pod.claims.length === 0) return SKIP;
    const { volumes } = snapshot.surroundings;
    const wanted = attachments(pod, volumes);
    if (wanted.size === 0) return SKIP;
    const out = unschedulable("node(s) exceed max volume count");
    return {
      kind: "check",
      check(node) {
        const limits = attachLimits(node, volumes);
        if (limits.size === 0) return undefined;
        const used = new Map<string, string>();
        for (const other of node.pods.values()) {
          for (const [id, driver] of attachments(other, volumes)) used.set(id, driver);
        }
        for (const [driver, limit] of limits) {
          const fresh = [...wanted].filter(([id, of]) => of === driver && !used.has(id)).length;
          const held = [...used.values()].filter((of) => of === driver).length;
          if (fresh > 0 && held + fresh > limit) return out;
        }
        return undefined;
      },
    };
  },
};

function attachLimits(node: NodeInfo, volumes: VolumeObjects): ReadonlyMap<string, number> {
  const limits = new Map<string, number>();
  for (const driver of volumes.csiNode(node.name)?.spec.drivers ?? []) {
    if (driver.allocatable?.count !== undefined) limits.set(driver.name, driver.allocatable.count);
  }
  return limits;
}

/**
 * The CSI driver of each volume that the pod attaches. A claim that is not bound counts for its class's
 * provisioner.
 */
function attachments(pod: PodInfo, volumes: VolumeObjects): ReadonlyMap<string, string> {
  const result = new Map<string, string>();
  for (const name of pod.claims) {
    const claim = volumes.claim(pod.namespace, name);
    if (claim === undefined) continue;
    const volume = volumes.volume(claim.spec.volumeName ?? "");
    const csi = volume?.spec.csi;
    if (csi !== undefined) {
      result.set(`${csi.driver}/${csi.volumeHandle ?? volume?.metadata.name}`, csi.driver);
    } else if (volume === undefined) {
      const driver = volumes.storageClass(claim.spec.storageClassName ?? "")?.provisioner;
      if (driver !== undefined) result.set(`${driver}/${pod.namespace}/${name}`, driver);
    } else if (volume.spec.awsElasticBlockStore !== undefined) {
      // EBS volumes of the old in-tree plugin count for the CSI driver.
      result.set(`${EBS_DRIVER}/${volume.metadata.name}`, EBS_DRIVER);
    }
  }
  return result;
}

const EBS_DRIVER = "ebs.csi.aws.com";

const NODE_CONFLICT = "node(s) didn't match PersistentVolume's node affinity";
const BIND_CONFLICT = "node(s) didn't find available persistent volumes to bind";
const VOLUME_GONE = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";

/**
 * Refuses nodes that bound volumes exclude, or where unbound claims cannot be bound. upstream:
 * plugins/volumebinding.
 */
export const volumeBinding: Filter = {
  name: "VolumeBinding",
  prepare(pod, snapshot): Prepared {
    if (pod.claims.length === 0) return SKIP;
    const objects = snapshot.surroundings.volumes;
    const volumes = podVolumes(pod, objects);
    if ("message" in volumes) return { kind: "reject", message: volumes.message };
    return {
      kind: "check",
      check(node) {
        const reasons: string[] = [];
        if (volumes.bound.some(({ volume }) => volume === undefined)) reasons.push(VOLUME_GONE);
        else if (!volumes.bound.every(({ volume }) => reaches(volume, node))) {
          reasons.push(NODE_CONFLICT);
        }
        if (planVolumes(volumes.delayed, node, objects) === undefined) reasons.push(BIND_CONFLICT);
        return reasons.length === 0 ? undefined : unresolvable(...reasons);
      },
    };
  },
};

/** Whether the volume's own node affinity lets `node` use it. */
function reaches(volume: PersistentVolume | undefined, node: NodeInfo): boolean {
  const required = volume?.spec.nodeAffinity?.required;
  if (required === undefined) return true;
  return matchesAnyTerm(required.nodeSelectorTerms, node.labels, node.name);
}

/** How the pod's claims would be bound on one node. */
export interface VolumePlan {
  /** Claims for which a free volume exists. */
  readonly matched: readonly {
    readonly claim: PersistentVolumeClaim;
    readonly volume: PersistentVolume;
  }[];
  /** Claims for which a volume must be created. */
  readonly provisioned: readonly PersistentVolumeClaim[];
}

/** How delayed claims would be bound on the node. Undefined if they cannot be. */
export function planVolumes(
  claims: readonly PersistentVolumeClaim[],
  node: NodeInfo,
  objects: VolumeObjects,
): VolumePlan | undefined {
  const matched: VolumePlan["matched"][number][] = [];
  const provisioned: PersistentVolumeClaim[] = [];
  for (const claim of claims) {
    const selected = claim.metadata.annotations?.[SELECTED_NODE_ANNOTATION];
    if (selected !== undefined) {
      if (selected !== node.name) return undefined;
      provisioned.push(claim);
      continue;
    }
    const taken = new Set(matched.map(({ volume }) => volume.metadata.name));
    const volume = findVolume(claim, node, objects, taken);
    if (volume !== undefined) matched.push({ claim, volume });
    else if (canProvision(claim, node, objects)) provisioned.push(claim);
    else return undefined;
  }
  return { matched, provisioned };
}

/** The smallest free volume of the class that the node can use; among equal ones the first by name. */
function findVolume(
  claim: PersistentVolumeClaim,
  node: NodeInfo,
  objects: VolumeObjects,
  taken: ReadonlySet<string>,
): PersistentVolume | undefined {
  const wanted = parseUnits(claim.spec.resources?.requests?.["storage"] ?? 0) ?? 0;
  const { name, namespace, uid } = claim.metadata;
  let best: PersistentVolume | undefined;
  let bestSize = 0;
  for (const volume of objects.volumes()) {
    const { claimRef } = volume.spec;
    if (taken.has(volume.metadata.name) || volume.metadata.deletionTimestamp !== undefined)
      continue;
    if ((volume.spec.storageClassName ?? "") !== (claim.spec.storageClassName ?? "")) continue;
    const mine =
      claimRef?.name === name &&
      claimRef.namespace === namespace &&
      (claimRef.uid === undefined || claimRef.uid === uid);
    if (claimRef !== undefined && !mine) continue;
    if (!mine && volume.status?.phase !== undefined && volume.status.phase !== "Available")
      continue;
    const capacity = (volume.spec["capacity"] as Record<string, string> | undefined)?.["storage"];
    const size = parseUnits(capacity ?? 0) ?? 0;
    const modes = (volume.spec["accessModes"] as readonly string[] | undefined) ?? [];
    if (size < wanted || !(claim.spec.accessModes ?? []).every((m) => modes.includes(m))) continue;
    if (!reaches(volume, node)) continue;
    if (mine) return volume;
    if (best === undefined || size < bestSize) {
      best = volume;
      bestSize = size;
    }
  }
  return best;
}

function canProvision(
  claim: PersistentVolumeClaim,
  node: NodeInfo,
  objects: VolumeObjects,
): boolean {
  const storageClass = objects.storageClass(claim.spec.storageClassName ?? "");
  if (storageClass === undefined || storageClass.provisioner === NO_PROVISIONER) return false;
  const topologies = storageClass.allowedTopologies ?? [];
  if (topologies.length === 0) return true;
  return topologies.some((term) =>
    (term.matchLabelExpressions ?? []).every(({ key, values }) =>
      values.includes(node.labels[key] ?? ""),
    ),
  );
}

const ZONE_LABELS = [
  "failure-domain.beta.kubernetes.io/zone",
  "failure-domain.beta.kubernetes.io/region",
  "topology.kubernetes.io/zone",
  "topology.kubernetes.io/region",
];

/** Refuses nodes outside the zones in the labels of bound volumes. upstream: plugins/volumezone. */
export const volumeZone: Filter = {
  name: "VolumeZone",
  prepare(pod, snapshot) {
    const wanted = zonesOfVolumes(pod, snapshot);
    if ("message" in wanted) return { kind: "reject", message: wanted.message };
    if (wanted.length === 0) return SKIP;
    const out = unresolvable("node(s) had no available volume zone");
    return {
      kind: "check",
      check(node) {
        if (!ZONE_LABELS.some((label) => node.labels[label] !== undefined)) return undefined;
        return wanted.every(({ key, values }) => values.has(zoneLabel(node, key) ?? ""))
          ? undefined
          : out;
      },
    };
  },
};

/**
 * The zone labels of the pod's bound volumes (several zones are joined by `__`), or an error if a volume does
 * not exist.
 */
function zonesOfVolumes(
  pod: PodInfo,
  snapshot: Snapshot,
):
  | readonly { readonly key: string; readonly values: ReadonlySet<string> }[]
  | { readonly message: string } {
  const { volumes } = snapshot.surroundings;
  const zones: { key: string; values: ReadonlySet<string> }[] = [];
  for (const name of pod.claims) {
    const claim = volumes.claim(pod.namespace, name);
    if (claim === undefined || isDelayedAndUnbound(claim, volumes)) continue;
    const volumeName = claim.spec.volumeName ?? "";
    const volume = volumes.volume(volumeName);
    if (volume === undefined) return { message: `persistentvolume "${volumeName}" not found` };
    const labels = volume.metadata.labels ?? {};
    for (const key of ZONE_LABELS) {
      const text = labels[key];
      if (text !== undefined) zones.push({ key, values: new Set(text.split("__")) });
    }
  }
  return zones;
}

function isDelayedAndUnbound(claim: PersistentVolumeClaim, volumes: VolumeObjects): boolean {
  return (claim.spec.volumeName ?? "") === "" && isDelayed(claim, volumes);
}

/** The node's value of a zone label. The beta and the stable label mean the same, so either of them is enough. */
function zoneLabel(node: NodeInfo, key: string): string | undefined {
  const own = node.labels[key];
  if (own !== undefined) return own;
  const beta = "failure-domain.beta.kubernetes.io/";
  const stable = "topology.kubernetes.io/";
  const other = key.startsWith(beta)
    ? `${stable}${key.slice(beta.length)}`
    : `${beta}${key.slice(stable.length)}`;
  return node.labels[other];
}
