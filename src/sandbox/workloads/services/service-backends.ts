/**
 * The pods of a Service in Kubernetes' two forms: subsets of an Endpoints object, and EndpointSlices with at
 * most 100 endpoints each. An endpoint stays in its slice if possible.
 * upstream: kubernetes pkg/controller/endpoint, staging/src/k8s.io/endpointslice
 */
import type { Node } from "../../../apis/core/node.ts";
import type { Pod } from "../../../apis/core/pod.ts";
import { isReady } from "../../../apis/core/pod-predicates.ts";
import type { KubeObject } from "../../../apis/meta.ts";

const MAX_ENDPOINTS = 100;
const ZONE = "topology.kubernetes.io/zone";

/** A port of a Service; `targetPort` may name a container port. */
export interface ServicePort {
  readonly name?: string;
  readonly port: number;
  readonly protocol?: string;
  readonly targetPort?: number | string;
}

interface BackendPort {
  readonly name?: string;
  readonly port: number;
  readonly protocol: string;
}

interface Address {
  readonly ip: string;
  readonly nodeName?: string;
  readonly targetRef: { readonly kind: "Pod"; readonly name: string; readonly uid?: string };
}

interface Endpoint {
  readonly addresses: readonly string[];
  readonly conditions: {
    readonly ready: boolean;
    readonly serving: boolean;
    readonly terminating: boolean;
  };
  readonly targetRef: Address["targetRef"];
  readonly nodeName?: string;
  readonly zone?: string;
}

/** One pod of a Service. */
export interface Backend {
  /** The key by which backends are sorted. */
  readonly key: string;
  readonly ready: boolean;
  readonly terminating: boolean;
  readonly address: Address;
  readonly ports: readonly BackendPort[];
  readonly endpoint: Endpoint;
}

/** Addresses that share their ports. */
export interface Subset {
  readonly addresses?: readonly Address[];
  readonly notReadyAddresses?: readonly Address[];
  readonly ports?: readonly BackendPort[];
}

/** An Endpoints object of core/v1. */
export interface Endpoints extends KubeObject {
  readonly subsets?: readonly Subset[];
}

/** The part of an EndpointSlice that is computed from pods. */
export interface Slice {
  readonly endpoints: readonly Endpoint[];
  readonly ports: readonly BackendPort[];
}

/** An EndpointSlice of discovery.k8s.io/v1. */
export interface EndpointSlice extends KubeObject {
  readonly endpoints?: readonly Endpoint[] | null;
  readonly ports?: readonly BackendPort[] | null;
}

/** The backend for a pod. Undefined if the pod has ended or has no address yet. */
export function backendOf(
  pod: Pod,
  servicePorts: readonly ServicePort[],
  node: Node | undefined,
): Backend | undefined {
  const { metadata, spec, status } = pod;
  const ip = status?.["podIP"] as string | undefined;
  if (ip === undefined || status?.phase === "Succeeded" || status?.phase === "Failed")
    return undefined;
  const serving = isReady(pod);
  const terminating = metadata.deletionTimestamp !== undefined;
  const ready = serving && !terminating;
  const targetRef = {
    kind: "Pod" as const,
    ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
    name: metadata.name,
    ...(metadata.uid === undefined ? {} : { uid: metadata.uid }),
  };
  const nodeName = spec.nodeName === undefined ? {} : { nodeName: spec.nodeName };
  const zone = node?.metadata.labels?.[ZONE];
  return {
    key: metadata.name,
    ready,
    terminating,
    address: { ip, ...nodeName, targetRef },
    ports: servicePorts.flatMap((port) => portOf(pod, port)),
    endpoint: {
      addresses: [ip],
      conditions: { ready, serving, terminating },
      targetRef,
      ...nodeName,
      ...(zone === undefined ? {} : { zone }),
    },
  };
}

/** The port on a pod. Empty if the Service names a port that no container has. */
function portOf(
  pod: Pod,
  { name, port, protocol = "TCP", targetPort }: ServicePort,
): BackendPort[] {
  const wanted = targetPort ?? port;
  const found =
    typeof wanted === "number"
      ? wanted
      : pod.spec.containers
          .flatMap(({ ports = [] }) => ports)
          .find((one) => (one as { readonly name?: string }).name === wanted)?.containerPort;
  return found === undefined ? [] : [{ ...(name && { name }), port: found, protocol }];
}

