/**
 * Generated problems of dynamic resource allocation: a few nodes with ResourceSlices, classes, claims, and pods
 * that are created one after the other. A case follows from its number alone, so only the answers are recorded.
 * Of the first 300 cases, two thirds use only what Kubernetes 1.34 enables by default; the others have taints and
 * shared counters. Later cases have partitions of two cards, or alternatives.
 */
import type { Node } from "../../../src/apis/core/node.ts";
import type { Pod } from "../../../src/apis/core/pod.ts";
import type {
  Device,
  DeviceClass,
  DeviceRequest,
  ExactDeviceRequest,
  ResourceClaim,
  ResourceSlice,
} from "../../../src/apis/resource/kinds.ts";
import { Random } from "../../../src/base/random.ts";

export interface DeviceCase {
  readonly nodes: readonly Node[];
  readonly slices: readonly ResourceSlice[];
  /** The claims, in the order in which the pods are created. */
  readonly claims: readonly ResourceClaim[];
  readonly pods: readonly Pod[];
}

const API = "resource.k8s.io/v1";
const DRIVER = "gpu.example.com";
const NIC_DRIVER = "nic.example.com";

/** Objects that all cases share. */
export const CLASSES: readonly DeviceClass[] = [
  deviceClass("gpu", [`device.driver == "${DRIVER}"`]),
  deviceClass("big-gpu", [
    `device.driver == "${DRIVER}"`,
    `device.capacity["${DRIVER}"].memory.compareTo(quantity("40Gi")) >= 0`,
  ]),
  deviceClass("nic", [`device.driver == "${NIC_DRIVER}"`]),
  deviceClass("any", []),
];

const PLAIN_CASES = 300;
/** The subject of a case after the first 300. */
type Theme = "partitions" | "alternatives";
const THEMES: readonly Theme[] = ["partitions", "alternatives"];

/** Case `index`. Its names are unique, so that cases can follow each other on one cluster. */
export function deviceCase(index: number): DeviceCase {
  const random = new Random(`devices/${index}`);
  const theme = index < PLAIN_CASES ? undefined : THEMES[index % THEMES.length];
  const isGated = theme === undefined && index % 3 === 2;
  const nodes = Array.from({ length: 1 + random.int(3) }, (_, at) =>
    node(random, `dn${index}-${at}`),
  );
  const slices = [
    ...nodes.flatMap(({ metadata: { name } }) =>
      theme === undefined ? slicesOf(random, name, isGated) : [themedSlice(random, name, theme)],
    ),
    ...(random.int(4) === 0 ? [sharedSlice(random, index)] : []),
  ];
  const claims: ResourceClaim[] = [];
  const pods = Array.from({ length: 1 + random.int(4) }, (_, at) => {
    const own = Array.from({ length: 1 + (random.int(4) === 0 ? 1 : 0) }, () => {
      const known = claims.length > 0 && random.int(5) === 0 ? random.pick(claims) : undefined;
      if (known !== undefined) return known;
      const name = `dc${index}-${claims.length}`;
      const made =
        theme === undefined ? claim(random, name, isGated) : themedClaim(random, name, theme);
      claims.push(made);
      return made;
    });
    return pod(`dp${index}-${at}`, [...new Set(own.map(({ metadata }) => metadata.name))]);
  });
  return { nodes, slices, claims, pods };
}

function deviceClass(name: string, expressions: readonly string[]): DeviceClass {
  const selectors = expressions.map((expression) => ({ cel: { expression } }));
  return {
    apiVersion: API,
    kind: "DeviceClass",
    metadata: { name },
    spec: selectors.length === 0 ? {} : { selectors },
  };
}

function node(random: Random, name: string): Node {
  const amounts = { cpu: "8", memory: "16Gi", pods: "110" };
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name,
      labels: { "kubernetes.io/hostname": name, rack: random.pick(["r1", "r2"]) },
    },
    status: { capacity: amounts, allocatable: amounts },
  } as Node;
}

