/**
 * Generated scheduling problems: a few nodes, pods on them, one pending pod. A case is made of its seed
 * alone, so only the answers need to be recorded.
 */
import type { Node, Taint } from "../../../src/apis/core/node.ts";
import type { Pod } from "../../../src/apis/core/pod.ts";
import { Random } from "../../../src/base/random.ts";

export interface SchedulingCase {
  readonly nodes: readonly Node[];
  readonly placed: readonly Pod[];
  readonly pending: Pod;
}

const ZONE = "topology.kubernetes.io/zone";
const HOSTNAME = "kubernetes.io/hostname";
const APPS = ["web", "db", "job"];
const ZONES = ["a", "b", "c"];

/** Case `index`; names are unique to it, so that cases can follow each other on one cluster. */
export function schedulingCase(index: number): SchedulingCase {
  const random = new Random(`scheduling/${index}`);
  const nodes = Array.from({ length: 2 + random.int(4) }, (_, at) =>
    node(random, `n${index}-${at}`),
  );
  const placed = Array.from({ length: random.int(7) }, (_, at) => {
    const nodeName = random.pick(nodes).metadata.name;
    return pod(random, `p${index}-${at}`, { nodeName, ...placedTerms(random) });
  });
  return { nodes, placed, pending: pod(random, `x${index}`, pendingTerms(random)) };
}

function node(random: Random, name: string): Node {
  const capacity = {
    cpu: random.pick(["2", "4", "8"]),
    memory: random.pick(["4Gi", "8Gi", "16Gi"]),
    pods: random.pick(["3", "10", "110"]),
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
      taints: random.int(3) === 0 ? [taint(random)] : [],
      ...(random.int(12) === 0 ? { unschedulable: true } : {}),
    },
    status: {
      capacity,
      allocatable: capacity,
      conditions: [{ type: "Ready", status: "True", reason: "R", message: "" }],
    },
  } as unknown as Node;
}

function taint(random: Random): Taint {
  return {
    key: random.pick(["team", "spot"]),
    value: random.pick(["x", "y"]),
    effect: random.pick(["NoSchedule", "PreferNoSchedule", "NoExecute"]),
  };
}

function pod(random: Random, name: string, spec: object): Pod {
  const gpu = random.int(10) === 0 ? { "example.com/gpu": "1" } : {};
  const requests = {
    cpu: random.pick(["100m", "500m", "1", "2"]),
    memory: random.pick(["128Mi", "1Gi", "3Gi"]),
    ...gpu,
  };
  const resources = random.int(8) === 0 ? {} : { requests, limits: gpu };
  const hostPort = random.pick([8080, 8081]);
  const ports = random.int(8) === 0 ? [{ containerPort: hostPort, hostPort, protocol: "TCP" }] : [];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", labels: { app: random.pick(APPS) } },
    spec: {
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 0,
      containers: [{ name: "c", image: "pause:1", resources, ports }],
      ...spec,
    },
  } as unknown as Pod;
}

/** Pods that are there already draw others nearer or keep them away. */
function placedTerms(random: Random): object {
  return random.int(3) === 0 ? { affinity: podAffinity(random) } : {};
}

function pendingTerms(random: Random): object {
  return {
    ...(random.int(5) === 0 ? { nodeSelector: { disk: random.pick(["ssd", "hdd"]) } } : {}),
    ...(random.int(3) === 0 ? { tolerations: [toleration(random)] } : {}),
    ...(random.int(2) === 0 ? { affinity: affinity(random) } : {}),
    ...(random.int(3) === 0 ? { topologySpreadConstraints: spread(random) } : {}),
  };
}

function toleration(random: Random): object {
  const key = random.pick(["team", "spot"]);
  return random.int(2) === 0
    ? { key, operator: "Exists" }
    : { key, operator: "Equal", value: random.pick(["x", "y"]), effect: "NoSchedule" };
}

function affinity(random: Random): object {
  const kind = random.int(3);
  if (kind === 0) return { nodeAffinity: nodeAffinity(random) };
  if (kind === 1) return podAffinity(random);
  return { nodeAffinity: nodeAffinity(random), ...podAffinity(random) };
}

function nodeAffinity(random: Random): object {
  const expression = (): object =>
    random.pick([
      { key: "disk", operator: "In", values: ["ssd"] },
      { key: "disk", operator: "NotIn", values: ["ssd"] },
      { key: "size", operator: "Exists" },
      { key: "size", operator: "DoesNotExist" },
      { key: "size", operator: "Gt", values: ["1"] },
      { key: "size", operator: "Lt", values: ["3"] },
      { key: ZONE, operator: "In", values: ["a", "b"] },
    ]);
  const term = (): object => ({
    matchExpressions: Array.from({ length: 1 + random.int(2) }, expression),
  });
  if (random.int(2) === 0) {
    const nodeSelectorTerms = Array.from({ length: 1 + random.int(2) }, term);
    return { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } };
  }
  const preferred = [{ weight: 1 + random.int(100), preference: term() }];
  return { preferredDuringSchedulingIgnoredDuringExecution: preferred };
}

function podAffinity(random: Random): object {
  const term = {
    topologyKey: random.pick([ZONE, HOSTNAME]),
    labelSelector: { matchLabels: { app: random.pick(APPS) } },
  };
  const name = random.pick(["podAffinity", "podAntiAffinity"]);
  if (random.int(2) === 0)
    return { [name]: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
  const weighted = { weight: 1 + random.int(100), podAffinityTerm: term };
  return { [name]: { preferredDuringSchedulingIgnoredDuringExecution: [weighted] } };
}

function spread(random: Random): object[] {
  return Array.from({ length: 1 + random.int(2) }, (_, at) => {
    const whenUnsatisfiable = random.pick(["DoNotSchedule", "ScheduleAnyway"]);
    return {
      maxSkew: 1 + random.int(2),
      // The API wants each pair of key and policy once.
      topologyKey: at === 0 ? ZONE : HOSTNAME,
      whenUnsatisfiable,
      labelSelector: { matchLabels: { app: random.pick(APPS) } },
      ...(whenUnsatisfiable === "DoNotSchedule" && random.int(4) === 0 ? { minDomains: 2 } : {}),
      ...(random.int(3) === 0 ? { nodeAffinityPolicy: random.pick(["Honor", "Ignore"]) } : {}),
      ...(random.int(3) === 0 ? { nodeTaintsPolicy: random.pick(["Honor", "Ignore"]) } : {}),
    };
  });
}
