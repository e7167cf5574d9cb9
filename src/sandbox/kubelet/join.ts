/**
 * How an instance becomes a Node. Some seconds after the launch its kubelet registers a Node that is not ready, with
 * the labels and taints of the instance's user data. Later it reports Ready. The simulated cloud calls {@link
 * Kubelets.join} and {@link Kubelets.leave}.
 */
import { NODE, type Node, type Taint } from "../../apis/core/node.ts";
import type { Condition, ResourceAmounts } from "../../apis/meta.ts";
import { LEASE } from "../../apis/policy/kinds.ts";
import { RESOURCE_SLICE } from "../../apis/resource/kinds.ts";
import { CSI_NODE } from "../../apis/storage/kinds.ts";
import { toRfc3339, toRfc3339Micro } from "../../base/clock.ts";
import { fnv64Text } from "../../base/fnv.ts";
import { deepEqual, fieldOf } from "../../base/json.ts";
import { patchObject } from "../../kube/client/patch-object.ts";
import { isAlreadyExists } from "../../kube/errors.ts";
import { LEASE_NAMESPACE } from "../node-leases.ts";
import type { PartDeps } from "../parts.ts";
import { type MachineDevices, sliceOf } from "./devices.ts";
import { sharedAsAsked } from "./gpu-sharing.ts";

/** Milliseconds from launch until the kubelet registers the Node. */
export const DEFAULT_JOIN_MS = 20_000;
/** Milliseconds from registration until Ready. */
export const DEFAULT_READY_MS = 10_000;
export const NOT_READY_TAINT_KEY = "node.kubernetes.io/not-ready";
export const UNREACHABLE_TAINT_KEY = "node.kubernetes.io/unreachable";

const ZONE = "topology.kubernetes.io/zone";
/** The label with the machine's zone that a CSI driver has of its own. Old volumes of the driver name it. */
const DRIVER_ZONES: Readonly<Record<string, string>> = {
  "ebs.csi.aws.com": "topology.ebs.csi.aws.com/zone",
};

/** Facts about its machine that a kubelet reports. */
export interface InstanceNode {
  readonly name: string;
  /** The provider ID: `aws:///us-east-1a/i-0abc…` or `kwok://…`. */
  readonly providerID: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly capacity: ResourceAmounts;
  readonly allocatable: ResourceAmounts;
  readonly internalIp: string;
  /** The processor architecture. Default `amd64`. */
  readonly architecture?: string;
  /** The operating system. Default `linux`. */
  readonly operatingSystem?: string;
  readonly osImage?: string;
  readonly kubeletVersion?: string;
  /** The CSI drivers on the machine, with the number of volumes that each can attach. */
  readonly csiDrivers?: readonly { readonly name: string; readonly count: number }[];
  /** The devices that drivers on the machine publish. */
  readonly devices?: readonly MachineDevices[];
  /** Milliseconds from this call until the Node is registered. Default {@link DEFAULT_JOIN_MS}. */
  readonly joinMs?: number;
  /**
   * Milliseconds from registration until Ready. Default {@link DEFAULT_READY_MS}. `"never"`: it never becomes Ready.
   */
  readonly readyMs?: number | "never";
}

/**
 * Creates the Node, its Lease, its CSINode and the slices of its devices. Of existing objects, only the Node's
 * status is changed.
 */
export async function registerNode(deps: PartDeps, spec: InstanceNode): Promise<void> {
  const wanted = nodeOf(spec, deps.clock.now());
  const created = await orExisting(deps.kube.create(NODE, wanted), () =>
    deps.kube.get(NODE, { name: spec.name }),
  );
  // If the server ignores status on creation, it is written in a second request.
  if (!deepEqual(created.status?.conditions, wanted.status?.conditions)) {
    const status = { ...created.status, ...wanted.status } as NonNullable<Node["status"]>;
    await patchObject(deps.kube, NODE, created, { ...created, status });
  }
  await createLease(deps, created);
  for (const devices of await sharedAsAsked(deps.kube, spec.labels, spec.devices ?? [])) {
    const slice = sliceOf(created, devices);
    await orExisting(deps.kube.create(RESOURCE_SLICE, slice), () => Promise.resolve(slice));
  }
  if (spec.csiDrivers !== undefined && spec.csiDrivers.length > 0) {
    const csiNode = {
      apiVersion: "storage.k8s.io/v1",
      kind: "CSINode",
      metadata: { name: spec.name, ownerReferences: [ownedBy(created)] },
      spec: {
        drivers: spec.csiDrivers.map(({ name, count }) => ({
          name,
          nodeID: spec.providerID.split("/").at(-1) ?? spec.name,
          topologyKeys: [...Object.keys(driverLabels(spec, name)), ZONE],
          allocatable: { count },
        })),
      },
    };
    await orExisting(deps.kube.create(CSI_NODE, csiNode), () => Promise.resolve(csiNode));
  }
}

