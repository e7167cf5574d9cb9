/**
 * Generated scheduling problems: a few nodes, existing pods and volumes, one pending pod. A case follows from its
 * seed alone, so only the answers are recorded. `SHARED` has what all cases share: namespaces, priority classes,
 * storage classes.
 */
import type { Node, Taint } from "../../../src/apis/core/node.ts";
import type { Pod } from "../../../src/apis/core/pod.ts";
import type { KubeObject } from "../../../src/apis/meta.ts";
import type { PodDisruptionBudget } from "../../../src/apis/policy/kinds.ts";
import { toRfc3339 } from "../../../src/base/clock.ts";
import { Random } from "../../../src/base/random.ts";
import { RUNTIME_CLASS, withRareShapes } from "./rare-shapes.ts";
import { APPS, affinity, HOSTNAME, placedAffinity, REVISIONS, spread, ZONE } from "./terms.ts";
import { csiNodes, pendingClaims, placedClaims, STORAGE_CLASSES, VolumeCase } from "./volumes.ts";

export interface SchedulingCase {
  readonly nodes: readonly Node[];
  /** Pods on nodes, in the order of their start, the most recent first. */
  readonly placed: readonly Pod[];
  readonly pending: Pod;
  readonly budgets: readonly PodDisruptionBudget[];
  /** PersistentVolumes, PersistentVolumeClaims and CSINodes. */
  readonly volumes: readonly KubeObject[];
  /** The Services that select the pending pod, and the set that owns it. */
  readonly owners: readonly KubeObject[];
}

const ZONES = ["a", "b", "c"];
const TAINT_KEYS = ["team", "spot"];
/** The first instant of the cases, 2026-01-01T00:00:00Z. Pods started in the hour after it. */
const START_MS = 1_767_225_600_000;

const PRIORITIES: Readonly<Record<string, number>> = { low: -100, mid: 100, high: 1000 };

/** Objects that all cases share. */
export const SHARED: readonly KubeObject[] = [
  { apiVersion: "v1", kind: "Namespace", metadata: { name: "other", labels: { team: "x" } } },
  ...Object.entries(PRIORITIES).map(([name, value]) => priorityClass(name, value)),
  priorityClass("never", 1000, "Never"),
  ...STORAGE_CLASSES,
  RUNTIME_CLASS,
];

/** Case `index`. Its names are unique, so that cases can follow each other on one cluster. */
export function schedulingCase(index: number): SchedulingCase {
  return withRareShapes(index, plainCase(index));
}

function plainCase(index: number): SchedulingCase {
  const random = new Random(`scheduling/${index}`);
  const nodes = Array.from({ length: 2 + random.int(4) }, (_, at) =>
    node(random, `n${index}-${at}`),
  );
  const volumeCase = random.int(3) === 0 ? new VolumeCase(index, nodes) : undefined;
  const count = random.int(8);
  const placed = Array.from({ length: count }, (_, at) => {
    const name = `p${index}-${at}`;
    const terms = {
      nodeName: random.pick(nodes).metadata.name,
      ...placedAffinity(random),
      ...(volumeCase === undefined ? {} : placedClaims(random, volumeCase)),
      ...priority(random, ["low", "mid", ""]),
    };
    const startTime = toRfc3339(START_MS + (count - at) * 61_000);
    return { ...pod(random, name, terms), status: { startTime } } as unknown as Pod;
  });
  const pending = pod(random, `x${index}`, {
    ...pendingTerms(random),
    ...(volumeCase === undefined ? {} : pendingClaims(random, volumeCase)),
    ...priority(random, ["low", "mid", "high", "high", "never", "", ""]),
  });
  const budgets = random.int(4) === 0 ? [budget(random, `b${index}`)] : [];
  const csi = volumeCase === undefined ? [] : csiNodes(random, nodes);
  const volumes = [...csi, ...(volumeCase?.objects ?? [])];
  const home = { ...pending, metadata: { ...pending.metadata, namespace: "default" } };
  return { nodes, placed, pending: home, budgets, volumes, owners: [] };
}

function priorityClass(name: string, value: number, preemptionPolicy?: string): KubeObject {
  return {
    apiVersion: "scheduling.k8s.io/v1",
    kind: "PriorityClass",
    metadata: { name },
    value,
    ...(preemptionPolicy === undefined ? {} : { preemptionPolicy }),
  } as KubeObject;
}

function priority(random: Random, names: readonly string[]): object {
  const priorityClassName = random.pick(names);
  if (priorityClassName === "") return { priority: 0 };
  if (priorityClassName === "never")
    return { priorityClassName, priority: 1000, preemptionPolicy: "Never" };
  return { priorityClassName, priority: PRIORITIES[priorityClassName] };
}

