/**
 * Rules that few pods use, and upstream's defects that this project does not have. Each is tested with one small batch.
 */
import { describe, expect, it } from "vitest";
import type { Pod, TopologySpreadConstraint } from "../../apis/core/pod.ts";
import {
  instanceType,
  nodeClaim,
  nodeView,
  type PodOptions,
  pod,
  pods,
  poolInput,
  SCHEDULING_OPTIONS,
  schedulingInput,
} from "../../testing/builders.ts";
import { judgeOverlays, layOverlays } from "../cloudprovider/overlays.ts";
import type { SchedulingInput } from "./scheduling-input.ts";
import { solve } from "./solve.ts";

const ZONE = "topology.kubernetes.io/zone";
const HOSTNAME = "kubernetes.io/hostname";
const ARCH = "kubernetes.io/arch";
const TYPE = "node.kubernetes.io/instance-type";
const WEB = { matchLabels: { app: "web" } };

/**
 * The plan as sorted text: pods by `pool/zone` of a planned node (`?`: open), by name of an existing node, or `left`.
 */
function placed(input: Partial<SchedulingInput>): string[] {
  const { newClaims, existing, unschedulable } = solve(schedulingInput(input));
  const names = (list: readonly Pod[]) => list.map((one) => one.metadata.name).join(" ");
  return [
    ...newClaims.map(({ pool, requirements, pods: on }) => {
      const zone = requirements.find(({ key }) => key === ZONE)?.values?.join("/") ?? "?";
      return `${pool.name}/${zone}: ${names(on)}`;
    }),
    ...existing.map((one) => `${one.nodeName}: ${names(one.pods)}`),
    ...unschedulable.map((one) => `left: ${one.pod.metadata.name}`),
  ].sort();
}

function spread(
  constraint: Partial<TopologySpreadConstraint>,
  spec: Partial<Pod["spec"]> = {},
): PodOptions {
  const whenUnsatisfiable = "DoNotSchedule" as const;
  const rule = { maxSkew: 1, topologyKey: ZONE, whenUnsatisfiable, labelSelector: WEB };
  return {
    labels: { app: "web" },
    spec: { ...spec, topologySpreadConstraints: [{ ...rule, ...constraint }] },
  };
}

const required = (terms: readonly object[]) => ({
  requiredDuringSchedulingIgnoredDuringExecution: terms as never,
});