/** Creates the Lease of a node, which its kubelet renews as a heartbeat. */
export async function createLease(deps: PartDeps, node: Node): Promise<void> {
  const lease = {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: {
      name: node.metadata.name,
      namespace: LEASE_NAMESPACE,
      ownerReferences: [ownedBy(node)],
    },
    spec: {
      holderIdentity: node.metadata.name,
      leaseDurationSeconds: 40,
      renewTime: toRfc3339Micro(deps.clock.now()),
    },
  };
  await orExisting(deps.kube.create(LEASE, lease), () => Promise.resolve(lease));
}

async function orExisting<T>(creation: Promise<T>, existing: () => Promise<T>): Promise<T> {
  try {
    return await creation;
  } catch (error) {
    if (isAlreadyExists(error)) return existing();
    throw error;
  }
}

function ownedBy(node: Node): { apiVersion: string; kind: string; name: string; uid: string } {
  const { name, uid } = node.metadata;
  return { apiVersion: "v1", kind: "Node", name, uid: uid ?? "" };
}

/** The labels that a CSI driver adds to a Node. */
function driverLabels({ labels }: InstanceNode, driver: string): Record<string, string> {
  const [key, zone] = [fieldOf(DRIVER_ZONES, driver), labels[ZONE]];
  return key === undefined || zone === undefined ? {} : { [key]: zone };
}

function nodeOf(spec: InstanceNode, nowMs: number): Node {
  const architecture = spec.architecture ?? "amd64";
  const operatingSystem = spec.operatingSystem ?? "linux";
  // Nodes that exist when the simulation begins are ready from the start.
  const ready = spec.readyMs === 0;
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name: spec.name,
      labels: {
        "kubernetes.io/arch": architecture,
        "kubernetes.io/hostname": spec.name,
        "kubernetes.io/os": operatingSystem,
        ...Object.assign(
          {},
          ...(spec.csiDrivers ?? []).map(({ name }) => driverLabels(spec, name)),
        ),
        ...spec.labels,
      },
      annotations: { "node.alpha.kubernetes.io/ttl": "0" },
    },
    spec: {
      providerID: spec.providerID,
      taints: ready
        ? spec.taints
        : [...spec.taints, { key: NOT_READY_TAINT_KEY, effect: "NoSchedule" }],
    },
    status: {
      capacity: spec.capacity,
      allocatable: spec.allocatable,
      addresses: [
        { type: "InternalIP", address: spec.internalIp },
        { type: "InternalDNS", address: spec.name },
        { type: "Hostname", address: spec.name },
      ],
      conditions: nodeConditions(ready, nowMs),
      nodeInfo: {
        architecture,
        ...identityOf(spec.providerID),
        bootID: bootIdOf(spec.providerID, 0),
        containerRuntimeVersion: "containerd://1.7.27",
        kernelVersion: "6.1.141-155.222.amzn2023",
        kubeProxyVersion: "",
        kubeletVersion: spec.kubeletVersion ?? "v1.34.0",
        operatingSystem,
        osImage: spec.osImage ?? "Simulated Linux",
      },
    },
  };
}

/** The ids of the machine. They are computed from its provider ID, so that they are the same in every run. */
function identityOf(providerID: string): {
  readonly machineID: string;
  readonly systemUUID: string;
} {
  const machine = `ec2${digitsOf("machine", providerID)}${digitsOf("board", providerID).slice(3)}`;
  return { machineID: machine, systemUUID: uuidOf(machine) };
}

/** The boot ID of a machine after this number of reboots. */
export function bootIdOf(providerID: string, reboots: number): string {
  const [first, boot] = reboots === 0 ? ["first boot", "boot"] : [`boot ${reboots}`, "boot"];
  return uuidOf(`${digitsOf(first as string, providerID)}${digitsOf(boot as string, providerID)}`);
}

function digitsOf(kind: string, providerID: string): string {
  return fnv64Text(`${kind} of ${providerID}`).toString(16).padStart(16, "0");
}

function uuidOf(hex: string): string {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

const PRESSURES = [
  ["MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"],
  ["DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"],
  ["PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"],
] as const;

/** The conditions that a kubelet posts. */
export function nodeConditions(ready: boolean, nowMs: number): readonly Condition[] {
  const at = toRfc3339(nowMs);
  const times = { lastHeartbeatTime: at, lastTransitionTime: at };
  const pressures = PRESSURES.map(
    ([type, reason, message]): Condition => ({ type, status: "False", reason, message, ...times }),
  );
  const readiness: Condition = ready
    ? {
        type: "Ready",
        status: "True",
        reason: "KubeletReady",
        message: "kubelet is posting ready status",
        ...times,
      }
    : {
        type: "Ready",
        status: "False",
        reason: "KubeletNotReady",
        message: "container runtime network not ready: cni plugin not initialized",
        ...times,
      };
  return [...pressures, readiness];
}

/** The condition Ready. Undefined: the node does not have it. */
export function readiness(node: Node): Condition | undefined {
  return node.status?.conditions?.find(({ type }) => type === "Ready");
}

/** True if the condition Ready is True. */
export function isNodeReady(node: Node): boolean {
  return readiness(node)?.status === "True";
}
