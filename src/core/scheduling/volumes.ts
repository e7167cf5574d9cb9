/**
 * The requirements of a pod's volumes on its node: labels, as alternatives, and volume attachments for each CSI driver.
 * Also the reasons why a pod cannot be planned because of its volumes.
 * upstream: pkg/scheduling/volumetopology.go, pkg/scheduling/volumeusage.go
 */

import type { PersistentVolume, PersistentVolumeClaim } from "../../apis/core/kinds.ts";
import type { Pod, Volume } from "../../apis/core/pod.ts";
import { HOSTNAME_LABEL_KEY, normalizedLabel } from "../../apis/karpenter/labels.ts";
import { type KubeObject, keyOf } from "../../apis/meta.ts";
import type { CSINode, StorageClass } from "../../apis/storage/kinds.ts";
import { fieldOf } from "../../base/json.ts";
import { eachInSteps, type Steps } from "../../base/steps.ts";
import { within } from "../../base/within.ts";
import { termRequirements } from "./pod-requirements.ts";
import { oneOf } from "./requirement.ts";
import { Requirements } from "./requirements.ts";

/** The volumes of the cluster, and how many of them nodes can attach. */
export interface VolumeObjects {
  readonly claims: readonly PersistentVolumeClaim[];
  readonly volumes: readonly PersistentVolume[];
  readonly classes: readonly StorageClass[];
  readonly csiNodes: readonly CSINode[];
  /** Provisioners whose volumes the cloud's instances cannot attach. */
  readonly unsupportedProvisioners?: readonly string[];
}

/** The volume claims for each CSI driver. Each claim counts once. */
export type VolumeUsage = ReadonlyMap<string, ReadonlySet<string>>;

/** The object that says where a volume is or may be made, and the alternative requirements of its places. */
export interface VolumePlace {
  readonly kind: "PersistentVolume" | "StorageClass";
  readonly name: string;
  readonly alternatives: readonly Requirements[];
}

/** A PersistentVolumeClaim without this annotation counts as unbound, even if its spec names a volume. */
export const BIND_COMPLETED_ANNOTATION_KEY = "pv.kubernetes.io/bind-completed";
const EBS_DRIVER = "ebs.csi.aws.com";
const IN_TREE_DRIVERS: Readonly<Record<string, string>> = { "kubernetes.io/aws-ebs": EBS_DRIVER };
const NOWHERE: VolumeUsage = new Map();
const HOSTNAME: ReadonlySet<string> = new Set([HOSTNAME_LABEL_KEY]);

/**
 * The most alternatives of one pod. Terms of several volumes that name different labels multiply: five volumes with ten
 * terms each would give 100,000. Terms that name only zones do not multiply, because two of them agree or exclude each
 * other. Exported for tests.
 */
export const MOST_ALTERNATIVES = 256;

const UNLIMITED: ReadonlyMap<string, number> = new Map();

/** Attach limits of nodes by name, cached for each list of CSINodes. Lists never change. */
const limitsIn = new WeakMap<readonly CSINode[], Map<string, ReadonlyMap<string, number>>>();

function limitsAmong(csiNodes: readonly CSINode[]): Map<string, ReadonlyMap<string, number>> {
  return within(limitsIn, csiNodes, () => new Map());
}

function limitsOf(csiNode: CSINode | undefined): ReadonlyMap<string, number> {
  let limits: Map<string, number> | undefined;
  for (const { name, allocatable } of csiNode?.spec.drivers ?? []) {
    if (allocatable?.count === undefined) continue;
    limits ??= new Map();
    limits.set(name, allocatable.count);
  }
  return limits ?? UNLIMITED;
}

/** Finds claims, volumes, classes and CSINodes by name. */
export class VolumeIndex {
  #claims: ReadonlyMap<string, PersistentVolumeClaim>;
  #volumes: ReadonlyMap<string, PersistentVolume>;
  readonly #classes: ReadonlyMap<string, StorageClass>;
  #csiNodes: ReadonlyMap<string, CSINode>;
  #limits: Map<string, ReadonlyMap<string, number>>;
  readonly #unsupported: readonly string[];

  constructor(objects: VolumeObjects) {
    this.#claims = byName(objects.claims);
    this.#volumes = byName(objects.volumes);
    this.#classes = byName(objects.classes);
    this.#csiNodes = byName(objects.csiNodes);
    this.#limits = limitsAmong(objects.csiNodes);
    this.#unsupported = objects.unsupportedProvisioners ?? [];
  }

  /** Replaces the indexed objects, except the StorageClasses. */
  update({ claims, volumes, csiNodes }: Omit<VolumeObjects, "classes">): void {
    this.#claims = byName(claims);
    this.#volumes = byName(volumes);
    this.#csiNodes = byName(csiNodes);
    this.#limits = limitsAmong(csiNodes);
  }