describe("topology", () => {
  const gpu = [{ key: "gpu", effect: "NoSchedule" as const }];
  const pools = [
    poolInput({ name: "a" }, [instanceType({ zones: ["zone-a", "zone-b"] })]),
    poolInput({ name: "g", taints: gpu }, [instanceType({ name: "g", zones: ["zone-c"] })]),
  ];

  it("counts for minDomains only the zones that nodeTaintsPolicy and nodeAffinityPolicy include", () => {
    // With taints honoured, only two zones count. That is fewer than minDomains, so each zone may have only one pod.
    const three = spread({ minDomains: 3, nodeTaintsPolicy: "Honor" });
    expect(placed({ pods: pods(3, three), pools })).toEqual([
      "a/zone-a: pod-0",
      "a/zone-b: pod-1",
      "left: pod-2",
    ]);
    const two = spread({ minDomains: 2, nodeTaintsPolicy: "Honor" });
    expect(placed({ pods: pods(4, two), pools })).toEqual([
      "a/zone-a: pod-0 pod-2",
      "a/zone-b: pod-1 pod-3",
    ]);
    // All three zones count, but the pods cannot reach one of them. It stays empty, so the others may have only one pod
    // each.
    expect(placed({ pods: pods(3, spread({ minDomains: 2 })), pools })).toEqual([
      "a/zone-a: pod-0",
      "a/zone-b: pod-1",
      "left: pod-2",
    ]);
    const inA = { nodeSelector: { [ZONE]: "zone-a" } };
    const pinned = spread({ minDomains: 2, nodeAffinityPolicy: "Honor" }, inA);
    expect(placed({ pods: pods(2, pinned), pools })).toEqual(["a/zone-a: pod-0", "left: pod-1"]);
  });

  it("keeps separate topology spread counts for each minDomains and each node selector", () => {
    const at = (name: string, minDomains: number) => pod({ ...spread({ minDomains }), name });
    expect(placed({ pods: [at("a", 9), at("b", 1), at("c", 1)] })).toEqual([
      "default/zone-a: a",
      "default/zone-b: b",
      "default/zone-c: c",
    ]);
    const arm = poolInput({ name: "arm" }, [instanceType({ name: "arm", arch: "arm64" })]);
    const of = (name: string, arch: string) =>
      pod({ ...spread({}, { nodeSelector: { [ARCH]: arch } }), name });
    expect(
      placed({ pods: [of("x", "amd64"), of("y", "arm64")], pools: [poolInput(), arm] }),
    ).toEqual(["arm/zone-a: y", "default/zone-a: x"]);
  });

  it("keeps pods out of zones with an anti-affinity that selects their namespace", () => {
    const away = (extra: object) => ({
      affinity: {
        podAntiAffinity: required([{ topologyKey: ZONE, labelSelector: WEB, ...extra }]),
      },
    });
    const namespaces = [
      { metadata: { name: "shop", labels: { tier: "front" } } },
      { metadata: { name: "default", labels: {} } },
    ];
    const hermit = (extra: object) => [
      nodeView({
        node: { name: "n", capacity: { cpu: "200m" } },
        pods: [pod({ name: "hermit", nodeName: "n", spec: away(extra) })],
      }),
    ];
    const web = pod({ name: "web", namespace: "shop", labels: { app: "web" }, cpu: "1" });
    const zones = (extra: object) => placed({ pods: [web], nodes: hermit(extra), namespaces });
    expect(zones({})).toEqual(["default/?: web"]);
    expect(zones({ namespaces: ["shop"] })).toEqual(["default/zone-b/zone-c: web"]);
    expect(zones({ namespaceSelector: { matchLabels: { tier: "front" } } })).toEqual([
      "default/zone-b/zone-c: web",
    ]);
    expect(zones({ namespaceSelector: {} })).toEqual(["default/zone-b/zone-c: web"]);
    expect(zones({ namespaceSelector: { matchLabels: { tier: "back" } } })).toEqual([
      "default/?: web",
    ]);
  });

  it("applies matchLabelKeys and mismatchLabelKeys of pod affinity to running pods", () => {
    const near = (keys: object) => ({
      affinity: {
        podAffinity: required([{ topologyKey: ZONE, labelSelector: WEB, ...keys }]),
      },
    });
    const nodes = ["blue", "red"].map((color, index) =>
      nodeView({
        node: { name: color, labels: { [ZONE]: `zone-${"bc"[index]}` }, capacity: { cpu: "100m" } },
        pods: [pod({ name: color, nodeName: color, labels: { app: "web", color } })],
      }),
    );
    const red = (keys: object) => [pod({ labels: { color: "red" }, spec: near(keys) })];
    expect(placed({ pods: red({ matchLabelKeys: ["color"] }), nodes })).toEqual([
      "default/zone-c: pod",
    ]);
    expect(placed({ pods: red({ mismatchLabelKeys: ["color"] }), nodes })).toEqual([
      "default/zone-b: pod",
    ]);
  });
});