function slicesOf(random: Random, nodeName: string, isGated: boolean): ResourceSlice[] {
  const slices: ResourceSlice[] = [];
  const count = random.int(5);
  const isPartitioned = isGated && random.int(2) === 0;
  const devices = Array.from({ length: count }, (_, at) => {
    const one = gpu(random, `gpu-${at}`);
    if (!isGated) return one;
    return isPartitioned ? partOf(random, one) : tainted(random, one);
  });
  const counters = { slots: { value: String(1 + random.int(4)) }, memory: { value: "80Gi" } };
  if (count > 0)
    slices.push(
      slice(
        `${nodeName}-gpus`,
        { driver: DRIVER, pool: nodeName },
        {
          nodeName,
          devices,
          ...(isPartitioned ? { sharedCounters: [{ name: "card", counters }] } : {}),
        },
      ),
    );
  const nics = Array.from({ length: random.int(3) }, (_, at) => nic(random, `nic-${at}`));
  if (nics.length > 0)
    slices.push(
      slice(
        `${nodeName}-nics`,
        { driver: NIC_DRIVER, pool: nodeName },
        { nodeName, devices: nics },
      ),
    );
  return slices;
}

/** A slice of devices that several nodes can use. */
function sharedSlice(random: Random, index: number): ResourceSlice {
  const rack = { key: "rack", operator: "In", values: [random.pick(["r1", "r2"])] };
  const where = random.pick<object>([
    { allNodes: true },
    { nodeSelector: { nodeSelectorTerms: [{ matchExpressions: [rack] }] } },
  ]);
  const devices = [nic(random, "far-0"), nic(random, "far-1")].slice(0, 1 + random.int(2));
  return slice(
    `ds${index}-far`,
    { driver: NIC_DRIVER, pool: `far-${index}` },
    { ...where, devices },
  );
}

function slice(
  name: string,
  { driver, pool }: { readonly driver: string; readonly pool: string },
  more: object,
): ResourceSlice {
  return {
    apiVersion: API,
    kind: "ResourceSlice",
    metadata: { name },
    spec: { driver, pool: { name: pool, generation: 1, resourceSliceCount: 1 }, ...more },
  };
}

function gpu(random: Random, name: string): Device {
  return {
    name,
    attributes: {
      model: { string: random.pick(["a", "b"]) },
      numa: { int: random.int(2) },
      driverVersion: { version: random.pick(["1.0.0", "1.2.0"]) },
      ...(random.int(4) === 0
        ? {}
        : { "resource.kubernetes.io/pcieRoot": { string: random.pick(["p0", "p1"]) } }),
    },
    capacity: { memory: { value: random.pick(["24Gi", "40Gi", "80Gi"]) } },
  };
}

function nic(random: Random, name: string): Device {
  return {
    name,
    attributes: {
      rdma: { bool: random.int(2) === 0 },
      "resource.kubernetes.io/pcieRoot": { string: random.pick(["p0", "p1"]) },
    },
  };
}

function tainted(random: Random, device: Device): Device {
  if (random.int(2) === 0) return device;
  const effect = random.pick(["NoSchedule", "NoExecute"] as const);
  return {
    ...device,
    taints: [{ key: "example.com/sick", value: random.pick(["a", "b"]), effect }],
  };
}

function partOf(random: Random, device: Device): Device {
  const counters = {
    slots: { value: random.pick(["1", "2"]) },
    memory: { value: random.pick(["20Gi", "40Gi"]) },
  };
  return { ...device, consumesCounters: [{ counterSet: "card", counters }] };
}

function claim(random: Random, name: string, isGated: boolean): ResourceClaim {
  const requests = Array.from({ length: 1 + (random.int(3) === 0 ? 1 : 0) }, (_, at) =>
    request(random, `r${at}`, isGated),
  );
  // Claims with counters get no constraint: Kubernetes 1.34 does not give their counters back.
  const constraint = !isGated && random.int(3) === 0 ? [{ matchAttribute: attribute(random) }] : [];
  return {
    apiVersion: API,
    kind: "ResourceClaim",
    metadata: { name, namespace: "default" },
    spec: {
      devices: { requests, ...(constraint.length === 0 ? {} : { constraints: constraint }) },
    },
  };
}

/** GPUs of one node; as partitions, they share the counters of two cards. */
function themedSlice(random: Random, nodeName: string, theme: Theme): ResourceSlice {
  const devices = Array.from({ length: 1 + random.int(5) }, (_, at) => {
    const one = gpu(random, `gpu-${at}`);
    return theme === "partitions" ? { ...one, consumesCounters: cards(random) } : one;
  });
  const sharedCounters = CARDS.map((name) => ({
    name,
    counters: { slots: { value: String(1 + random.int(4)) }, memory: { value: "80Gi" } },
  }));
  const more = { nodeName, devices, ...(theme === "partitions" ? { sharedCounters } : {}) };
  return slice(`${nodeName}-gpus`, { driver: DRIVER, pool: nodeName }, more);
}