function node(random: Random, name: string): Node {
  const capacity = {
    cpu: random.pick(["2", "4", "8"]),
    memory: random.pick(["4Gi", "8Gi", "16Gi"]),
    pods: random.pick(["2", "10", "110"]),
    "ephemeral-storage": "20Gi",
    ...(random.int(4) === 0 ? { "example.com/gpu": "2" } : {}),
  };
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name,
      labels: {
        [HOSTNAME]: name,
        ...(random.int(8) === 0 ? {} : { [ZONE]: random.pick(ZONES) }),
        disk: random.pick(["ssd", "hdd"]),
        ...(random.int(3) === 0 ? { size: String(random.int(5)) } : {}),
      },
    },
    spec: {
      taints: random.int(3) === 0 ? taints(random) : [],
      ...(random.int(12) === 0 ? { unschedulable: true } : {}),
    },
    status: {
      capacity,
      allocatable: capacity,
      conditions: [{ type: "Ready", status: "True", reason: "R", message: "" }],
    },
  } as unknown as Node;
}

/** One taint for all nodes, or one for each key. */
function taints(random: Random): Taint[] {
  const keys = random.int(4) === 0 ? TAINT_KEYS : [random.pick(TAINT_KEYS)];
  return keys.map((key) => ({
    key,
    value: random.pick(["x", "y"]),
    effect: random.pick(["NoSchedule", "PreferNoSchedule", "NoExecute"]),
  }));
}

function pod(random: Random, name: string, spec: object): Pod {
  const elsewhere = random.int(6) === 0 && !("volumes" in spec);
  const resources = resourcesOf(random);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace: elsewhere ? "other" : "default",
      labels: { app: random.pick(APPS), rev: random.pick(REVISIONS) },
    },
    spec: {
      automountServiceAccountToken: false,
      // No kubelet ends the pods: a preempted pod stays visible.
      terminationGracePeriodSeconds: 30,
      containers: [{ name: "c", image: "pause:1", resources, ports: ports(random) }],
      ...(random.int(8) === 0 ? { initContainers: [initContainer(random)] } : {}),
      ...spec,
    },
  } as unknown as Pod;
}

function resourcesOf(random: Random): object {
  const gpu = random.int(10) === 0 ? { "example.com/gpu": "1" } : {};
  const requests = {
    cpu: random.pick(["100m", "500m", "1", "2"]),
    memory: random.pick(["128Mi", "1Gi", "3Gi"]),
    ...gpu,
  };
  return random.int(8) === 0 ? {} : { requests, limits: gpu };
}

/** An init container, or a sidecar. */
function initContainer(random: Random): object {
  return {
    name: "i",
    image: "pause:1",
    resources: { requests: { cpu: random.pick(["300m", "3"]), memory: "256Mi" } },
    ...(random.int(2) === 0 ? { restartPolicy: "Always" } : {}),
  };
}

function ports(random: Random): object[] {
  if (random.int(6) !== 0) return [];
  const hostPort = random.pick([8080, 8081]);
  const protocol = random.pick(["TCP", "TCP", "UDP"]);
  const hostIP = random.pick(["", "", "10.0.0.1", "10.0.0.2"]);
  return [{ containerPort: hostPort, hostPort, protocol, ...(hostIP === "" ? {} : { hostIP }) }];
}

function pendingTerms(random: Random): object {
  return {
    ...(random.int(5) === 0 ? { nodeSelector: { disk: random.pick(["ssd", "hdd"]) } } : {}),
    ...(random.int(3) === 0 ? { tolerations: tolerations(random) } : {}),
    ...(random.int(2) === 0 ? { affinity: affinity(random) } : {}),
    ...(random.int(3) === 0 ? { topologySpreadConstraints: spread(random) } : {}),
  };
}

function tolerations(random: Random): object[] {
  return Array.from({ length: 1 + random.int(2) }, () => {
    const key = random.pick(TAINT_KEYS);
    const value = random.pick(["x", "y"]);
    return random.pick<object>([
      { key, operator: "Exists" },
      { key, operator: "Exists", effect: "NoExecute", tolerationSeconds: 60 },
      { key, operator: "Equal", value, effect: "NoSchedule" },
      { key, value },
      { operator: "Exists", effect: random.pick(["NoSchedule", "PreferNoSchedule"]) },
      { operator: "Exists" },
    ]);
  });
}

function budget(random: Random, name: string): PodDisruptionBudget {
  return {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name, namespace: "default" },
    spec: { selector: { matchLabels: { app: random.pick(APPS) } }, maxUnavailable: 1 },
    status: {
      disruptionsAllowed: random.int(2),
      currentHealthy: 1,
      desiredHealthy: 1,
      expectedPods: 1,
      observedGeneration: 1,
    },
  };
}