describe("existing nodes", () => {
  it("with a PreferNoSchedule taint are used only if no new node can be launched", () => {
    const taints = [{ key: "k", effect: "PreferNoSchedule" as const }];
    const nodes = [nodeView({ node: { name: "n", taints } })];
    expect(placed({ pods: [pod()], nodes })).toEqual(["default/?: pod"]);
    expect(placed({ pods: [pod()], nodes, pools: [] })).toEqual(["n: pod"]);
  });

  it("reserve the host ports of their pods, by address and protocol", () => {
    const ports = (port: object) => ({
      containers: [
        { name: "c", image: "x", ports: [{ containerPort: 80, hostPort: 80, ...port }] },
      ],
    });
    const nodes = [
      nodeView({
        node: { name: "n" },
        pods: [pod({ name: "a", nodeName: "n", spec: ports({ hostIP: "10.0.0.1" }) })],
      }),
    ];
    const at = (port: object) => placed({ pods: [pod({ spec: ports(port) })], nodes });
    expect(at({})).toEqual(["default/?: pod"]);
    expect(at({ hostIP: "10.0.0.2" })).toEqual(["n: pod"]);
    expect(at({ hostIP: "10.0.0.1", protocol: "UDP" })).toEqual(["n: pod"]);
  });

  it("that are registered but not initialized are planned without their startup taints", () => {
    const startupTaints = [{ key: "cni", effect: "NoSchedule" as const }];
    const labels = { "karpenter.sh/registered": "true", "karpenter.sh/nodepool": "default" };
    const taints = [
      ...startupTaints,
      { key: "node.kubernetes.io/not-ready", effect: "NoExecute" as const },
    ];
    const claim = nodeClaim({ startupTaints, status: { providerID: "test://n" } });
    const joined = nodeView({ node: { name: "n", labels, taints }, claim });
    expect(placed({ pods: [pod()], nodes: [joined] })).toEqual(["n: pod"]);
    const ready = { ...labels, "karpenter.sh/initialized": "true" };
    const working = nodeView({ node: { name: "n", labels: ready, taints }, claim });
    expect(placed({ pods: [pod()], nodes: [working] })).toEqual(["default/?: pod"]);
  });

  it("are compared with Gt as numbers; a label that is not a number does not match", () => {
    const above = (bound: string) => ({
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [
              { matchExpressions: [{ key: "x/disk", operator: "Gt" as const, values: [bound] }] },
            ],
          },
        },
      },
    });
    const node = (disk: string) => [nodeView({ node: { name: "n", labels: { "x/disk": disk } } })];
    const at = (disk: string) =>
      placed({ pods: [pod({ spec: above("9") })], nodes: node(disk), pools: [] });
    expect(at("10")).toEqual(["n: pod"]);
    expect(at("9")).toEqual(["left: pod"]);
    expect(at("large")).toEqual(["left: pod"]);
  });
});

describe("pods of a DaemonSet", () => {
  it("with several required node affinity terms count on each type that matches one term", () => {
    const term = (arch: string) => ({
      matchExpressions: [{ key: ARCH, operator: "In" as const, values: [arch] }],
    });
    const daemon = pod({
      name: "agent",
      cpu: "1",
      owner: { kind: "DaemonSet", name: "agent" },
      spec: {
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [term("arm64"), term("amd64")],
            },
          },
        },
      },
    });
    const types = ["arm64", "amd64"].map((arch) => instanceType({ name: arch, arch, cpu: 2 }));
    const pools = [poolInput({ name: "a" }, types), poolInput({ name: "b" }, types.toReversed())];
    expect(placed({ pods: [pod({ cpu: "1500m" })], pools, daemonPods: [daemon] })).toEqual([
      "left: pod",
    ]);
    expect(placed({ pods: [pod({ cpu: "1" })], pools, daemonPods: [daemon] })).toHaveLength(1);
  });
});

