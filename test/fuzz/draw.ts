/**
 * Draws a random scenario from a seed: pods of every constraint kind, NodePools, nodes with pods, DaemonSets and a
 * catalogue, as the manifests that a user would write. Scenarios are small, so that a person can read a wrong plan.
 */
import { Random } from "../../src/base/random.ts";
import type { Json } from "../validator/kubernetes.ts";
import type { Scenario } from "../validator/validate.ts";

const ZONE = "topology.kubernetes.io/zone";
const HOSTNAME = "kubernetes.io/hostname";
const CAPACITY_TYPE = "karpenter.sh/capacity-type";
const ZONES = ["zone-a", "zone-b", "zone-c"];
const APPS = ["a", "b", "c", "d"];

export function drawScenario(seed: number): Scenario {
  const draw = new Draw(seed);
  const instanceTypes = draw.types();
  const pools = draw.pools();
  const nodes = draw.nodes();
  const pods = [
    ...nodes.flatMap((node, index) => draw.running(node, index)),
    ...draw.deployments(),
  ];
  const namespaces = [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "default" } },
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "other", labels: { team: "blue" } } },
  ];
  return {
    manifests: [...namespaces, ...pools, ...draw.daemonSets(), ...nodes, ...pods],
    instanceTypes,
  };
}

class Draw {
  readonly #random: Random;
  #pods = 0;

  constructor(seed: number) {
    this.#random = new Random(seed * 7919 + 1);
  }

