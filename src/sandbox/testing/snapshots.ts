/** For tests: a scheduler snapshot made from plain objects, without a cluster. */
import type { Node } from "../../apis/core/node.ts";
import type { Pod } from "../../apis/core/pod.ts";
import type { DeviceObjects } from "../kube-scheduler/devices/pod-claims.ts";
import { NO_LABELS, podInfo } from "../kube-scheduler/pod-info.ts";
import { DEFAULT_PROFILES, profileOf } from "../kube-scheduler/profiles.ts";
import { Snapshot, type Surroundings } from "../kube-scheduler/snapshot.ts";
import type { VolumeObjects } from "../kube-scheduler/volumes.ts";

const NO_VOLUMES: VolumeObjects = {
  claim: () => undefined,
  volume: () => undefined,
  volumes: () => [],
  storageClass: () => undefined,
  csiNode: () => undefined,
};

const NO_DEVICES: DeviceObjects = {
  claim: () => undefined,
  claims: () => [],
  slices: () => [],
  deviceClass: () => undefined,
};

/** Surroundings with the default profile, without volumes, devices, namespaces or Services. */
export const NO_SURROUNDINGS: Surroundings = {
  volumes: NO_VOLUMES,
  devices: NO_DEVICES,
  profile: profileOf(DEFAULT_PROFILES),
  namespaceLabels: () => NO_LABELS,
  services: () => [],
  budgets: () => [],
  ownerSelector: () => undefined,
};

/** A snapshot of these objects. Pods without a node name are left out. */
export function snapshotOf(
  nodes: readonly Node[],
  pods: readonly Pod[],
  surroundings: Surroundings = NO_SURROUNDINGS,
): Snapshot {
  const snapshot = new Snapshot(surroundings);
  for (const node of nodes) snapshot.setNode(node);
  for (const pod of pods) {
    if (pod.spec.nodeName !== undefined) snapshot.setPod(podInfo(pod), pod.spec.nodeName);
  }
  return snapshot;
}