describe("reserved capacity", () => {
  const reserved = {
    zone: "zone-a",
    capacityType: "reserved" as const,
    priceMicroUsd: 0,
    available: true,
    labels: { "test.sh/reservation-id": "cr-1" },
    reservationCapacity: 5,
  };
  const kept = instanceType({ name: "kept", offerings: [reserved] });
  const plain = instanceType().offerings;
  const others = ["x", "y"].map((name) => instanceType({ name }));
  const claim = (
    minValues: number,
    types = [kept, ...others],
    options = SCHEDULING_OPTIONS,
    key = TYPE,
  ) => {
    const requirements = [{ key, operator: "Exists" as const, minValues }];
    const pools = [poolInput({ requirements }, types)];
    const [first] = solve(schedulingInput({ pods: [pod()], pools, options })).newClaims;
    const names = first?.instanceTypes.map(({ name }) => name).join(" ");
    return `${names} ${first?.cheapest.capacityType} ${first?.minValuesRelaxed}`;
  };

  it("is not used if too few reserved instance types would remain for minValues", () => {
    expect(claim(1)).toBe("kept reserved false");
    expect(claim(2)).toBe("x y spot false");
    // The pool allows two capacity types, but this instance type is only sold as reserved. So a claim never has both.
    expect(claim(2, [kept, others[0] as typeof kept])).toBe("undefined undefined undefined");
    const strict = { ...SCHEDULING_OPTIONS, reservedCapacity: "strict" as const };
    expect(claim(2, [kept, ...others], strict)).toBe("x y spot false");
    const bestEffort = { ...SCHEDULING_OPTIONS, minValuesPolicy: "BestEffort" as const };
    expect(claim(2, [kept, ...others], bestEffort)).toBe("kept reserved true");
    const key = "karpenter.sh/capacity-type";
    const types = [instanceType({ name: "both", offerings: [reserved, ...plain] })];
    expect(claim(1, types, SCHEDULING_OPTIONS, key)).toBe("both reserved false");
    expect(claim(2, types, SCHEDULING_OPTIONS, key)).toBe("both spot false");
    expect(claim(3, types, SCHEDULING_OPTIONS, key)).toBe("undefined undefined undefined");
  });

  it("takes no further pod that would leave too few reserved types for minValues", () => {
    const requirements = [{ key: TYPE, operator: "Exists" as const, minValues: 2 }];
    const unit = (id: string) => ({
      ...reserved,
      labels: { "test.sh/reservation-id": id },
      reservationCapacity: 1,
    });
    const types = [
      instanceType({ name: "small", memoryGi: 4, offerings: [unit("cr-1")] }),
      instanceType({ name: "large", memoryGi: 16, offerings: [unit("cr-2")] }),
      ...["x", "y"].map((name) => instanceType({ name, memoryGi: 16 })),
    ];
    const batch = [
      pod({ name: "first", cpu: "1", memory: "1Gi" }),
      pod({ name: "further", cpu: "500m", memory: "8Gi" }),
    ];
    const { newClaims } = solve(
      schedulingInput({ pods: batch, pools: [poolInput({ requirements }, types)] }),
    );
    const nodes = newClaims.map(({ cheapest, instanceTypes, pods: on }) => {
      const names = instanceTypes.map(({ name }) => name).sort();
      return `${cheapest.capacityType} ${names.join(" ")}: ${on.map((one) => one.metadata.name)}`;
    });
    expect(nodes.sort()).toEqual(["reserved large small: first", "spot x y: further"]);
  });
});

