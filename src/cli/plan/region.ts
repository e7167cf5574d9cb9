/**
 * Finds the AWS region of a plan by the zones that the input names, and which of the zones d to f it names. The
 * search order: nodes, NodePools, subnets of node classes, volumes, StorageClasses, pods and pod templates.
 */
import type { Pod } from "../../apis/core/pod.ts";
import { toPool } from "../../apis/hub/to-pool.ts";
import { TOPOLOGY_ZONE_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import type { KubeObject } from "../../apis/meta.ts";
import type { Manifests } from "./manifests.ts";

/** Matches the key `topology.kubernetes.io/zone` and the zone keys of CSI drivers. */
const ZONE_KEY = /\/zone$/;
const REGION_KEY = "topology.kubernetes.io/region";
const ZONE = /^([a-z]{2,}(?:-[a-z]+)+-\d)([a-z])$/;
/** The letters of further zones. A plan knows the zones a to c of every region, and no region has more than a to f. */
const FURTHER_LETTER = /^[d-f]$/;
/** Regions of AWS with further zones, and their letters. */
const MORE_LETTERS: ReadonlyMap<string, string> = new Map([
  ["us-east-1", "def"],
  ["us-west-2", "d"],
  ["ap-northeast-1", "d"],
  ["ap-northeast-2", "d"],
  ["ca-central-1", "d"],
]);
const REGION = /^[a-z]{2,}(?:-[a-z]+)+-\d$/;

/** A label key and the values that an object has or asks for. */
interface Said {
  readonly key: string;
  readonly operator?: string | undefined;
  readonly values?: readonly string[] | undefined;
}

/** The region. Undefined if nothing names a zone. */
export function regionOf(manifests: Manifests): string | undefined {
  for (const { key, values = [] } of said(manifests)) {
    for (const value of values) {
      if (key === REGION_KEY && REGION.test(value)) return value;
      const match = ZONE_KEY.test(key) ? ZONE.exec(value) : null;
      if (match !== null) return match[1];
    }
  }
  return undefined;
}

/**
 * The zones d to f of the region that the input names as places for nodes, pods or volumes, and that exist. Sorted. A
 * zone exists if a node, a volume or a subnet is in it, or if AWS has it. Another name may be a slip.
 */
export function moreZonesIn(manifests: Manifests, region: string): readonly string[] {
  const places = placesIn(existing(manifests), region);
  const known = MORE_LETTERS.get(region) ?? "";
  for (const zone of placesIn(said(manifests), region))
    if (known.includes(zone.slice(region.length))) places.add(zone);
  return [...places].sort();
}

/** The zones d to f of the region among these values. */
function placesIn(all: Iterable<Said>, region: string): Set<string> {
  const zones = new Set<string>();
  for (const { key, operator = "In", values = [] } of all) {
    if (operator !== "In" || !ZONE_KEY.test(key)) continue;
    for (const value of values) {
      const [, ofRegion, letter = ""] = ZONE.exec(value) ?? [];
      if (ofRegion === region && FURTHER_LETTER.test(letter)) zones.add(value);
    }
  }
  return zones;
}

/**
 * The zones of nodes, classes' subnets and volumes, which exist. Zones that pools or pods only ask for are left
 * out.
 */
function* existing(manifests: Manifests): Generator<Said> {
  yield* saidByNodes(manifests);
  yield* saidByClasses(manifests);
  yield* saidByVolumes(manifests);
}

function* said(manifests: Manifests): Generator<Said> {
  const { pools, storageClasses, pods, workloads, cronJobs } = manifests;
  yield* saidByNodes(manifests);
  for (const pool of pools.map((one) => toPool(one))) {
    yield* saidBy(pool.labels);
    yield* pool.requirements;
  }
  yield* saidByClasses(manifests);
  yield* saidByVolumes(manifests);
  for (const { allowedTopologies = [] } of storageClasses)
    for (const { matchLabelExpressions = [] } of allowedTopologies) yield* matchLabelExpressions;
  const made = [...workloads, ...cronJobs.map(({ spec }) => spec.jobTemplate)];
  const templates = made.map((one) => (one as unknown as Templated).spec.template.spec);
  for (const spec of [...pods.map((one) => one.spec), ...templates]) {
    yield* saidBy(spec.nodeSelector);
    const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
    for (const { matchExpressions = [] } of required?.nodeSelectorTerms ?? [])
      yield* matchExpressions;
  }
}

/** Each place of a node once. A large cluster has a million labels, and few of them name a place. */
function* saidByNodes({ nodes }: Manifests): Generator<Said> {
  const told = new Set<string>();
  for (const { metadata } of nodes) {
    const labels = metadata.labels ?? {};
    for (const key in labels) {
      if (key !== REGION_KEY && !key.endsWith("/zone")) continue;
      const value = labels[key] as string;
      if (told.has(`${key}=${value}`)) continue;
      told.add(`${key}=${value}`);
      yield { key, values: [value] };
    }
  }
}

/** The zones of the subnets in the status of each class. */
function saidByClasses({ nodeClasses }: Manifests): readonly Said[] {
  return nodeClasses.map(({ status }) => ({
    key: TOPOLOGY_ZONE_LABEL_KEY,
    values: (status?.subnets ?? []).map(({ zone }) => zone),
  }));
}

function saidByVolumes({ volumes }: Manifests): readonly Said[] {
  return volumes
    .flatMap(({ spec }) => spec.nodeAffinity?.required?.nodeSelectorTerms ?? [])
    .flatMap(({ matchExpressions = [] }) => matchExpressions);
}

type Templated = KubeObject & {
  readonly spec: { readonly template: { readonly spec: Pod["spec"] } };
};

function saidBy(labels: Readonly<Record<string, string>> = {}): Said[] {
  return Object.entries(labels).map(([key, value]) => ({ key, values: [value] }));
}