  /** Why the pod cannot be planned because of its volumes. Undefined: its volumes are valid. */
  refusal(pod: Pod): string | undefined {
    for (const volume of pod.spec.volumes ?? []) {
      const name = claimName(pod, volume);
      if (name === undefined) continue;
      const key = `${pod.metadata.namespace}/${name}`;
      const claim = this.#claims.get(key);
      const reason =
        claim !== undefined
          ? this.#claimRefusal(claim, key)
          : volume.ephemeral !== undefined
            ? this.#classRefusal(volume.ephemeral.volumeClaimTemplate?.spec.storageClassName, key)
            : `persistentvolumeclaim "${name}" not found`;
      if (reason !== undefined) return reason;
    }
    return undefined;
  }

  /**
   * Alternative requirements of the node. Each alternative satisfies all volumes of the pod. Empty: the volumes require
   * nothing. Each term of a volume is combined with each term of the next volume, unless they contradict. Only the
   * first {@link MOST_ALTERNATIVES} are kept, in the order of volumes and terms.
   */
  alternatives(pod: Pod): readonly Requirements[] {
    let combined: Requirements[] = [];
    for (const volume of pod.spec.volumes ?? []) {
      const own = this.place(pod, volume)?.alternatives ?? [];
      if (own.length === 0) continue;
      combined = combinations(combined.length === 0 ? [Requirements.NONE] : combined, own);
    }
    return combined;
  }

  /** Where a volume of the pod is or may be made. Undefined: it has no claim, or its StorageClass is not known. */
  place(pod: Pod, volume: Volume): VolumePlace | undefined {
    const name = claimName(pod, volume);
    if (name === undefined) return undefined;
    const claim = this.#claims.get(`${pod.metadata.namespace}/${name}`);
    const bound = claim?.spec.volumeName ? this.#volumes.get(claim.spec.volumeName) : undefined;
    if (bound !== undefined)
      return {
        kind: "PersistentVolume",
        name: bound.metadata.name,
        alternatives: boundAlternatives(bound),
      };
    const storageClass = this.#classes.get(className(claim, volume) ?? "");
    if (storageClass === undefined) return undefined;
    const alternatives = (storageClass.allowedTopologies ?? []).map((term) =>
      Requirements.of((term.matchLabelExpressions ?? []).map((one) => oneOf(one.key, one.values))),
    );
    return { kind: "StorageClass", name: storageClass.metadata.name, alternatives };
  }

  /**
   * The volume claims that the pod attaches, by driver. A claim that does not exist yet counts if its class is known.
   */
  usage(pod: Pod): VolumeUsage {
    let usage: Map<string, Set<string>> | undefined;
    for (const volume of pod.spec.volumes ?? []) {
      const name = claimName(pod, volume);
      if (name === undefined) continue;
      const key = `${pod.metadata.namespace}/${name}`;
      const driver = this.#driver(this.#claims.get(key), volume);
      if (driver === undefined) continue;
      usage ??= new Map();
      usage.set(driver, (usage.get(driver) ?? new Set()).add(key));
    }
    return usage ?? NOWHERE;
  }