  /** True with probability 1 / `times`. */
  #once(times: number): boolean {
    return this.#random.int(times) === 0;
  }

  #pick<T>(values: readonly T[]): T {
    return this.#random.pick(values);
  }

  types(): Json[] {
    const count = 1 + this.#random.int(8);
    return Array.from({ length: count }, (_, index) => {
      const cpu = this.#pick([1, 2, 4, 8, 16, 32]);
      const memory = cpu * this.#pick([2, 4, 8]);
      const zones = ZONES.filter(() => !this.#once(4));
      if (zones.length === 0) zones.push(this.#pick(ZONES));
      const base = cpu * 30_000 + memory * 4_000;
      const price = Math.round((base * (80 + this.#random.int(60))) / 100);
      const kinds = this.#once(4)
        ? ["on-demand"]
        : this.#once(8)
          ? ["spot"]
          : ["on-demand", "spot"];
      return {
        name: `type-${index}`,
        labels: {
          "kubernetes.io/arch": this.#once(4) ? "arm64" : "amd64",
          "kubernetes.io/os": "linux",
          "example.com/size": cpu > 4 ? "large" : "small",
          "example.com/cores": String(cpu),
        },
        capacity: {
          cpu: String(cpu),
          memory: `${memory}Gi`,
          pods: String(this.#pick([5, 20, 110])),
        },
        overhead: this.#once(2) ? {} : { cpu: "100m", memory: "200Mi" },
        offerings: zones.flatMap((zone) =>
          kinds.map((capacityType) => ({
            zone,
            capacityType,
            priceMicroUsdPerHour: Math.round(
              (price * (capacityType === "spot" ? 0.4 : 1) * (100 + this.#random.int(5))) / 100,
            ),
            ...(this.#once(12) ? { available: false } : {}),
          })),
        ),
      };
    });
  }

  pools(): Json[] {
    const count = this.#pick([1, 1, 2, 3]);
    return Array.from({ length: count }, (_, index) => {
      const requirements: Json[] = [];
      if (this.#once(4))
        requirements.push({
          key: ZONE,
          operator: "In",
          values: ZONES.slice(0, 1 + this.#random.int(2)),
        });
      if (this.#once(4))
        requirements.push({ key: CAPACITY_TYPE, operator: "In", values: ["on-demand"] });
      if (this.#once(6))
        requirements.push({
          key: "example.com/cores",
          operator: this.#pick(["Gt", "Lt"]),
          values: ["4"],
        });
      if (this.#once(6))
        requirements.push({ key: "example.com/team", operator: "In", values: ["red", "blue"] });
      if (this.#once(8)) {
        requirements.push({
          key: "node.kubernetes.io/instance-type",
          operator: "Exists",
          minValues: this.#pick([1, 2, 3]),
        });
      }
      const limits: Json = {};
      if (this.#once(5)) limits.cpu = this.#pick(["8", "40"]);
      if (this.#once(8)) limits.nodes = this.#pick(["1", "3"]);
      const taints: Json[] = [];
      if (this.#once(5))
        taints.push({
          key: "dedicated",
          value: "x",
          effect: this.#pick(["NoSchedule", "NoExecute"]),
        });
      if (this.#once(8)) taints.push({ key: "soft", effect: "PreferNoSchedule" });
      return {
        apiVersion: "karpenter.sh/v1",
        kind: "NodePool",
        metadata: { name: `pool-${index}` },
        spec: {
          ...(count > 1 ? { weight: this.#pick([1, 10, 50]) } : {}),
          ...(Object.keys(limits).length > 0 ? { limits } : {}),
          template: {
            metadata: { labels: this.#once(4) ? { tier: this.#pick(["gold", "tin"]) } : {} },
            spec: {
              nodeClassRef: { group: "fuzz.sh", kind: "FuzzClass", name: "default" },
              requirements,
              ...(taints.length > 0 ? { taints } : {}),
              ...(this.#once(6)
                ? { startupTaints: [{ key: "starting", effect: "NoSchedule" }] }
                : {}),
              expireAfter: "Never",
            },
          },
        },
      };
    });
  }

  nodes(): Json[] {
    const count = this.#pick([0, 0, 1, 2, 3]);
    return Array.from({ length: count }, (_, index) => ({
      apiVersion: "v1",
      kind: "Node",
      metadata: {
        name: `node-${index}`,
        labels: {
          [HOSTNAME]: `node-${index}`,
          [ZONE]: this.#pick(ZONES),
          [CAPACITY_TYPE]: "on-demand",
          "kubernetes.io/arch": "amd64",
          "kubernetes.io/os": "linux",
          "node.kubernetes.io/instance-type": "old",
          ...(this.#once(3) ? { tier: "gold" } : {}),
        },
      },
      spec: {
        providerID: `fuzz://node-${index}`,
        ...(this.#once(4)
          ? { taints: [{ key: "dedicated", value: "x", effect: "NoSchedule" }] }
          : {}),
      },
      status: {
        capacity: { cpu: "4", memory: "8Gi", pods: "10" },
        allocatable: { cpu: this.#pick(["1", "4"]), memory: "8Gi", pods: "10" },
        conditions: [{ type: "Ready", status: "True" }],
      },
    }));
  }

  running(node: Json, index: number): Json[] {
    if (this.#once(2)) return [];
    const app = this.#pick(APPS);
    const pod = this.#pod(`old-${index}`, app, this.#pick(["default", "default", "other"]), {
      containers: [container({ cpu: "250m", memory: "256Mi" })],
      ...(this.#once(4) ? { affinity: { podAntiAffinity: this.#near(HOSTNAME, app) } } : {}),
    });
    pod.spec.nodeName = node.metadata.name;
    pod.status = { phase: "Running" };
    return [pod];
  }

  daemonSets(): Json[] {
    if (!this.#once(3)) return [];
    const tolerations = this.#once(2) ? { tolerations: [{ operator: "Exists" }] } : {};
    const selector = this.#once(3) ? { nodeSelector: { "example.com/size": "large" } } : {};
    const ports = this.#once(4) ? { ports: [{ containerPort: 80, hostPort: 80 }] } : {};
    return [
      {
        apiVersion: "apps/v1",
        kind: "DaemonSet",
        metadata: { name: "agent", namespace: "default" },
        spec: {
          selector: { matchLabels: { app: "agent" } },
          template: {
            metadata: { labels: { app: "agent" } },
            spec: {
              containers: [{ ...container({ cpu: "200m", memory: "300Mi" }), ...ports }],
              ...tolerations,
              ...selector,
            },
          },
        },
      },
    ];
  }

  deployments(): Json[] {
    const count = 1 + this.#random.int(5);
    return Array.from({ length: count }).flatMap(() => {
      const app = this.#pick(APPS);
      const namespace = this.#pick(["default", "default", "default", "other"]);
      const spec = this.#spec(app);
      const version = this.#pick(["v1", "v2"]);
      const replicas = 1 + this.#random.int(this.#once(5) ? 20 : 6);
      return Array.from({ length: replicas }, () => {
        const pod = this.#pod(`${app}-${this.#pods++}`, app, namespace, spec);
        pod.metadata.labels.version = version;
        return pod;
      });
    });
  }

  #pod(name: string, app: string, namespace: string, spec: Json): Json {
    return {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace, labels: { app }, uid: `uid-${namespace}-${name}` },
      spec: JSON.parse(JSON.stringify(spec)),
    };
  }

  #spec(app: string): Json {
    const requests = {
      cpu: this.#pick(["100m", "250m", "900m", "1500m", "3", "7"]),
      memory: this.#pick(["64Mi", "512Mi", "2Gi", "6Gi", "20Gi"]),
    };
    const spec: Json = { containers: [container(requests)] };
    if (this.#once(12)) spec.initContainers = [{ ...container({ cpu: "2" }), name: "init" }];
    if (this.#once(16)) {
      spec.initContainers = [
        { ...container({ cpu: "200m" }), name: "side", restartPolicy: "Always" },
      ];
    }
    if (this.#once(16)) spec.overhead = { cpu: "150m" };
    if (this.#once(10))
      spec.containers[0].ports = [{ containerPort: 80, hostPort: this.#pick([80, 443]) }];
    if (this.#once(3)) spec.tolerations = [{ key: "dedicated", operator: "Exists" }];
    if (this.#once(4)) spec.nodeSelector = this.#selector();
    const affinity: Json = {};
    if (this.#once(5)) affinity.nodeAffinity = this.#nodeAffinity();
    if (this.#once(5)) affinity.podAntiAffinity = this.#terms(app);
    if (this.#once(6)) affinity.podAffinity = this.#terms(app);
    if (Object.keys(affinity).length > 0) spec.affinity = affinity;
    if (this.#once(3)) {
      spec.topologySpreadConstraints = [this.#spread(app)];
      if (this.#once(4)) {
        const more = this.#spread(app);
        if (more.topologyKey !== spec.topologySpreadConstraints[0].topologyKey)
          spec.topologySpreadConstraints.push(more);
      }
    }
    return spec;
  }

  #selector(): Json {
    return this.#pick<Json>([
      { [ZONE]: this.#pick(ZONES) },
      { "kubernetes.io/arch": "arm64" },
      { [CAPACITY_TYPE]: this.#pick(["spot", "on-demand"]) },
      { tier: "gold" },
      { "example.com/team": "red" },
      { "example.com/size": "large" },
    ]);
  }

  #expression(): Json {
    return this.#pick<Json>([
      { key: ZONE, operator: "In", values: [this.#pick(ZONES), "zone-b"] },
      { key: ZONE, operator: "NotIn", values: [this.#pick(ZONES)] },
      { key: "example.com/cores", operator: "Gt", values: ["2"] },
      { key: "example.com/cores", operator: "Lt", values: ["16"] },
      { key: "example.com/team", operator: "Exists" },
      { key: "tier", operator: "DoesNotExist" },
      { key: CAPACITY_TYPE, operator: "In", values: ["spot"] },
      { key: "kubernetes.io/arch", operator: "In", values: ["amd64"] },
    ]);
  }

  #nodeAffinity(): Json {
    const affinity: Json = {};
    if (this.#once(2)) {
      const nodeSelectorTerms = Array.from({ length: this.#pick([1, 2]) }, () => ({
        matchExpressions: Array.from({ length: this.#pick([1, 2]) }, () => this.#expression()),
      }));
      affinity.requiredDuringSchedulingIgnoredDuringExecution = { nodeSelectorTerms };
    } else {
      affinity.preferredDuringSchedulingIgnoredDuringExecution = Array.from(
        { length: this.#pick([1, 2]) },
        () => ({
          weight: this.#pick([1, 50]),
          preference: { matchExpressions: [this.#expression()] },
        }),
      );
    }
    return affinity;
  }

  #terms(app: string): Json {
    const key = this.#pick([ZONE, HOSTNAME, HOSTNAME, CAPACITY_TYPE]);
    const terms = this.#near(key, this.#once(3) ? this.#pick(APPS) : app);
    if (!this.#once(4)) return terms;
    const [podAffinityTerm] = terms.requiredDuringSchedulingIgnoredDuringExecution;
    return { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 10, podAffinityTerm }] };
  }

  #near(topologyKey: string, app: string): Json {
    const term: Json = { topologyKey, labelSelector: { matchLabels: { app } } };
    if (this.#once(8)) term.namespaces = ["default", "other"];
    else if (this.#random.int(8) === 1)
      term.namespaceSelector = this.#once(2) ? {} : { matchLabels: { team: "blue" } };
    if (this.#once(8)) term.matchLabelKeys = ["version"];
    else if (this.#once(10)) term.mismatchLabelKeys = ["version"];
    return { requiredDuringSchedulingIgnoredDuringExecution: [term] };
  }

  #spread(app: string): Json {
    const whenUnsatisfiable = this.#once(5) ? "ScheduleAnyway" : "DoNotSchedule";
    const topologyKey = this.#pick([ZONE, ZONE, HOSTNAME, CAPACITY_TYPE]);
    const isWide = whenUnsatisfiable === "DoNotSchedule" && topologyKey === ZONE && this.#once(5);
    return {
      maxSkew: this.#pick([1, 1, 2]),
      topologyKey,
      whenUnsatisfiable,
      ...(isWide ? { minDomains: this.#pick([2, 3, 4]) } : {}),
      labelSelector: { matchLabels: { app: this.#once(5) ? this.#pick(APPS) : app } },
      ...(this.#once(8) ? { matchLabelKeys: ["version"] } : {}),
      ...(this.#once(8) ? { nodeAffinityPolicy: "Ignore" } : {}),
      ...(this.#once(8) ? { nodeTaintsPolicy: "Honor" } : {}),
    };
  }
}

function container(requests: Json): Json {
  return { name: "main", image: "registry.k8s.io/pause:3.10", resources: { requests } };
}
