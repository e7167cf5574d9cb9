/**
 * Volumes of generated cases. Claims are bound to volumes of a zone or a node, wait for a first consumer, or
 * cannot be bound at all. A waiting claim gets a new volume or an existing one. Some nodes limit how many volumes
 * they attach.
 */
import type { Node } from "../../../src/apis/core/node.ts";
import type { KubeObject } from "../../../src/apis/meta.ts";
import type { Random } from "../../../src/base/random.ts";
import { HOSTNAME, ZONE } from "./terms.ts";

const DRIVER = "csi.example.com";
const BIND_COMPLETED = "pv.kubernetes.io/bind-completed";
const SELECTED_NODE = "volume.kubernetes.io/selected-node";

export const STORAGE_CLASSES: readonly KubeObject[] = [
  storageClass("wait", DRIVER, "WaitForFirstConsumer"),
  storageClass("wait-ab", DRIVER, "WaitForFirstConsumer", ["a", "b"]),
  storageClass("static", "kubernetes.io/no-provisioner", "WaitForFirstConsumer"),
  storageClass("now", DRIVER, "Immediate"),
];

/** The volumes and claims of one case, collected while its pods are made. */
export class VolumeCase {
  readonly objects: KubeObject[] = [];
  readonly #index: number;
  readonly #nodes: readonly Node[];

  constructor(index: number, nodes: readonly Node[]) {
    this.#index = index;
    this.#nodes = nodes;
  }

  get nodes(): readonly Node[] {
    return this.#nodes;
  }

  name(kind: "c" | "v"): string {
    return `${kind}${this.#index}-${this.objects.length}`;
  }
}

/** Volumes of a running pod: bound, and attached to its node. */
export function placedClaims(random: Random, all: VolumeCase): object {
  if (random.int(2) === 0) return {};
  return volumesOf([boundClaim(random, all, { csi: true })]);
}

export function pendingClaims(random: Random, all: VolumeCase): object {
  return volumesOf(Array.from({ length: 1 + random.int(2) }, () => pendingClaim(random, all)));
}

/** How many volumes each node can attach; some nodes have no limit. */
export function csiNodes(random: Random, nodes: readonly Node[]): KubeObject[] {
  return nodes
    .filter(() => random.int(3) > 0)
    .map(({ metadata: { name } }) => {
      const allocatable = { count: 1 + random.int(3) };
      const driver = { name: DRIVER, nodeID: name, topologyKeys: [ZONE], allocatable };
      return object("storage.k8s.io/v1", "CSINode", name, { spec: { drivers: [driver] } });
    });
}

/** A bound ReadWriteOncePod claim and its volume. */
export function oncePodClaim(index: number): {
  readonly claimName: string;
  readonly objects: readonly KubeObject[];
} {
  const claimName = `c${index}-once`;
  const volumeName = `${claimName}-v`;
  const accessModes = ["ReadWriteOncePod"];
  const bound = { [BIND_COMPLETED]: "yes" };
  const status = { phase: "Bound" };
  const objects = [
    claim(claimName, "static", bound, { volumeName, accessModes }),
    volume(volumeName, { capacity: "5Gi", claimName, accessModes, status }),
  ];
  return { claimName, objects };
}

function pendingClaim(random: Random, all: VolumeCase): string {
  switch (random.int(14)) {
    case 0:
      return waitingClaim(all, "now");
    case 1:
      return "absent";
    case 2:
      return waitingClaim(all, "wait", random.pick(all.nodes).metadata.name);
    case 3:
    case 4:
      return waitingClaim(all, "wait");
    case 5:
    case 6:
    case 7:
      return waitingClaim(all, "wait-ab");
    case 8:
    case 9:
      return staticClaim(random, all);
    case 10:
      return boundClaim(random, all, { csi: true });
    case 11:
      return boundClaim(random, all, { missing: true });
    default:
      return boundClaim(random, all, {});
  }
}

function waitingClaim(all: VolumeCase, className: string, selectedNode?: string): string {
  const name = all.name("c");
  const annotations = selectedNode === undefined ? {} : { [SELECTED_NODE]: selectedNode };
  all.objects.push(claim(name, className, annotations, {}));
  return name;
}