describe("NodeOverlays", () => {
  it("with numeric bounds change the matching types and keep the capacity of each offering", () => {
    const offering = { zone: "zone-a", capacityType: "on-demand" as const, available: true };
    const types = [2, 4].map((cpu) =>
      instanceType({
        cpu,
        labels: { "x/cpu": [String(cpu)] },
        offerings: [
          { ...offering, priceMicroUsd: cpu },
          { ...offering, zone: "zone-b", priceMicroUsd: 9, capacityOverride: { "x.com/gpu": 1 } },
        ],
      }),
    );
    const one = poolInput({}, types);
    const laid = (operator: "Gte" | "Lte" | "Gt" | "Lt", bound: string) => {
      const requirements = [{ key: "x/cpu", operator, values: [bound] }];
      const overlay = { metadata: { name: "o" }, spec: { requirements, price: "0.5" } };
      const whole = { pool: one.pool, labels: {}, instanceTypes: types };
      return layOverlays(whole, judgeOverlays([whole], [overlay]).accepted);
    };
    const dear = (...bound: Parameters<typeof laid>) =>
      laid(...bound).flatMap(({ name, offerings }) =>
        offerings[0]?.priceMicroUsd === 500_000 ? [name] : [],
      );
    expect(dear("Gte", "4")).toEqual(["m-4x"]);
    expect(dear("Gt", "4")).toEqual([]);
    expect(dear("Lte", "2")).toEqual(["m-2x"]);
    expect(dear("Lt", "4")).toEqual(["m-2x"]);
    const pools = [{ ...one, instanceTypes: laid("Gte", "2") }];
    const gpu = pod({ requests: { "x.com/gpu": "1" } });
    const [claim] = solve(schedulingInput({ pods: [gpu], pools })).newClaims;
    expect(claim?.cheapest).toMatchObject({ zone: "zone-b", priceMicroUsd: 500_000 });
  });
});

describe("the requests of a pod", () => {
  it("are its pod-level requests plus its overhead", () => {
    const types = [2, 4].map((cpu) => instanceType({ cpu }));
    const spec = {
      containers: [{ name: "c", resources: { requests: { cpu: "1", memory: "1Gi" } } }],
      resources: { requests: { cpu: "1500m" }, limits: { cpu: "3" } },
      overhead: { cpu: "600m" },
    };
    const [claim] = solve(
      schedulingInput({ pods: [pod({ spec })], pools: [poolInput({}, types)] }),
    ).newClaims;
    expect(claim?.requests).toEqual({ cpu: 2_100, memory: 2 ** 30, pods: 1 });
    expect(claim?.cheapest.instanceType).toBe("m-4x");
  });

  it("count as what is allocated while a resize is infeasible on its node", () => {
    const running = (reason: string) =>
      pod({
        name: "big",
        nodeName: "n",
        cpu: "4",
        status: {
          phase: "Running",
          conditions: [{ type: "PodResizePending", status: "True", reason }],
          containerStatuses: [
            { name: "main", ready: true, allocatedResources: { cpu: "1", memory: "128Mi" } },
          ],
        },
      });
    const at = (reason: string) =>
      placed({
        pods: [pod({ cpu: "2" })],
        nodes: [nodeView({ node: { name: "n" }, pods: [running(reason)] })],
      });
    expect(at("Infeasible")).toEqual(["n: pod"]);
    expect(at("Deferred")).toEqual(["default/?: pod"]);
  });
});

describe("volumes", () => {
  const zonal = (name: string, ...zones: string[]) => ({
    metadata: { name },
    provisioner: "disk.csi",
    volumeBindingMode: "WaitForFirstConsumer" as const,
    allowedTopologies: zones.map((zone) => ({
      matchLabelExpressions: [{ key: ZONE, values: [zone] }],
    })),
  });
  const claim = (name: string, storageClassName: string) => ({
    metadata: { name, namespace: "default" },
    spec: { storageClassName },
  });
  const volumes = {
    claims: [claim("ab", "ab"), claim("bc", "bc")],
    volumes: [],
    csiNodes: [],
    classes: [zonal("ab", "zone-a", "zone-b"), zonal("bc", "zone-b", "zone-c")],
  };
  const using = (...names: string[]) => ({
    volumes: names.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
  });

  it("restrict the pod to zones that all can be in, also if the first zone has no capacity", () => {
    expect(placed({ pods: [pod({ spec: using("ab", "bc") })], volumes })).toEqual([
      "default/zone-b: pod",
    ]);
    const pools = [poolInput({}, [instanceType({ zones: ["zone-c"] })])];
    expect(placed({ pods: [pod({ spec: using("bc") })], volumes, pools })).toEqual([
      "default/zone-c: pod",
    ]);
    expect(placed({ pods: [pod({ spec: using("ab") })], volumes, pools })).toEqual(["left: pod"]);
  });

  it("that are ephemeral use attachment slots of new nodes, for each pod", () => {
    const slots = { "attachable-volumes-csi-disk.csi": 2 };
    const pools = [poolInput({}, [instanceType({ capacity: slots })])];
    const volumeClaimTemplate = { spec: { storageClassName: "ab" } };
    const spec = { volumes: [{ name: "scratch", ephemeral: { volumeClaimTemplate } }] };
    expect(placed({ pods: pods(3, { spec }), volumes, pools })).toEqual([
      "default/zone-a: pod-0 pod-1",
      "default/zone-a: pod-2",
    ]);
  });
});

