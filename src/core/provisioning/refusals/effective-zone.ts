/** The zone that a pod's own requirements and volumes allow, for a metric. Spreads and affinities are ignored. */
import type { Pod } from "../../../apis/core/pod.ts";
import { TOPOLOGY_ZONE_LABEL_KEY } from "../../../apis/karpenter/labels.ts";
import { within } from "../../../base/within.ts";
import type { InstanceType } from "../../cloudprovider/instance-type.ts";
import { requiredAlternatives } from "../../scheduling/pod-requirements.ts";
import { allows } from "../../scheduling/requirement.ts";
import type { Requirements } from "../../scheduling/requirements.ts";
import { VolumeIndex } from "../../scheduling/volumes.ts";
import type { SchedulingInput } from "../scheduling-input.ts";

/** Value of the metric's label if the pod may run in several zones. */
const FLEXIBLE = "flexible";
/** Value of the metric's label if the pod's requirements and its volumes allow no zone of the pools and nodes. */
const NONE = "none";

/**
 * Pod → its zone, `flexible` or `none`.
 * upstream: metric scheduler_pending_pods_by_effective_zone_count
 */
export function zonesOfPods(
  pods: readonly Pod[],
  { pools, nodes, volumes }: Pick<SchedulingInput, "pools" | "nodes" | "volumes">,
): ReadonlyMap<Pod, string> {
  const zones = new Set<string>();
  for (const { instanceTypes } of pools) for (const zone of zonesOf(instanceTypes)) zones.add(zone);
  for (const { labels } of nodes) {
    const zone = labels[TOPOLOGY_ZONE_LABEL_KEY];
    if (zone !== undefined) zones.add(zone);
  }
  const index = new VolumeIndex(volumes);
  const all = [...zones];
  return new Map(pods.map((pod) => [pod, zoneOf(pod, all, index)]));
}

/** Zones of instance types. A cloud returns the same list until it changes, and a list has a thousand types. */
const zonesByTypes = new WeakMap<readonly InstanceType[], ReadonlySet<string>>();

function zonesOf(types: readonly InstanceType[]): ReadonlySet<string> {
  return within(
    zonesByTypes,
    types,
    () => new Set(types.flatMap(({ labels }) => labels[TOPOLOGY_ZONE_LABEL_KEY] ?? [])),
  );
}

function zoneOf(pod: Pod, zones: readonly string[], volumes: VolumeIndex): string {
  const { nodeSelector, affinity, volumes: own } = pod.spec;
  let left = zones;
  if (nodeSelector !== undefined || affinity?.nodeAffinity !== undefined)
    left = allowedBy(requiredAlternatives(pod.spec), left);
  if (own !== undefined && own.length > 0) left = allowedBy(volumes.alternatives(pod), left);
  const [only, ...others] = left;
  if (only === undefined) return NONE;
  return others.length === 0 ? only : FLEXIBLE;
}

function allowedBy(
  alternatives: readonly Requirements[],
  zones: readonly string[],
): readonly string[] {
  // Volumes without requirements allow every zone.
  if (alternatives.length === 0) return zones;
  return zones.filter((zone) =>
    alternatives.some((one) => allows(one.get(TOPOLOGY_ZONE_LABEL_KEY), zone)),
  );
}
