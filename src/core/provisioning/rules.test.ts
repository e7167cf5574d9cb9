import { describe, expect, it } from "vitest";
import type { Pod } from "../../apis/core/pod.ts";
import {
  instanceType,
  nodeClaim,
  nodeView,
  pod,
  pods,
  poolInput,
  SCHEDULING_OPTIONS,
  schedulingInput,
} from "../../testing/builders.ts";
import { nodeView as viewOf } from "../state/node-view.ts";
import type { SchedulingInput } from "./scheduling-input.ts";
import { solve } from "./solve.ts";

const ZONE = "topology.kubernetes.io/zone";
const ARCH = "kubernetes.io/arch";

const solved = (options: Partial<SchedulingInput>) => solve(schedulingInput(options));

/**
 * The plan as text: `pool: pods` for each planned node, then `node <- pods`, then `pod!` for each pod without a place.
 */
function where(options: Partial<SchedulingInput>): string[] {
  const { newClaims, existing, unschedulable } = solved(options);
  const names = (list: readonly Pod[]) => list.map((one) => one.metadata.name).join(" ");
  return [
    ...newClaims.map((one) => `${one.pool.name}: ${names(one.pods)}`),
    ...existing.map((one) => `${one.nodeName} <- ${names(one.pods)}`),
    ...unschedulable.map((one) => `${one.pod.metadata.name}!`),
  ];
}

describe("a pool", () => {
  it("matches a node selector with its own template labels only", () => {
    const pools = [poolInput({ name: "web", labels: { team: "web" } }), poolInput({ name: "any" })];
    const one = pod({ spec: { nodeSelector: { team: "web" } } });
    expect(where({ pods: [one], pools })).toEqual(["web: pod"]);
    expect(where({ pods: [pod({ spec: { nodeSelector: { team: "db" } } })], pools })).toEqual([
      "pod!",
    ]);
  });

  it("of v1alpha5 takes no pods that select a NodePool, and the other way round", () => {
    const pools = [
      poolInput({ name: "old", id: "provisioner/old", generation: "alpha", weight: 1 }),
      poolInput({ name: "new" }),
    ];
    const asks = (label: string, name: string) =>
      pod({ spec: { nodeSelector: { [`karpenter.sh/${label}`]: name } } });
    expect(where({ pods: [asks("nodepool", "new")], pools })).toEqual(["new: pod"]);
    expect(where({ pods: [asks("nodepool", "old")], pools })).toEqual(["pod!"]);
    expect(where({ pods: [asks("provisioner-name", "old")], pools })).toEqual(["old: pod"]);
    expect(where({ pods: [asks("provisioner-name", "new")], pools })).toEqual(["pod!"]);
    const [claim] = solved({ pods: [asks("nodepool", "new")], pools }).newClaims;
    const keys = claim?.requirements.map(({ key }) => key);
    expect(keys).toContain("karpenter.sh/nodepool");
    expect(keys).not.toContain("karpenter.sh/provisioner-name");
  });

  it("takes pods that do not tolerate its startup taints", () => {
    const startupTaints = [{ key: "cni", effect: "NoSchedule" as const }];
    expect(where({ pods: [pod()], pools: [poolInput({ startupTaints })] })).toEqual([
      "default: pod",
    ]);
  });

  it("excludes instance types by Gt, Gte, Lt and Lte bounds on their labels", () => {
    const types = [2, 4, 8].map((cpu) => instanceType({ cpu, labels: { "x/cpu": [String(cpu)] } }));
    const between = (...specs: [operator: "Gt" | "Lt" | "Gte" | "Lte", bound: string][]) =>
      solved({
        pods: [pod()],
        pools: [
          poolInput(
            {
              requirements: specs.map(([operator, bound]) => ({
                key: "x/cpu",
                operator,
                values: [bound],
              })),
            },
            types,
          ),
        ],
      }).newClaims[0]?.instanceTypes.map(({ name }) => name);
    expect(between(["Gt", "2"])).toEqual(["m-4x", "m-8x"]);
    expect(between(["Gte", "4"], ["Lt", "8"])).toEqual(["m-4x"]);
    expect(between(["Lte", "2"])).toEqual(["m-2x"]);
    expect(between(["Gt", "4"], ["Lt", "8"])).toEqual(undefined);
  });
});