const CARDS = ["card-0", "card-1"];

/** Some devices use counters of both cards. */
function cards(random: Random): Device["consumesCounters"] & object {
  const own = random.int(4) === 0 ? CARDS : [random.pick(CARDS)];
  return own.map((counterSet) => ({
    counterSet,
    counters: {
      slots: { value: random.pick(["1", "2"]) },
      memory: { value: random.pick(["20Gi", "40Gi", "80Gi"]) },
    },
  }));
}

function themedClaim(random: Random, name: string, theme: Theme): ResourceClaim {
  const asked = (most: number): ExactDeviceRequest => ({
    deviceClassName: random.pick(["gpu", "gpu", "big-gpu"]),
    count: 1 + random.int(most),
  });
  const requests = Array.from({ length: 1 + random.int(2) }, (_, at): DeviceRequest => {
    const name = `r${at}`;
    const isFirst = random.int(theme === "alternatives" ? 5 : 3) > 0;
    if (!isFirst) return { name, exactly: asked(3) };
    // The first alternative may ask for the most, as people write them.
    const firstAvailable = [4, 2, 1].map((most, at) => ({ name: `s${at}`, ...asked(most) }));
    return { name, firstAvailable };
  });
  const isBound = theme === "alternatives" && random.int(3) === 0;
  const constraints = [{ matchAttribute: attribute(random) }];
  return {
    apiVersion: API,
    kind: "ResourceClaim",
    metadata: { name, namespace: "default" },
    spec: { devices: { requests, ...(isBound ? { constraints } : {}) } },
  };
}

function attribute(random: Random): string {
  return random.pick([`${DRIVER}/model`, `${DRIVER}/numa`, "resource.kubernetes.io/pcieRoot"]);
}

function request(random: Random, name: string, isGated: boolean): DeviceRequest {
  if (random.int(4) > 0) {
    const isAll = random.int(6) === 0;
    return { name, exactly: ask(random, isGated, isAll) };
  }
  const firstAvailable = ["s0", "s1"].map((sub) => ({ name: sub, ...ask(random, isGated, false) }));
  return { name, firstAvailable };
}

function ask(random: Random, isGated: boolean, isAll: boolean): ExactDeviceRequest {
  const deviceClassName = random.pick(["gpu", "gpu", "big-gpu", "nic", "any"]);
  const expression = selector(random, deviceClassName);
  const tolerations = [
    { key: "example.com/sick", operator: "Equal" as const, value: "a" },
    { operator: "Exists" as const, effect: "NoSchedule" as const },
  ];
  return {
    deviceClassName,
    ...(expression === undefined ? {} : { selectors: [{ cel: { expression } }] }),
    ...(isAll ? { allocationMode: "All" as const } : { count: 1 + random.int(3) }),
    ...(isGated && random.int(3) === 0 ? { tolerations: [random.pick(tolerations)] } : {}),
  };
}

/** No selector that fails on a missing attribute: kube-scheduler then gives no answer about the pod. */
function selector(random: Random, className: string): string | undefined {
  if (className === "any" || random.int(2) === 0) return undefined;
  if (className === "nic") return `device.attributes["${NIC_DRIVER}"].rdma`;
  return random.pick([
    `device.attributes["${DRIVER}"].model == "a"`,
    `device.attributes["${DRIVER}"].numa == 0`,
    `device.attributes["${DRIVER}"].driverVersion.isGreaterThan(semver("1.1.0"))`,
    `"pcieRoot" in device.attributes["resource.kubernetes.io"]`,
    `device.capacity["${DRIVER}"].memory.isGreaterThan(quantity("24Gi"))`,
  ]);
}

function pod(name: string, claims: readonly string[]): Pod {
  const refs = claims.map((resourceClaimName, at) => ({ name: `c${at}`, resourceClaimName }));
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default" },
    spec: {
      terminationGracePeriodSeconds: 0,
      containers: [
        {
          name: "main",
          image: "pause:1",
          resources: { claims: refs.map(({ name }) => ({ name })) },
        },
      ],
      resourceClaims: refs,
    },
  } as unknown as Pod;
}