  /** How many volumes of each driver the node can attach. A driver that is not listed is unlimited. */
  limits(nodeName: string): ReadonlyMap<string, number> {
    if (this.#csiNodes.size === 0) return UNLIMITED;
    return within(this.#limits, nodeName, () => limitsOf(this.#csiNodes.get(nodeName)));
  }

  /** Why the claim's volume cannot be used. Claim and class are appended to the message, as in upstream. */
  #claimRefusal(claim: PersistentVolumeClaim, key: string): string | undefined {
    const { volumeName, storageClassName = "" } = claim.spec;
    const own = `PersistentVolumeClaim=${key}`;
    const bound = `PersistentVolume=${volumeName ?? ""}`;
    if (claim.metadata.deletionTimestamp !== undefined)
      return `persistentvolumeclaim is being deleted (${own})`;
    if (claim.status?.phase === "Lost")
      return `persistentvolumeclaim bound to non-existent persistentvolume (${own}, ${bound})`;
    if (!volumeName) return this.#classRefusal(storageClassName, key);
    const annotation = BIND_COMPLETED_ANNOTATION_KEY;
    if (claim.metadata.annotations?.[annotation] === undefined) {
      const names = `annotation=${annotation}, PersistentVolumeClaim=${claim.metadata.name}, ${bound}`;
      return `pvc is considered unbound because it does not contain annotation (${names})`;
    }
    const volume = this.#volumes.get(volumeName);
    const names = `${own}, ${bound}, StorageClass=${storageClassName}`;
    if (volume === undefined) return `persistentvolume "${volumeName}" not found (${names})`;
    if (volume.metadata.deletionTimestamp !== undefined)
      return `persistentvolume is being deleted (${names})`;
    return undefined;
  }

  #classRefusal(name: string | undefined, claimKey: string): string | undefined {
    const names = `PersistentVolumeClaim=${claimKey}, StorageClass=${name ?? ""}`;
    if (!name) return `unbound pvc must define a storage class (${names})`;
    const storageClass = this.#classes.get(name);
    if (storageClass === undefined)
      return `failed to validate pvc, failed to get storage class (${names})`;
    if (storageClass.volumeBindingMode !== "WaitForFirstConsumer")
      return `failed to validate pvc, pvc with immediate volume binding mode must be bound (${names})`;
    const topologies = storageClass.allowedTopologies ?? [];
    const keys = topologies.flatMap((term) =>
      (term.matchLabelExpressions ?? []).map(({ key }) => key),
    );
    // A volume that requires a host name needs an existing node, because no new node can have that name.
    const tied = keys.find((key) => normalizedLabel(key) === HOSTNAME_LABEL_KEY);
    if (tied !== undefined)
      return `failed to validate pvc, storage class uses unsupported topology key (${names}, TopologyKey=${tied})`;
    const { provisioner } = storageClass;
    if (this.#unsupported.includes(provisioner))
      return `failed to validate pvc, provisioner is not supported (${names}, Provisioner=${provisioner})`;
    return undefined;
  }

  #driver(claim: PersistentVolumeClaim | undefined, volume: Volume): string | undefined {
    const bound = claim?.spec.volumeName ? this.#volumes.get(claim.spec.volumeName) : undefined;
    if (bound?.spec.csi !== undefined) return bound.spec.csi.driver;
    if (bound !== undefined) return bound.spec.awsElasticBlockStore ? EBS_DRIVER : undefined;
    const provisioner = this.#classes.get(className(claim, volume) ?? "")?.provisioner;
    return provisioner === undefined
      ? undefined
      : (fieldOf(IN_TREE_DRIVERS, provisioner) ?? provisioner);
  }
}

/**
 * The alternatives of a bound volume. For a local disk, the host name is ignored, because no new node can have the name
 * of the old node.
 */
function boundAlternatives(volume: PersistentVolume): Requirements[] {
  const terms = volume.spec.nodeAffinity?.required?.nodeSelectorTerms ?? [];
  const tied = volume.spec.local !== undefined || volume.spec.hostPath !== undefined;
  const sets = terms.map(termRequirements);
  return tied ? sets.map((set) => set.without(HOSTNAME)) : sets;
}

/** The name of the volume's claim, in the pod's namespace. Undefined: the volume has no claim. */
export function claimName(pod: Pod, volume: Volume): string | undefined {
  if (volume.ephemeral !== undefined) return `${pod.metadata.name}-${volume.name}`;
  return volume.persistentVolumeClaim?.claimName;
}

function className(claim: PersistentVolumeClaim | undefined, volume: Volume): string | undefined {
  if (claim !== undefined) return claim.spec.storageClassName;
  return volume.ephemeral?.volumeClaimTemplate?.spec.storageClassName;
}

/**
 * Combines each alternative of one volume with each compatible one of the next. If none is compatible, all combinations
 * are kept. No node satisfies them, so the pod has no place.
 */
function combinations(
  some: readonly Requirements[],
  others: readonly Requirements[],
): Requirements[] {
  const agreeing = new Map<string, Requirements>();
  const contrary = new Map<string, Requirements>();
  for (const left of some) {
    for (const right of others) {
      const found = agree(left, right) ? agreeing : contrary;
      if (found.size === MOST_ALTERNATIVES) continue;
      const both = left.and(right);
      found.set(both.id, both);
    }
  }
  return [...(agreeing.size > 0 ? agreeing : contrary).values()];
}

function agree(a: Requirements, b: Requirements): boolean {
  return a.accepts(b, new Set(b.keys()));
}

/** Number of objects that are indexed in one step. */
const OBJECTS_PER_STEP = 4_096;

/** Indexes large lists in advance, in steps. Otherwise {@link VolumeIndex} would index them in one step. */
export function* indexVolumes({ claims, volumes, csiNodes }: VolumeObjects): Steps<void> {
  for (const objects of [claims, volumes, csiNodes]) {
    if (indexes.has(objects)) continue;
    const index = new Map<string, KubeObject>();
    yield* eachInSteps<KubeObject>(objects, OBJECTS_PER_STEP, (one) => index.set(keyOf(one), one));
    indexes.set(objects, index);
    yield;
  }
}

/** The index of each list. Lists never change, and callers pass the same list until an object changes. */
const indexes = new WeakMap<readonly KubeObject[], ReadonlyMap<string, KubeObject>>();

function byName<T extends KubeObject>(objects: readonly T[]): ReadonlyMap<string, T> {
  const index = within(
    indexes,
    objects,
    () => new Map(objects.map((object) => [keyOf(object), object])),
  );
  return index as ReadonlyMap<string, T>;
}