describe("DaemonSet pods", () => {
  const owner = { kind: "DaemonSet", name: "agent" };
  const types = [
    instanceType({ name: "arm", cpu: 2, arch: "arm64" }),
    instanceType({ name: "amd", cpu: 2, priceMicroUsd: 500_000 }),
  ];

  it("count only on instance types that they run on", () => {
    const daemon = pod({
      name: "agent",
      cpu: "1",
      owner,
      spec: { nodeSelector: { [ARCH]: "arm64" } },
    });
    const { newClaims } = solved({
      pods: [pod({ cpu: "1500m" })],
      pools: [poolInput({}, types)],
      daemonPods: [daemon],
    });
    expect(newClaims[0]?.instanceTypes.map(({ name }) => name)).toEqual(["amd"]);
    expect(newClaims[0]?.requests["cpu"]).toBe(1_500);
    const small = solved({
      pods: [pod({ cpu: "500m" })],
      pools: [poolInput({}, types)],
      daemonPods: [daemon],
    });
    expect(small.newClaims[0]?.instanceTypes.map(({ name }) => name)).toEqual(["arm", "amd"]);
    // The claim's requests include the smaller daemon overhead of the two types.
    for (const arch of ["arm64", "amd64"]) {
      const some = [
        pod({ name: "agent", cpu: "1", owner, spec: { nodeSelector: { [ARCH]: arch } } }),
      ];
      const either = solved({
        pods: [pod({ cpu: "500m" })],
        pools: [poolInput({}, types)],
        daemonPods: [...some, pod({ name: "everywhere", cpu: "100m", owner })],
      });
      expect(either.newClaims[0]?.instanceTypes).toHaveLength(2);
      expect(either.newClaims[0]?.requests["cpu"]).toBe(600);
    }
  });

  it("count also if they select initialized nodes", () => {
    const spec = {
      nodeSelector: { "karpenter.sh/registered": "true", "karpenter.sh/initialized": "true" },
    };
    const daemonPods = [pod({ name: "agent", cpu: "1", owner, spec })];
    const { newClaims } = solved({ pods: [pod({ cpu: "1" })], daemonPods });
    expect(newClaims[0]?.requests["cpu"]).toBe(2_000);
  });

  it("do not count if all of their node affinity terms are empty", () => {
    const agent = (...terms: readonly object[]) => {
      const required = { nodeSelectorTerms: terms };
      const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: required };
      return [pod({ name: "agent", cpu: "3", owner, spec: { affinity: { nodeAffinity } } })];
    };
    const onLinux = { matchExpressions: [{ key: "kubernetes.io/os", operator: "Exists" }] };
    const asked = (...terms: readonly object[]) =>
      solved({ pods: [pod({ cpu: "1" })], daemonPods: agent(...terms) }).newClaims[0]?.requests[
        "cpu"
      ];
    expect(asked({}, { matchExpressions: [] })).toBe(1_000);
    expect(asked({}, onLinux)).toBe(4_000);
    const there = (...terms: readonly object[]) => {
      const daemonPods = agent(...terms);
      return where({ pods: [pod({ cpu: "2" })], nodes: [nodeView()], daemonPods });
    };
    expect(there({})).toEqual(["node <- pod"]);
    expect(there({}, onLinux)).toEqual(["default: pod"]);
  });

  it("count by matchFields on existing nodes of that name, but not on new nodes", () => {
    const named = (operator: "In" | "NotIn", name: string) => ({
      matchFields: [{ key: "metadata.name", operator, values: [name] }],
    });
    const agent = (...terms: readonly object[]) => {
      const required = { nodeSelectorTerms: terms };
      const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: required };
      return [pod({ name: "agent", cpu: "3", owner, spec: { affinity: { nodeAffinity } } })];
    };
    const onLinux = {
      matchExpressions: [{ key: "kubernetes.io/os", operator: "Exists" as const }],
    };
    const asked = (...terms: readonly object[]) =>
      solved({ pods: [pod({ cpu: "1" })], daemonPods: agent(...terms) }).newClaims[0]?.requests[
        "cpu"
      ];
    expect(asked(named("In", "node"))).toBe(1_000);
    expect(asked({ ...onLinux, ...named("In", "node") })).toBe(1_000);
    expect(asked(named("NotIn", "node"))).toBe(4_000);
    expect(asked(named("In", "node"), onLinux)).toBe(4_000);
    const there = (...terms: readonly object[]) => {
      const daemonPods = agent(...terms);
      return where({ pods: [pod({ cpu: "2" })], nodes: [nodeView()], daemonPods });
    };
    expect(there(named("In", "node"))).toEqual(["default: pod"]);
    expect(there(named("In", "other"))).toEqual(["node <- pod"]);
    expect(there(named("NotIn", "node"))).toEqual(["node <- pod"]);
    expect(there(named("In", "other"), onLinux)).toEqual(["default: pod"]);
  });

  it("do not count on new nodes if they have ResourceClaims", () => {
    const spec = { resourceClaims: [{ name: "gpu" }] };
    const daemonPods = [pod({ name: "agent", cpu: "1", owner, spec })];
    const { newClaims } = solved({ pods: [pod({ cpu: "1" })], daemonPods });
    expect(newClaims[0]?.requests["cpu"]).toBe(1_000);
  });

  it("count on pools with a PreferNoSchedule taint", () => {
    const taints = [{ key: "busy", effect: "PreferNoSchedule" as const }];
    const daemonPods = [pod({ name: "agent", cpu: "1", owner })];
    const { newClaims } = solved({
      pods: [pod({ cpu: "1" })],
      pools: [poolInput({ taints })],
      daemonPods,
    });
    expect(newClaims[0]?.requests["cpu"]).toBe(2_000);
  });

  it("hold their host ports only on the types that they run on", () => {
    const ports = {
      containers: [{ name: "c", image: "x", ports: [{ containerPort: 80, hostPort: 80 }] }],
    };
    const daemon = pod({
      name: "agent",
      owner,
      spec: { ...ports, nodeSelector: { [ARCH]: "arm64" } },
    });
    const { newClaims } = solved({
      pods: [pod({ spec: ports })],
      pools: [poolInput({}, types)],
      daemonPods: [daemon],
    });
    expect(newClaims[0]?.instanceTypes.map(({ name }) => name)).toEqual(["amd"]);
  });
});