/** A claim, and volumes that it may be bound to: of several zones and sizes, some too small. */
function staticClaim(random: Random, all: VolumeCase): string {
  const name = all.name("c");
  all.objects.push(claim(name, "static", {}, {}));
  for (let count = random.int(3); count >= 0; count--) {
    const capacity = random.pick(["1Gi", "5Gi", "10Gi"]);
    const status = { phase: "Available" };
    all.objects.push(volume(all.name("v"), { capacity, ...reach(random, all), status }));
  }
  return name;
}

function boundClaim(
  random: Random,
  all: VolumeCase,
  { csi, missing }: { readonly csi?: boolean; readonly missing?: boolean },
): string {
  const name = all.name("c");
  const volumeName = `${name}-v`;
  all.objects.push(claim(name, "static", { [BIND_COMPLETED]: "yes" }, { volumeName }));
  if (missing === true) return name;
  const zoneLabel = random.int(3) === 0 ? random.pick(["a", "b", "a__b"]) : undefined;
  const where = csi === true || zoneLabel !== undefined ? {} : reach(random, all);
  all.objects.push(
    volume(volumeName, {
      capacity: "5Gi",
      ...where,
      ...(zoneLabel === undefined ? {} : { zoneLabel }),
      ...(csi === true ? { csi } : {}),
      claimName: name,
      status: { phase: "Bound" },
    }),
  );
  return name;
}

/** Where a volume can be used: in some zones, on one node, or anywhere. */
function reach(random: Random, all: VolumeCase): { readonly terms?: readonly object[] } {
  const kind = random.int(6);
  if (kind === 0) return {};
  const zones = random.pick([["a"], ["b"], ["a", "b"], ["c"]]);
  const expression =
    kind === 1
      ? { key: HOSTNAME, operator: "In", values: [random.pick(all.nodes).metadata.name] }
      : { key: ZONE, operator: "In", values: zones };
  return { terms: [{ matchExpressions: [expression] }] };
}

function volumesOf(claims: readonly string[]): object {
  return {
    volumes: claims.map((claimName, at) => ({
      name: `v${at}`,
      persistentVolumeClaim: { claimName },
    })),
  };
}

function claim(
  name: string,
  storageClassName: string,
  annotations: Readonly<Record<string, string>>,
  spec: object,
): KubeObject {
  const metadata = { name, namespace: "default", annotations };
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata,
    spec: {
      storageClassName,
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: "5Gi" } },
      ...spec,
    },
  } as KubeObject;
}

function volume(
  name: string,
  of: {
    readonly capacity: string;
    readonly terms?: readonly object[];
    readonly zoneLabel?: string;
    readonly csi?: boolean;
    readonly claimName?: string;
    readonly accessModes?: readonly string[];
    readonly status: { readonly phase: string };
  },
): KubeObject {
  const { capacity, terms, zoneLabel, csi, claimName, status } = of;
  const { accessModes = ["ReadWriteOnce"] } = of;
  const metadata = { name, ...(zoneLabel === undefined ? {} : { labels: { [ZONE]: zoneLabel } }) };
  const claimRef = { kind: "PersistentVolumeClaim", namespace: "default", name: claimName };
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata,
    spec: {
      capacity: { storage: capacity },
      accessModes,
      persistentVolumeReclaimPolicy: "Retain",
      storageClassName: "static",
      ...(csi === true
        ? { csi: { driver: DRIVER, volumeHandle: name } }
        : { hostPath: { path: "/data" } }),
      ...(terms === undefined ? {} : { nodeAffinity: { required: { nodeSelectorTerms: terms } } }),
      ...(claimName === undefined ? {} : { claimRef }),
    },
    status,
  } as KubeObject;
}

function storageClass(
  name: string,
  provisioner: string,
  volumeBindingMode: string,
  zones?: readonly string[],
): KubeObject {
  const topologies =
    zones === undefined
      ? {}
      : { allowedTopologies: [{ matchLabelExpressions: [{ key: ZONE, values: zones }] }] };
  return object("storage.k8s.io/v1", "StorageClass", name, {
    provisioner,
    volumeBindingMode,
    ...topologies,
  });
}

function object(apiVersion: string, kind: string, name: string, rest: object): KubeObject {
  return { apiVersion, kind, metadata: { name }, ...rest } as KubeObject;
}