/** Subsets of pods with equal ports. Pods that are being deleted are left out. */
export function subsetsOf(backends: readonly Backend[]): readonly Subset[] {
  return groupsOf(backends.filter(({ terminating }) => !terminating)).map((group) => {
    const addresses = group.filter(({ ready }) => ready).map(({ address }) => address);
    const notReady = group.filter(({ ready }) => !ready).map(({ address }) => address);
    const [first] = group;
    return {
      ...(addresses.length === 0 ? {} : { addresses }),
      ...(notReady.length === 0 ? {} : { notReadyAddresses: notReady }),
      ...(first === undefined || first.ports.length === 0 ? {} : { ports: first.ports }),
    };
  });
}

/**
 * The wanted content of each slice. `slice` is undefined for a new slice; `content` is undefined for a slice
 * to delete.
 */
export function slicesOf(
  backends: readonly Backend[],
  known: readonly EndpointSlice[],
): readonly { readonly slice?: EndpointSlice; readonly content?: Slice }[] {
  const free = [...known];
  const groups = groupsOf(backends);
  const served = new Set(groups.map((group) => portsKey(group[0]?.ports ?? [])));
  const result = groups.flatMap((group) => {
    // EndpointSlices have an empty name for a port without one.
    const ports = (group[0]?.ports ?? []).map((port) => ({ name: "", ...port }));
    const left = new Map(group.map(({ key, endpoint }) => [key, endpoint]));
    const fitting = free.filter((slice) => portsKey(slice.ports ?? []) === portsKey(ports));
    const filled = fitting.map((slice) => ({ slice, endpoints: staying(slice, left) }));
    for (const { slice, endpoints } of filled) {
      if (left.size === 0 && endpoints.length === 0) continue;
      free.splice(free.indexOf(slice), 1);
      endpoints.push(...taken(left, MAX_ENDPOINTS - endpoints.length));
    }
    const kept: { slice?: EndpointSlice; content?: Slice }[] = filled
      .filter(({ endpoints }) => endpoints.length > 0)
      .map(({ slice, endpoints }) => ({ slice, content: { endpoints, ports } }));
    while (left.size > 0) {
      // A slice whose ports no longer exist is reused.
      const slice = free.find((one) => !served.has(portsKey(one.ports ?? [])));
      if (slice !== undefined) free.splice(free.indexOf(slice), 1);
      const content = { endpoints: taken(left, MAX_ENDPOINTS), ports };
      kept.push(slice === undefined ? { content } : { slice, content });
    }
    return kept;
  });
  // One slice always stays, even without endpoints.
  if (result.length > 0) return [...result, ...free.map((slice) => ({ slice }))];
  const [first, ...others] = free;
  const content = { endpoints: [], ports: [] };
  const placeholder = first === undefined ? { content } : { slice: first, content };
  return [placeholder, ...others.map((slice) => ({ slice }))];
}

/** The endpoints of a slice that are still wanted, updated. They are removed from `wanted`. */
function staying(slice: EndpointSlice, wanted: Map<string, Endpoint>): Endpoint[] {
  return (slice.endpoints ?? []).flatMap(({ targetRef }) => {
    const now = wanted.get(targetRef.name);
    wanted.delete(targetRef.name);
    return now === undefined ? [] : [now];
  });
}

function taken(from: Map<string, Endpoint>, count: number): Endpoint[] {
  const some = [...from].slice(0, Math.max(0, count));
  for (const [key] of some) from.delete(key);
  return some.map(([, endpoint]) => endpoint);
}

function portsKey(ports: readonly BackendPort[]): string {
  return ports.map(({ name = "", port, protocol }) => `${name}/${port}/${protocol}`).join();
}

/** Backends grouped by their ports, in order of appearance. */
function groupsOf(backends: readonly Backend[]): readonly (readonly Backend[])[] {
  const groups = new Map<string, Backend[]>();
  for (const backend of backends) {
    const key = portsKey(backend.ports);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [backend]);
    else group.push(backend);
  }
  return [...groups.values()];
}