describe("a batch", () => {
  it("places pods of high priority first under limits of several pools, then the largest others", () => {
    const pools = ["a", "b"].map((name) => poolInput({ name, limits: { nodes: 1 } }));
    const vital = pods(2, { name: "vital", cpu: "1", spec: { priority: 9 } });
    const big = pods(2, { name: "big", cpu: "15500m" });
    const left = placed({ pods: [...big, ...vital], pools }).filter((one) =>
      one.startsWith("left"),
    );
    expect(left).toEqual(["left: big-1"]);
  });

  it("relaxes minValues under BestEffort on each new node", () => {
    const requirements = [{ key: TYPE, operator: "Exists" as const, minValues: 3 }];
    const options = { ...SCHEDULING_OPTIONS, minValuesPolicy: "BestEffort" as const };
    const result = solve(
      schedulingInput({
        pods: pods(2, { cpu: "9" }),
        pools: [poolInput({ requirements })],
        options,
      }),
    );
    expect(result.newClaims.map((one) => one.minValuesRelaxed)).toEqual([true, true]);
  });

  it("lowers under BestEffort only the minValues that are not met, to the number available", () => {
    const family = "test.sh/family";
    const requirements = [
      { key: TYPE, operator: "Exists" as const, minValues: 4 },
      { key: family, operator: "Exists" as const, minValues: 1 },
    ];
    const options = { ...SCHEDULING_OPTIONS, minValuesPolicy: "BestEffort" as const };
    const types = ["a", "b", "c"].map((name) =>
      instanceType({ name, labels: { [family]: [name] } }),
    );
    const pools = [poolInput({ requirements }, types)];
    const [first] = solve(schedulingInput({ pods: [pod()], pools, options })).newClaims;
    const minValues = (key: string) =>
      first?.requirements.find((one) => one.key === key)?.minValues;
    expect([minValues(TYPE), minValues(family)]).toEqual([3, 1]);
  });

  it("opens another node rather than lower minValues of a planned node under BestEffort", () => {
    const requirements = [{ key: TYPE, operator: "Exists" as const, minValues: 3 }];
    const options = { ...SCHEDULING_OPTIONS, minValuesPolicy: "BestEffort" as const };
    const pools = [poolInput({ requirements })];
    const { newClaims } = solve(schedulingInput({ pods: pods(2, { cpu: "3" }), pools, options }));
    expect(newClaims.map((one) => one.minValuesRelaxed)).toEqual([false, false]);
    expect(newClaims.map((one) => one.instanceTypes.length)).toEqual([3, 3]);
  });

  it("counts running pods in a topology spread over hosts with maxSkew 2", () => {
    const rule = spread({ topologyKey: HOSTNAME, maxSkew: 2 });
    const nodes = [
      nodeView({
        node: { name: "n" },
        pods: [pod({ name: "old", nodeName: "n", labels: { app: "web" } })],
      }),
    ];
    expect(placed({ pods: pods(4, rule), nodes })).toEqual([
      "default/?: pod-1 pod-2",
      "default/?: pod-3",
      "n: pod-0",
    ]);
  });
});