describe("nodes that have not joined yet", () => {
  const claim = nodeClaim({
    name: "new",
    startupTaints: [{ key: "cni", effect: "NoSchedule" }],
    labels: { [ZONE]: "zone-a" },
    status: {
      capacity: { cpu: "4", memory: "16Gi", pods: "110" },
      allocatable: { cpu: "3", memory: "15Gi", pods: "110" },
    },
  });
  const inFlight = viewOf({ node: undefined, claim, pods: [], marked: false, nominatedUntilMs: 9 });

  it("take pending pods up to their allocatable, also while nominated", () => {
    expect(where({ pods: pods(2, { cpu: "1" }), nodes: [inFlight] })).toEqual([
      "new <- pod-0 pod-1",
    ]);
    expect(where({ pods: pods(2, { cpu: "2" }), nodes: [inFlight] })).toEqual([
      "default: pod-1",
      "new <- pod-0",
    ]);
  });

  it("are used after initialized nodes", () => {
    const ready = nodeView({ node: { name: "z-ready" } });
    expect(where({ pods: [pod()], nodes: [inFlight, ready] })).toEqual(["z-ready <- pod"]);
  });
});

describe("pods of a node that is being deleted", () => {
  it("are planned for another node, and do not count on the old one", () => {
    const running = pod({ name: "moving", cpu: "3", nodeName: "old" });
    const leaving = nodeView({ node: { name: "old" }, pods: [running], deleting: true });
    const other = nodeView({ node: { name: "stays" } });
    expect(where({ pods: [running, pod()], nodes: [leaving, other] })).toEqual([
      "stays <- moving pod",
    ]);
  });
});

describe("preferences", () => {
  const prefer = (zone: string, weight: number) => ({
    weight,
    preference: { matchExpressions: [{ key: ZONE, operator: "In" as const, values: [zone] }] },
  });
  const choosy = (
    ...preferredDuringSchedulingIgnoredDuringExecution: ReturnType<typeof prefer>[]
  ) =>
    pod({
      spec: { affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution } } },
    });

  it("are tried by weight, and ignored under preference policy Ignore", () => {
    const one = choosy(prefer("zone-b", 1), prefer("zone-c", 9));
    expect(solved({ pods: [one] }).newClaims[0]?.cheapest.zone).toBe("zone-c");
    const options = { ...SCHEDULING_OPTIONS, preferencePolicy: "Ignore" as const };
    expect(solved({ pods: [one], options }).newClaims[0]?.cheapest.zone).toBe("zone-a");
  });

  it("for pod affinity are dropped before those for pod anti-affinity", () => {
    const term = { topologyKey: ZONE, labelSelector: { matchLabels: { app: "db" } } };
    const wish = {
      preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: term }],
    };
    const torn = pod({ spec: { affinity: { podAffinity: wish, podAntiAffinity: wish } } });
    const running = pod({ name: "db", cpu: "4", labels: { app: "db" }, nodeName: "node" });
    const { newClaims } = solved({ pods: [torn], nodes: [nodeView({ pods: [running] })] });
    expect(newClaims[0]?.cheapest.zone).toBe("zone-b");
  });

  it("for pod anti-affinity are dropped if no other node can be launched", () => {
    const apart = {
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          {
            weight: 1,
            podAffinityTerm: {
              topologyKey: "kubernetes.io/hostname",
              labelSelector: { matchLabels: { app: "web" } },
            },
          },
        ],
      },
    };
    const batch = pods(2, { labels: { app: "web" }, spec: { affinity: apart } });
    expect(where({ pods: batch })).toEqual(["default: pod-0", "default: pod-1"]);
    const pools = [poolInput({ limits: { nodes: 1 } })];
    expect(where({ pods: batch, pools })).toEqual(["default: pod-0 pod-1"]);
  });
});

