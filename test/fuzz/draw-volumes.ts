/**
 * Gives pods of a random scenario volumes: bound ones in one zone or several, ones that are created where the pod is
 * scheduled, ephemeral ones, shared ones. Nodes and instance types get a few volume slots. Uses its own random source,
 * so the rest of the scenario does not change.
 */
import { Random } from "../../src/base/random.ts";
import type { Json } from "../validator/kubernetes.ts";
import type { Scenario } from "../validator/validate.ts";

const ZONE = "topology.kubernetes.io/zone";
const ZONES = ["zone-a", "zone-b", "zone-c"];
/** A claim that several pods share. */
const SHARED = "shared";
export const DRIVER = "disk.csi.example.com";

/** One of three scenarios has volumes. */
export function withVolumes(scenario: Scenario, seed: number): Scenario {
  const random = new Random(seed * 104_729 + 3);
  return random.int(3) === 0 ? new VolumeDraw(random, scenario).all() : scenario;
}

class VolumeDraw {
  readonly #random: Random;
  readonly #scenario: Scenario;
  readonly #objects: Json[] = [];

  constructor(random: Random, scenario: Scenario) {
    this.#random = random;
    this.#scenario = scenario;
  }

  all(): Scenario {
    const { manifests, instanceTypes } = this.#scenario;
    this.#storageClass("anywhere", []);
    this.#storageClass("zonal", this.#zones());
    this.#bound("default", SHARED, this.#zones());
    const nodes = new Map(
      manifests.filter(({ kind }) => kind === "Node").map((node) => [node.metadata.name, node]),
    );
    const pods = manifests.map((one) => {
      if (one.kind !== "Pod" || !this.#once(2)) return one;
      const node = nodes.get(one.spec.nodeName);
      const volumes = node === undefined ? this.#waiting(one) : this.#running(one, node);
      return { ...one, spec: { ...one.spec, volumes } };
    });
    for (const name of nodes.keys()) if (this.#once(2)) this.#objects.push(this.#csiNode(name));
    const types = instanceTypes.map((type) =>
      this.#once(2)
        ? {
            ...type,
            capacity: {
              ...type.capacity,
              [`attachable-volumes-csi-${DRIVER}`]: String(1 + this.#random.int(4)),
            },
          }
        : type,
    );
    return { manifests: [...pods, ...this.#objects], instanceTypes: types };
  }

  #once(times: number): boolean {
    return this.#random.int(times) === 0;
  }

  #zones(): string[] {
    const zones = ZONES.filter(() => this.#once(2));
    return zones.length === 0 ? [this.#random.pick(ZONES)] : zones;
  }

  /** Volumes of a running pod: the disk is in the zone of its node. */
  #running(pod: Json, node: Json): Json[] {
    const { name, namespace } = pod.metadata;
    const claimName = this.#bound(namespace, `${namespace}-${name}`, [node.metadata.labels[ZONE]]);
    return [{ name: "disk", persistentVolumeClaim: { claimName } }];
  }

  #waiting(pod: Json): Json[] {
    const { name, namespace } = pod.metadata;
    const stem = `${namespace}-${name}`;
    const storageClassName = this.#random.pick(["anywhere", "zonal"]);
    const kind = this.#random.pick(["bound", "bound", "unbound", "ephemeral", "shared", "two"]);
    const claimed = (claimName: string, volume = "disk") => ({
      name: volume,
      persistentVolumeClaim: { claimName },
    });
    if (kind === "shared" && namespace === "default") return [claimed(SHARED)];
    if (kind === "bound") return [claimed(this.#bound(namespace, stem, this.#zones()))];
    if (kind === "ephemeral") {
      const spec = { storageClassName, accessModes: ["ReadWriteOnce"] };
      return [{ name: "disk", ephemeral: { volumeClaimTemplate: { spec } } }];
    }
    this.#claim(namespace, stem, { storageClassName });
    const unbound = claimed(stem);
    if (kind !== "two") return [unbound];
    return [unbound, claimed(this.#bound(namespace, `${stem}-two`, this.#zones()), "more")];
  }

  /** A claim that is bound to a volume in these zones. Several zones become alternative terms. */
  #bound(namespace: string, name: string, zones: readonly string[]): string {
    const terms = this.#once(2) ? zones.map((zone) => [zone]) : [zones];
    this.#objects.push({
      apiVersion: "v1",
      kind: "PersistentVolume",
      metadata: { name: `pv-${name}` },
      spec: {
        csi: { driver: DRIVER, volumeHandle: `pv-${name}` },
        claimRef: { namespace, name },
        nodeAffinity: {
          required: {
            nodeSelectorTerms: terms.map((values) => ({
              matchExpressions: [{ key: ZONE, operator: "In", values }],
            })),
          },
        },
      },
      status: { phase: "Bound" },
    });
    this.#claim(namespace, name, { volumeName: `pv-${name}`, storageClassName: "anywhere" });
    return name;
  }

  #claim(namespace: string, name: string, spec: Json): void {
    this.#objects.push({
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: {
        name,
        namespace,
        ...(spec.volumeName === undefined
          ? {}
          : { annotations: { "pv.kubernetes.io/bind-completed": "yes" } }),
      },
      spec,
      status: { phase: spec.volumeName === undefined ? "Pending" : "Bound" },
    });
  }

  #storageClass(name: string, zones: readonly string[]): void {
    const allowedTopologies =
      zones.length === 0
        ? {}
        : { allowedTopologies: [{ matchLabelExpressions: [{ key: ZONE, values: zones }] }] };
    this.#objects.push({
      apiVersion: "storage.k8s.io/v1",
      kind: "StorageClass",
      metadata: { name },
      provisioner: DRIVER,
      volumeBindingMode: "WaitForFirstConsumer",
      ...allowedTopologies,
    });
  }

  #csiNode(name: string): Json {
    return {
      apiVersion: "storage.k8s.io/v1",
      kind: "CSINode",
      metadata: { name },
      spec: {
        drivers: [{ name: DRIVER, nodeID: name, allocatable: { count: this.#random.int(4) } }],
      },
    };
  }
}

/** Claims of ephemeral volumes, as their controller creates them for existing pods. */
export function ephemeralClaims({ manifests }: Scenario): readonly Json[] {
  return manifests
    .filter(({ kind }) => kind === "Pod")
    .flatMap((pod) =>
      (pod.spec.volumes ?? [])
        .filter(({ ephemeral }: Json) => ephemeral !== undefined)
        .map((volume: Json) => ({
          apiVersion: "v1",
          kind: "PersistentVolumeClaim",
          metadata: {
            name: `${pod.metadata.name}-${volume.name}`,
            namespace: pod.metadata.namespace,
            ownerReferences: [{ kind: "Pod", name: pod.metadata.name, controller: true }],
          },
          spec: volume.ephemeral.volumeClaimTemplate.spec,
          status: { phase: "Pending" },
        })),
    );
}