describe("label keys of a pod anti-affinity term", () => {
  const batch = (name: string, color: string, keys: object) =>
    pod({
      name,
      labels: { app: "web", color },
      spec: {
        affinity: {
          podAntiAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [
              {
                topologyKey: "kubernetes.io/hostname",
                labelSelector: { matchLabels: { app: "web" } },
                ...keys,
              },
            ],
          },
        },
      },
    });
  const colors = ["blue", "blue", "red"];

  it("with matchLabelKeys keep away pods that have the pod's own values", () => {
    const all = colors.map((color, index) =>
      batch(`${color}-${index}`, color, { matchLabelKeys: ["color"] }),
    );
    expect(where({ pods: all })).toEqual(["default: blue-0 red-2", "default: blue-1"]);
  });

  it("with mismatchLabelKeys keep away pods that have other values", () => {
    const all = colors.map((color, index) =>
      batch(`${color}-${index}`, color, { mismatchLabelKeys: ["color"] }),
    );
    expect(where({ pods: all })).toEqual(["default: blue-0 blue-1", "default: red-2"]);
  });
});

describe("what a pod requests decides its node", () => {
  const requests = (cpu: string) => ({ name: "c", resources: { requests: { cpu } } });
  const types = [2, 4, 8].map((cpu) => instanceType({ cpu }));
  const typeOf = (spec: Partial<Pod["spec"]>) =>
    solved({ pods: [pod({ spec })], pools: [poolInput({}, types)] }).newClaims[0]?.cheapest
      .instanceType;

  it("by init containers, sidecars, overhead and pod-level requests", () => {
    const containers = [requests("1500m")];
    const sidecar = { ...requests("1"), name: "s", restartPolicy: "Always" as const };
    expect(typeOf({ containers })).toBe("m-2x");
    expect(typeOf({ containers, initContainers: [{ ...requests("3"), name: "i" }] })).toBe("m-4x");
    expect(typeOf({ containers, initContainers: [sidecar] })).toBe("m-4x");
    expect(typeOf({ containers, overhead: { cpu: "1" } })).toBe("m-4x");
    expect(typeOf({ containers, resources: { requests: { cpu: "6" } } })).toBe("m-8x");
  });

  it("by allocatedResources of running pods that are being resized", () => {
    const running = pod({ name: "resized", nodeName: "n", cpu: "1" });
    const held = (cpu: string) => ({
      ...running,
      status: {
        ...running.status,
        containerStatuses: [
          {
            name: running.spec.containers[0]?.name ?? "",
            ready: true,
            allocatedResources: { cpu },
          },
        ],
      },
    });
    const nodes = (cpu: string) => [
      nodeView({
        node: { name: "n", capacity: { cpu: "4", memory: "16Gi", pods: "9" } },
        pods: [held(cpu)],
      }),
    ];
    expect(where({ pods: [pod({ cpu: "2" })], nodes: nodes("1") })).toEqual(["n <- pod"]);
    expect(where({ pods: [pod({ cpu: "2" })], nodes: nodes("3") })).toEqual(["default: pod"]);
  });

  it("by the zones that the StorageClass of its ephemeral volume allows", () => {
    const volumes = {
      claims: [],
      volumes: [],
      csiNodes: [],
      classes: [
        {
          metadata: { name: "zonal" },
          provisioner: "disk",
          volumeBindingMode: "WaitForFirstConsumer" as const,
          allowedTopologies: [{ matchLabelExpressions: [{ key: ZONE, values: ["zone-c"] }] }],
        },
      ],
    };
    const volumeClaimTemplate = { spec: { storageClassName: "zonal" } };
    const spec = { volumes: [{ name: "scratch", ephemeral: { volumeClaimTemplate } }] };
    expect(solved({ pods: [pod({ spec })], volumes }).newClaims[0]?.cheapest.zone).toBe("zone-c");
  });
});
