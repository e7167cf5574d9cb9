import { describe, expect, it } from "vitest";
import type { Pod } from "../../../apis/core/pod.ts";
import { podRequests } from "../../../apis/core/pod-resources.ts";
import { keyOf } from "../../../apis/meta.ts";
import {
  instanceType,
  nodeView,
  pod,
  pods,
  poolInput,
  schedulingInput,
} from "../../../testing/builders.ts";
import type { SchedulingInput } from "../../provisioning/scheduling-input.ts";
import { solve, solveInSteps } from "../../provisioning/solve.ts";
import type { NodeView } from "../../state/node-view.ts";
import { applyEdits } from "./edits.ts";
import { type Fix, remedies, remediesInSteps } from "./remedy.ts";

const ZONE = "topology.kubernetes.io/zone";
const CAPACITY = "karpenter.sh/capacity-type";

/** The fix of each pod without a place. Checks each fix: after it is applied, all pods of the fix must have a place. */
function fixes(options: Partial<SchedulingInput>): Record<string, string | undefined> {
  const input = schedulingInput(options);
  const result = solve(input);
  const found = remedies(input, result);
  const texts: Record<string, string | undefined> = {};
  for (const { pod: unplaced } of result.unschedulable) {
    const fix = found.get(keyOf(unplaced))?.fix;
    texts[unplaced.metadata.name] = fix?.text;
    if (fix === undefined) continue;
    const alike = result.unschedulable.filter((one) => found.get(keyOf(one.pod))?.fix === fix);
    const keys = new Set(alike.map((one) => keyOf(one.pod)));
    const after = solve(applyEdits(input, fix.pods, fix.edits)).unschedulable;
    expect(after.filter((one) => keys.has(keyOf(one.pod)))).toEqual([]);
    expect(after.length).toBeLessThan(result.unschedulable.length);
  }
  return texts;
}

function fixOf(one: Pod, options: Partial<SchedulingInput> = {}): string | undefined {
  return fixes({ pods: [one], ...options })[one.metadata.name];
}

describe("the smallest change that places a pod", () => {
  it("tolerates the pool's taint", () => {
    const pools = [poolInput({ taints: [{ key: "gpu", value: "a", effect: "NoSchedule" }] })];
    expect(fixOf(pod(), { pools })).toBe("add a toleration of taint gpu=a:NoSchedule to the pod");
  });

  it("tells to delete the stored pod of a StatefulSet, if the fix changes the pod", () => {
    const owner = { kind: "StatefulSet", name: "db" };
    const taints = [{ key: "gpu", value: "a", effect: "NoSchedule" as const }];
    const pools = [poolInput({ taints })];
    const tolerates = "add a toleration of taint gpu=a:NoSchedule to the pod";
    const stored = pod({ name: "db-1", owner });
    expect(fixOf(stored, { pools })).toBe(
      `${tolerates}; then delete pod db-1, unless StatefulSet db replaces it by itself`,
    );
    const { uid: _, ...unstored } = stored.metadata;
    expect(fixOf({ ...stored, metadata: unstored }, { pools })).toBe(tolerates);
    expect(fixOf(pod({ owner: { kind: "ReplicaSet", name: "web" } }), { pools })).toBe(tolerates);
    const zone = { nodeSelector: { [ZONE]: "zone-b" } };
    const requirements = [{ key: ZONE, operator: "In" as const, values: ["zone-a"] }];
    const inB = pod({ name: "db-1", owner, spec: zone });
    expect(fixOf(inB, { pools: [poolInput({ requirements })] })).toBe(
      `let NodePool default use ${ZONE} zone-b`,
    );
  });

  it("lets the pool use a zone, an architecture or a capacity type that the pod names", () => {
    const requirements = [{ key: ZONE, operator: "In" as const, values: ["zone-a"] }];
    const pools = [poolInput({ requirements })];
    const inB = pod({ spec: { nodeSelector: { [ZONE]: "zone-b" } } });
    expect(fixOf(inB, { pools })).toBe(`let NodePool default use ${ZONE} zone-b`);
    const nowhere = pod({ spec: { nodeSelector: { [ZONE]: "mars" } } });
    expect(fixOf(nowhere, { pools })).toContain(`drop ${ZONE} from the pod's node selector`);
    const onDemand = { key: CAPACITY, operator: "In" as const, values: ["on-demand"] };
    const spot = pod({ spec: { nodeSelector: { [CAPACITY]: "spot" } } });
    expect(fixOf(spot, { pools: [poolInput({ requirements: [onDemand] })] })).toBe(
      `let NodePool default use ${CAPACITY} spot`,
    );
  });

  it("lets the pool use a label value of its types within the bounds of the pod's node affinity", () => {
    const cores = [2, 4, 8].map((cpu) =>
      instanceType({ name: `m-${cpu}x`, cpu, labels: { "test.sh/cpu": [String(cpu)] } }),
    );
    const requirements = [
      { key: "test.sh/cpu", operator: "Gte" as const, values: ["1"] },
      { key: "test.sh/cpu", operator: "Lte" as const, values: ["2"] },
    ];
    const asks = (operator: "Gt" | "NotIn", value: string) => {
      const matchExpressions = [{ key: "test.sh/cpu", operator, values: [value] }];
      const terms = { nodeSelectorTerms: [{ matchExpressions }] };
      const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: terms };
      return fixOf(pod({ spec: { affinity: { nodeAffinity } } }), {
        pools: [poolInput({ requirements }, cores)],
      });
    };
    expect(asks("Gt", "4")).toBe("let NodePool default use test.sh/cpu 8");
    expect(asks("NotIn", "2")).toBe("let NodePool default use test.sh/cpu 4");
  });

  it("adds a label that only the pod names to the NodePool", () => {
    const one = pod({ spec: { nodeSelector: { team: "web" } } });
    expect(fixOf(one)).toBe("give nodes of NodePool default the label team=web");
  });

  it("adds no label of the cloud's reserved domain to the NodePool", () => {
    const one = pod({ spec: { nodeSelector: { "test.sh/unheard-of": "x" } } });
    expect(fixOf(one)).toContain("drop test.sh/unheard-of from");
  });

  it("lets the pool use an instance type that it excludes, if that type would do", () => {
    const requirements = [
      {
        key: "node.kubernetes.io/instance-type",
        operator: "In" as const,
        values: ["m-2x", "m-4x"],
      },
    ];
    expect(fixOf(pod({ cpu: "7" }), { pools: [poolInput({ requirements })] })).toBe(
      "let NodePool default use node.kubernetes.io/instance-type m-8x",
    );
  });

  it("lowers a request to what the largest type has left after DaemonSet pods", () => {
    const daemon = pod({ name: "agent", cpu: "1", owner: { kind: "DaemonSet", name: "agent" } });
    expect(fixOf(pod({ cpu: "20" }), { daemonPods: [daemon] })).toBe(
      "lower the cpu request of container main from 20 to 15; no instance type has more cpu than m-16x (16)",
    );
  });

  it("names the largest type of all, and the largest that a NodePool allows, which the request then fits", () => {
    const values = ["m-2x", "m-4x"];
    const key = "node.kubernetes.io/instance-type";
    const pools = [poolInput({ requirements: [{ key, operator: "In", values }] })];
    expect(fixOf(pod({ cpu: "20" }), { pools })).toBe(
      "lower the cpu request of container main from 20 to 4; no instance type has more cpu than m-16x (16), and none that a NodePool can launch has more than m-4x (4)",
    );
  });

  it("names the limit that bounds a lowered request, if a type has room for more", () => {
    const limited = (limits: Record<string, number>) => [poolInput({ limits })];
    const three = { pods: pods(3, { cpu: "20" }) };
    expect(fixes({ ...three, pools: limited({ cpu: 12_000 }) })["pod-0"]).toBe(
      "lower the cpu request of container main from 20 to 4; no instance type has more cpu than m-16x (16); bounded by spec.limits.cpu of NodePool default (12, 0 in use)",
    );
    expect(fixes({ ...three, pools: limited({ memory: 2 ** 40 }) })["pod-0"]).toBe(
      "lower the cpu request of container main from 20 to 16; no instance type has more cpu than m-16x (16)",
    );
  });

  it("lowers the largest request: of a sidecar, an init container, a container or the whole pod", () => {
    const asks = (name: string, cpu: string) => ({ name, resources: { requests: { cpu } } });
    const spec = (extra: object) => ({ containers: [asks("a", "2"), asks("b", "6")], ...extra });
    const texts = [
      { initContainers: [{ ...asks("mesh", "12"), restartPolicy: "Always" as const }] },
      { initContainers: [asks("load", "20")] },
      { resources: { requests: { cpu: "30" } } },
      { overhead: { cpu: "11" } },
    ].map((extra) => fixOf(pod({ spec: spec(extra) })));
    expect(texts).toEqual([
      "lower the cpu request of init container mesh from 12 to 8; no instance type has more cpu than m-16x (16)",
      "lower the cpu request of init container load from 20 to 16; no instance type has more cpu than m-16x (16)",
      "lower the cpu request of the pod from 30 to 16; no instance type has more cpu than m-16x (16)",
      "lower the cpu request of container b from 6 to 3; no instance type has more cpu than m-16x (16)",
    ]);
    expect(fixOf(pod({ requests: { "x.com/fpga": "1" } }))).toBe(
      "let container main do without x.com/fpga; no instance type has x.com/fpga (a NodeOverlay with spec.capacity declares what a device plugin adds)",
    );
  });

  it("says that the node class sets the disk, and that the user data reserves huge pages", () => {
    const capacity = { "ephemeral-storage": 20 * 2 ** 30 };
    const pools = [poolInput({}, [instanceType({ capacity })])];
    expect(fixOf(pod({ requests: { "ephemeral-storage": "500Gi" } }), { pools })).toMatch(
      /^lower the ephemeral-storage request of container main from 500Gi to \d+Gi; no instance type has more ephemeral-storage than \S+ \(\d+Gi\), with the disk that the node class gives its nodes \(EC2NodeClass: spec\.blockDeviceMappings, spec\.instanceStorePolicy\)$/,
    );
    expect(fixOf(pod({ requests: { "hugepages-2Mi": "512Mi" } }))).toBe(
      "let container main do without hugepages-2Mi; no instance type has hugepages-2Mi (nodes reserve huge pages at start, by the user data of their node class; a NodeOverlay with spec.capacity declares them)",
    );
  });

  it("meets the required node affinity term that needs the fewest changes", () => {
    const matchExpressions = (...keys: string[]) => ({
      matchExpressions: keys.map((key) => ({ key, operator: "In" as const, values: ["x"] })),
    });
    const nodeSelectorTerms = [matchExpressions("a", "b"), matchExpressions("c")];
    const required = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } };
    expect(fixOf(pod({ spec: { affinity: { nodeAffinity: required } } }))).toBe(
      "give nodes of NodePool default the label c=x",
    );
  });

  it("lets the pool use the zone of the volume", () => {
    const claims = [
      { metadata: { name: "data", namespace: "default" }, spec: { storageClassName: "zonal" } },
    ];
    const zonal = {
      metadata: { name: "zonal" },
      provisioner: "disk",
      volumeBindingMode: "WaitForFirstConsumer" as const,
      allowedTopologies: [{ matchLabelExpressions: [{ key: ZONE, values: ["zone-c"] }] }],
    };
    const volumes = { claims, volumes: [], csiNodes: [], classes: [zonal] };
    const one = pod({
      spec: { volumes: [{ name: "v", persistentVolumeClaim: { claimName: "data" } }] },
    });
    const requirements = [{ key: ZONE, operator: "In" as const, values: ["zone-a"] }];
    expect(fixOf(one, { pools: [poolInput({ requirements })], volumes })).toBe(
      `let NodePool default use ${ZONE} zone-c`,
    );
  });

  it("lets the pool use the capacity type that is sold in the zone of the volume", () => {
    const claims = [
      { metadata: { name: "data", namespace: "default" }, spec: { storageClassName: "zonal" } },
    ];
    const topologies = [{ matchLabelExpressions: [{ key: ZONE, values: ["zone-b"] }] }];
    const zonal = {
      metadata: { name: "zonal" },
      provisioner: "disk",
      volumeBindingMode: "WaitForFirstConsumer" as const,
      allowedTopologies: topologies,
    };
    const offering = (zone: string, capacityType: "spot" | "on-demand") => ({
      zone,
      capacityType,
      priceMicroUsd: 1_000,
      available: true,
    });
    const offerings = [offering("zone-a", "on-demand"), offering("zone-b", "spot")];
    const requirements = [{ key: CAPACITY, operator: "In" as const, values: ["on-demand"] }];
    const one = pod({
      spec: { volumes: [{ name: "v", persistentVolumeClaim: { claimName: "data" } }] },
    });
    expect(
      fixOf(one, {
        pools: [poolInput({ requirements }, [instanceType({ offerings })])],
        volumes: { claims, volumes: [], csiNodes: [], classes: [zonal] },
      }),
    ).toBe(`let NodePool default use ${CAPACITY} spot`);
  });

  it("lets the pool use another zone, before it drops the anti-affinity of pods", () => {
    const requirements = [{ key: ZONE, operator: "In" as const, values: ["zone-a", "zone-b"] }];
    const apart = {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey: ZONE, labelSelector: { matchLabels: { app: "web" } } },
      ],
    };
    const three = pods(3, {
      labels: { app: "web" },
      spec: { affinity: { podAntiAffinity: apart } },
    });
    expect(fixes({ pods: three, pools: [poolInput({ requirements })] })).toEqual({
      "pod-2": `let NodePool default use ${ZONE} zone-c`,
    });
  });

  it("allows an excluded type if only that type is sold in the missing zone (seed 82000188)", () => {
    const requirements = [
      { key: "kubernetes.io/arch", operator: "In" as const, values: ["amd64"] },
    ];
    const types = [
      instanceType({ name: "amd", zones: ["zone-a"] }),
      instanceType({ name: "arm", arch: "arm64", zones: ["zone-b"] }),
    ];
    const apart = {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey: ZONE, labelSelector: { matchLabels: { app: "web" } } },
      ],
    };
    const two = pods(2, { labels: { app: "web" }, spec: { affinity: { podAntiAffinity: apart } } });
    expect(fixes({ pods: two, pools: [poolInput({ requirements }, types)] })).toEqual({
      "pod-1": "let NodePool default use kubernetes.io/arch arm64",
    });
  });

  it("allows another zone than that of the nearest type, if that zone alone is enough (seed 85000168)", () => {
    const requirements = [{ key: ZONE, operator: "In" as const, values: ["zone-a"] }];
    const types = [
      instanceType({ cpu: 8, zones: ["zone-b"] }),
      instanceType({ cpu: 16, zones: ["zone-c"] }),
    ];
    const pools = [poolInput({ requirements, limits: { nodes: 1 } }, types)];
    const fix = `let NodePool default use ${ZONE} zone-c`;
    expect(fixes({ pods: pods(2, { cpu: "6" }), pools })).toEqual({ "pod-0": fix, "pod-1": fix });
  });

  it("changes the pod so that an existing node takes it, if no pool helps", () => {
    const nodes = [
      nodeView({
        node: { labels: { disk: "hdd" }, taints: [{ key: "db", effect: "NoSchedule" }] },
      }),
    ];
    const tolerations = [{ key: "db", operator: "Exists" as const }];
    const options = { pools: [], nodes };
    expect(fixOf(pod(), options)).toBe("add a toleration of taint db:NoSchedule to the pod");
    const picky = pod({ spec: { tolerations, nodeSelector: { disk: "ssd" } } });
    expect(fixOf(picky, options)).toContain("drop disk from the pod's node selector");
    expect(fixOf(pod({ cpu: "5", spec: { tolerations } }), options)).toBe(
      "lower the cpu request of container main from 5 to 4",
    );
  });

  it("lowers one container's request if that is enough, before it makes two changes (seed 70011)", () => {
    const asks = (name: string, cpu: string) => ({ name, resources: { requests: { cpu } } });
    const nodes = [nodeView({ node: { labels: { disk: "ssd" } } })];
    const pools = [poolInput({ taints: [{ key: "db", effect: "NoSchedule" }] })];
    const spec = {
      nodeSelector: { disk: "ssd" },
      containers: [asks("main", "1")],
      initContainers: [asks("load", "6")],
    };
    expect(fixOf(pod({ spec }), { nodes, pools })).toBe(
      "lower the cpu request of init container load from 6 to 4",
    );
    const overhead = { cpu: "500m" };
    expect(fixOf(pod({ spec: { ...spec, overhead } }), { nodes, pools })).toBe(
      "lower the cpu request of init container load from 6 to 3500m",
    );
  });

  it("is found even if many nodes have taints and would not take the pod anyway", () => {
    const nodes = Array.from({ length: 30 }, (_, index) =>
      nodeView({
        node: { name: `n-${index}`, taints: [{ key: `team-${index}`, effect: "NoSchedule" }] },
      }),
    );
    const picky = pod({ cpu: "5", spec: { nodeSelector: { [ZONE]: "mars" } } });
    expect(fixOf(picky, { nodes })).toContain(`drop ${ZONE} from the pod's node selector`);
    // The search tries only some of the possible fixes.
    const small = pod({ spec: { nodeSelector: { [ZONE]: "mars" } } });
    expect(fixOf(small, { nodes })).toContain(`drop ${ZONE} from the pod's node selector`);
  });

  it("counts DaemonSet pods on types that the pool excludes so far", () => {
    const daemon = pod({ name: "agent", cpu: "1", owner: { kind: "DaemonSet", name: "agent" } });
    const requirements = [
      { key: "node.kubernetes.io/instance-type", operator: "In" as const, values: ["m-2x"] },
    ];
    const pools = [poolInput({ requirements })];
    expect(fixOf(pod({ cpu: "3500m" }), { pools, daemonPods: [daemon] })).toBe(
      "let NodePool default use node.kubernetes.io/instance-type m-8x",
    );
  });

  it("raises a NodePool limit no higher than needed", () => {
    const pools = [poolInput({ limits: { cpu: 4_000 } })];
    expect(fixes({ pods: pods(3, { cpu: "3" }), pools })["pod-1"]).toBe(
      "raise spec.limits.cpu of NodePool default from 4 to 12",
    );
  });

  it("lets the pool use smaller types if otherwise several limits would have to be raised", () => {
    const sized = (cpu: number) => instanceType({ cpu, labels: { "test.sh/cores": [`${cpu}`] } });
    const requirements = [{ key: "test.sh/cores", operator: "Gt" as const, values: ["4"] }];
    const limits = { cpu: 4_000, memory: 16 * 2 ** 30 };
    const pools = (...cpus: readonly number[]) => [
      poolInput({ requirements, limits }, cpus.map(sized)),
    ];
    expect(fixOf(pod({ cpu: "1" }), { pools: pools(2, 8) })).toBe(
      "let NodePool default use test.sh/cores 2",
    );
    expect(fixOf(pod({ cpu: "3" }), { pools: pools(2, 8) })).toBe(
      "raise spec.limits.cpu of NodePool default from 4 to 8; raise spec.limits.memory of NodePool default from 16Gi to 32Gi",
    );
  });

  it("tries smaller types in the order of their size, not of their names", () => {
    const sized = (cpu: number) => instanceType({ cpu, labels: { "test.sh/cores": [`${cpu}`] } });
    const requirements = [{ key: "test.sh/cores", operator: "In" as const, values: ["32"] }];
    const limits = { cpu: 16_000, memory: 64 * 2 ** 30 };
    const pools = [poolInput({ requirements, limits }, [10, 11, 12, 8, 32].map(sized))];
    // Types with another number of cores do not fit twice into the limits. Sorted as text, 8 is the last number.
    const found = fixes({ pods: pods(2, { cpu: "7" }), pools });
    expect(found["pod-0"]).toBe("let NodePool default use test.sh/cores 8");
  });

  it("raises limits.nodes alone if more small nodes stay within the other limits", () => {
    // Without limits, all three pods share one node of 32 cores.
    const types = [8, 32].map((cpu) => instanceType({ name: `t-${cpu}`, cpu }));
    const limits = { cpu: 24_000, memory: 96 * 2 ** 30, nodes: 2 };
    const found = fixes({ pods: pods(3, { cpu: "7" }), pools: [poolInput({ limits }, types)] });
    expect(found["pod-2"]).toBe("raise spec.limits.nodes of NodePool default from 2 to 3");
  });

  it("raises a NodePool limit for all pods that it keeps pending", () => {
    const pools = [poolInput({ limits: { cpu: 8_000 } })];
    const found = fixes({ pods: pods(3, { cpu: "7" }), pools });
    expect(Object.keys(found)).toEqual(["pod-1", "pod-2"]);
    expect(found["pod-1"]).toBe("raise spec.limits.cpu of NodePool default from 8 to 24");
    const nodes = [poolInput({ limits: { nodes: 1 } })];
    expect(fixes({ pods: pods(2, { cpu: "15" }), pools: nodes })["pod-1"]).toBe(
      "raise spec.limits.nodes of NodePool default from 1 to 2",
    );
  });

  it("combines several changes if one is not enough, for the pool that needs the fewest", () => {
    const taint = { key: "gpu", effect: "NoSchedule" as const };
    const far = poolInput({
      name: "far",
      taints: [taint],
      requirements: [{ key: ZONE, operator: "In", values: ["zone-a"] }],
    });
    const one = pod({ spec: { nodeSelector: { [ZONE]: "zone-c" } } });
    expect(fixOf(one, { pools: [far] })).toBe(
      `add a toleration of taint gpu:NoSchedule to the pod; let NodePool far use ${ZONE} zone-c`,
    );
    const near = poolInput({ name: "near", taints: [taint] });
    expect(fixOf(one, { pools: [far, near] })).toBe(
      "add a toleration of taint gpu:NoSchedule to the pod",
    );
  });

  it("drops a pod affinity or anti-affinity if nothing else helps", () => {
    const antiAffinity = {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey: ZONE, labelSelector: { matchLabels: { app: "web" } } },
      ],
    };
    const spec = { affinity: { podAntiAffinity: antiAffinity } };
    const found = fixes({
      pods: pods(4, { labels: { app: "web" }, spec, owner: { kind: "ReplicaSet", name: "web" } }),
    });
    expect(Object.values(found)).toEqual([`drop the pod's required anti-affinity over ${ZONE}`]);
  });

  it("loosens a topology spread no further than needed, before the pod drops it", () => {
    const over = (topologyKey: string, others: object = {}) =>
      ({
        maxSkew: 1,
        topologyKey,
        whenUnsatisfiable: "DoNotSchedule",
        labelSelector: { matchLabels: { app: "web" } },
        ...others,
      }) as const;
    const spread = (count: number, constraint: ReturnType<typeof over>, nodes: NodeView[] = []) => {
      const spec = { topologySpreadConstraints: [constraint] };
      const spreading = pods(count, { labels: { app: "web" }, spec });
      return Object.values(fixes({ pods: spreading, nodes }));
    };
    expect(spread(4, over(ZONE, { minDomains: 5 }))).toEqual([
      `lower minDomains of the pod's topology spread over ${ZONE} from 5 to 3`,
    ]);
    // The pod's zone has no such instance types.
    const full = nodeView({
      node: { labels: { [ZONE]: "zone-d" } },
      pods: [pod({ name: "other", cpu: "4" })],
    });
    const uneven = `raise maxSkew of the pod's topology spread over ${ZONE} from 1 to 2`;
    expect(spread(5, over(ZONE), [full])).toEqual([uneven, uneven]);
    expect(spread(1, over("test.sh/rack"))).toEqual([
      "drop the pod's topology spread over test.sh/rack",
    ]);
  });

  it("raises a limit to what the cheapest nodes need, even if larger types could be launched", () => {
    const types = [2, 4, 8].map((cpu) => instanceType({ cpu }));
    const labelSelector = { matchLabels: { app: "web" } };
    const spread = { topologyKey: "kubernetes.io/hostname", maxSkew: 1, labelSelector };
    const spec = {
      topologySpreadConstraints: [{ ...spread, whenUnsatisfiable: "DoNotSchedule" as const }],
    };
    const batch = pods(3, { cpu: "1", labels: { app: "web" }, spec });
    const found = fixes({ pods: batch, pools: [poolInput({ limits: { cpu: 5_000 } }, types)] });
    expect(Object.values(found)).toEqual(["raise spec.limits.cpu of NodePool default from 5 to 6"]);
  });

  it("lets a pool of reserved capacity use on-demand, before pods request less", () => {
    const offering = (capacityType: "reserved" | "on-demand", priceMicroUsd: number) => ({
      zone: "zone-a",
      capacityType,
      priceMicroUsd,
      available: true,
    });
    const reserved = {
      ...offering("reserved", 1),
      labels: { "test.sh/reservation-id": "cr" },
      reservationCapacity: 1,
    };
    const type = { name: "m", cpu: 4, offerings: [reserved, offering("on-demand", 1_000)] };
    const requirements = [{ key: CAPACITY, operator: "In" as const, values: ["reserved"] }];
    const two = pods(2, { cpu: "3" });
    const found = fixes({ pods: two, pools: [poolInput({ requirements }, [instanceType(type)])] });
    expect(Object.values(found)).toEqual([`let NodePool default use ${CAPACITY} on-demand`]);
  });

  it("lets the pool use a type that can attach all volumes of the pod", () => {
    const key = "node.kubernetes.io/instance-type";
    const few = { "attachable-volumes-csi-ebs.csi.aws.com": 1 };
    const types = [instanceType({ cpu: 2, capacity: few }), instanceType({ cpu: 4 })];
    const wait = {
      metadata: { name: "wait" },
      provisioner: "ebs.csi.aws.com",
      volumeBindingMode: "WaitForFirstConsumer" as const,
    };
    const claimSpec = { spec: { storageClassName: "wait" } };
    const spec = {
      volumes: ["a", "b"].map((name) => ({ name, ephemeral: { volumeClaimTemplate: claimSpec } })),
    };
    const requirements = [{ key, operator: "In" as const, values: ["m-2x"] }];
    const pools = [poolInput({ requirements }, types)];
    const volumes = { claims: [], volumes: [], classes: [wait], csiNodes: [] };
    expect(fixOf(pod({ spec }), { pools, volumes })).toBe(`let NodePool default use ${key} m-4x`);
  });

  it("lowers minValues if pod affinity ties the pod to a node that minValues excludes", () => {
    const types = [2, 8].map((cpu) => instanceType({ cpu }));
    const requirements = [
      { key: "node.kubernetes.io/instance-type", operator: "Exists" as const, minValues: 2 },
    ];
    const near = {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { app: "db" } } },
      ],
    };
    const db = pod({ name: "db", cpu: "1", labels: { app: "db" } });
    const web = pod({ name: "web", cpu: "1500m", spec: { affinity: { podAffinity: near } } });
    const found = fixes({ pods: [db, web], pools: [poolInput({ requirements }, types)] });
    expect(found["web"]).toBe(
      "lower minValues of node.kubernetes.io/instance-type in NodePool default from 2 to 1",
    );
  });

  it("lowers minValues no further than needed", () => {
    const requirements = [
      { key: "node.kubernetes.io/instance-type", operator: "Exists" as const, minValues: 3 },
    ];
    expect(fixOf(pod({ cpu: "7" }), { pools: [poolInput({ requirements })] })).toBe(
      "lower minValues of node.kubernetes.io/instance-type in NodePool default from 3 to 2",
    );
  });

  it("is the same for many kinds of pods if one change of the pool helps all", () => {
    const kinds = Array.from({ length: 230 }, (_, index) =>
      pod({ name: `pod-${index}`, cpu: `${index + 1}m`, spec: { nodeSelector: { team: "web" } } }),
    );
    const input = schedulingInput({ pods: kinds });
    let plans = 0;
    const all = [
      ...remedies(input, solve(input), (edited) => {
        plans++;
        return solve(edited);
      }).values(),
    ];
    expect(all.length).toBe(230);
    expect(all.filter(({ nearest }) => nearest === undefined)).toEqual([]);
    const texts = new Set(all.map(({ fix }) => fix?.text));
    const [first] = all;
    expect([...texts]).toEqual(["give nodes of NodePool default the label team=web"]);
    const fix = first?.fix as Fix;
    expect(solve(applyEdits(input, fix.pods, fix.edits)).unschedulable).toEqual([]);
    // A change of a pool that was tried for one kind of pods counts for all kinds.
    expect(plans).toBe(1);
  });

  /**
   * Fixes for 150 kinds of pods. The planner accepts requests that no known type has. So the search first lowers
   * requests to 16 cores, then halves the interval.
   */
  function fixesOfMany(enoughMilli: (name: string) => number, types = 1) {
    const kinds = Array.from({ length: 150 }, (_, at) =>
      pod({ name: `${at + 100}`, cpu: `${100_000 + at}m` }),
    );
    const all = Array.from({ length: types }, (_, at) =>
      instanceType({ name: `t-${at}`, cpu: 16 }),
    );
    const input = schedulingInput({ pods: kinds, pools: [poolInput({}, all)] });
    const refused = solve(input);
    let plans = 0;
    const found = remedies(input, refused, ({ pods: edited }) => {
      plans++;
      const large = edited.filter(
        (one) => (podRequests(one)["cpu"] ?? 0) > enoughMilli(one.metadata.name),
      );
      const out = new Set(large.map(keyOf));
      return {
        ...refused,
        unschedulable: refused.unschedulable.filter((one) => out.has(keyOf(one.pod))),
      };
    });
    return { plans, texts: [...found.values()].map(({ fix }) => fix?.text ?? "") };
  }

  it("reuses for each kind of pods the lowered request that was enough for others", () => {
    const { texts } = fixesOfMany(() => 99_000);
    expect(
      texts.filter((text) => !text.endsWith("to 99; no instance type has more cpu than t-0 (16)")),
    ).toEqual([]);
  });

  it("is found for every kind of pods before any is minimised, if the number of plans is limited", () => {
    const { texts, plans } = fixesOfMany((name) => 99_000 - Number(name));
    expect(plans).toBe(1_000);
    expect(texts.filter((text) => text === "")).toEqual([]);
    expect(texts[0]).toBe(
      "lower the cpu request of container main from 100 to 98900m; no instance type has more cpu than t-0 (16)",
    );
    expect(texts.at(-1)).toMatch(/to 16; no instance type has more cpu than t-0 \(16\)$/);
  });

  it("is searched with fewer plans if there are many instance types", () => {
    const { plans } = fixesOfMany((name) => 99_000 - Number(name), 1_000);
    expect(plans).toBeGreaterThan(400);
    expect(plans).toBeLessThan(600);
  });

  it("raises a limit as little for thousands of pods as for one kind of pods", () => {
    const types = [1, 2, 4, 8, 16].map((cpu) =>
      instanceType({ name: `t-${cpu}`, cpu, pods: 1_000 }),
    );
    const kinds = Array.from({ length: 40 }, (_, at) =>
      pods(50, { cpu: `${500 + at}m` }).map((one) => ({
        ...one,
        metadata: { ...one.metadata, name: `${at + 100}-${one.metadata.name}` },
      })),
    );
    const input = schedulingInput({
      pods: kinds.flat(),
      pools: [poolInput({ limits: { cpu: 8_000, nodes: 3 } }, types)],
    });
    const found = remedies(input, solve(input));
    const texts = new Set([...found.values()].map(({ fix }) => fix?.text ?? ""));
    expect(texts.size).toBe(40);
    const bound = " to 9m; bounded by spec.limits.cpu of NodePool default (8, 0 in use)";
    expect([...texts].filter((text) => !text.endsWith(bound))).toEqual([
      "raise spec.limits.cpu of NodePool default from 8 to 28",
    ]);
  });

  it("is searched with pauses before and within each trial plan", () => {
    const kinds = Array.from({ length: 5 }, (_, at) => pod({ name: `p-${at}`, cpu: `${64 + at}` }));
    const all = [instanceType({ name: "t", cpu: 16 })];
    const input = schedulingInput({ pods: kinds, pools: [poolInput({}, all)] });
    const result = solve(input);
    let [plans, pauses, most, since] = [0, 0, 0, 0];
    const steps = remediesInSteps(input, result, function* (edited) {
      plans++;
      since++;
      return yield* solveInSteps(edited);
    });
    let next = steps.next();
    for (; next.done !== true; next = steps.next()) {
      pauses++;
      most = Math.max(most, since);
      since = 0;
    }
    expect(next.value).toEqual(remedies(input, result));
    expect(most).toBe(1);
    expect(pauses).toBeGreaterThan(2 * plans);
  });

  it("is undefined without a pool, or if the pod itself is invalid", () => {
    expect(fixOf(pod(), { pools: [] })).toBe(undefined);
    const broken = pod({
      spec: { volumes: [{ name: "v", persistentVolumeClaim: { claimName: "x" } }] },
    });
    expect(fixOf(broken, { nodes: [nodeView({ deleting: true })] })).toBe(undefined);
  });
});

describe("the nearest miss", () => {
  it("is the instance type that lacks least, with what is missing", () => {
    const input = schedulingInput({ pods: [pod({ cpu: "20" })] });
    const { nearest } = remedies(input, solve(input)).get("default/pod") ?? {};
    expect(nearest).toEqual({
      poolId: "nodepool/default",
      instanceType: "m-16x",
      missing: ["cpu: 20 asked for, 16 there"],
    });
  });

  it.each([
    { cores: 8, short: [] },
    { cores: 2, short: ["cpu: 3 asked for, 2 there"] },
  ])(
    "prefers a type that edits can fix to one not sold in the volume's zone ($cores cores)",
    ({ cores, short }) => {
      const zonal = {
        metadata: { name: "zonal" },
        provisioner: "disk",
        volumeBindingMode: "WaitForFirstConsumer" as const,
        allowedTopologies: [{ matchLabelExpressions: [{ key: ZONE, values: ["zone-a"] }] }],
      };
      const claims = [
        { metadata: { name: "data", namespace: "default" }, spec: { storageClassName: "zonal" } },
      ];
      const volumes = { claims, volumes: [], classes: [zonal], csiNodes: [] };
      const spec = {
        nodeSelector: { [ZONE]: "zone-b" },
        volumes: [{ name: "v", persistentVolumeClaim: { claimName: "data" } }],
      };
      const types = [
        instanceType({ name: "elsewhere", zones: ["zone-b"], cpu: 4 }),
        instanceType({ name: "here", cpu: cores }),
      ];
      const input = schedulingInput({
        pods: [pod({ cpu: "3", spec })],
        pools: [poolInput({}, types)],
        volumes,
      });
      expect(remedies(input, solve(input)).get("default/pod")?.nearest).toEqual({
        poolId: "nodepool/default",
        instanceType: "here",
        missing: [`the pod asks for ${ZONE} In [zone-b], it is zone-a`, ...short],
      });
    },
  );

  it("describes affinity, anti-affinity and limits that only planning can find", () => {
    const missing = (options: Partial<SchedulingInput>) => {
      const input = schedulingInput(options);
      return [...remedies(input, solve(input)).values()][0]?.nearest?.missing;
    };
    const apart = {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { topologyKey: ZONE, labelSelector: { matchLabels: { app: "web" } } },
        ],
      },
    };
    const web = { labels: { app: "web" }, spec: { affinity: apart } };
    expect(missing({ pods: pods(4, web) })).toEqual([
      `its anti-affinity over ${ZONE} keeps it from pods that are everywhere it could go; ` +
        "pods there: zone-a 1, zone-b 1, zone-c 1",
    ]);
    const near = { podAffinity: apart.podAntiAffinity };
    expect(missing({ pods: [pod({ spec: { affinity: near } })] })).toEqual([
      `no pod that its affinity over ${ZONE} looks for runs or is planned anywhere`,
    ]);
    const hosts = {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { app: "web" } } },
      ],
    };
    const together = {
      labels: { app: "web" },
      cpu: "10",
      spec: { affinity: { podAffinity: hosts } },
    };
    expect(missing({ pods: pods(2, together) })?.[0]).toMatch(
      /^its affinity over kubernetes\.io\/hostname looks for pods that are where it cannot go itself; pods there: \S+ 1$/,
    );
    expect(missing({ pods: pods(2), pools: [poolInput({ limits: { cpu: 1_000 } })] })).toEqual([
      "its limits leave no room for a node: 1 of cpu is left, the smallest type that would do has 2",
    ]);
  });

  it("says that no node can reach all volumes of the pod", () => {
    const spec = {
      volumes: ["zone-a", "zone-b"].map((zone) => ({
        name: zone,
        ephemeral: { volumeClaimTemplate: { spec: { storageClassName: zone } } },
      })),
    };
    const classes = ["zone-a", "zone-b"].map((zone) => ({
      metadata: { name: zone },
      provisioner: "disk.csi",
      volumeBindingMode: "WaitForFirstConsumer" as const,
      allowedTopologies: [{ matchLabelExpressions: [{ key: ZONE, values: [zone] }] }],
    }));
    const volumes = { claims: [], volumes: [], csiNodes: [], classes };
    const input = schedulingInput({ pods: [pod({ spec })], volumes });
    expect(remedies(input, solve(input)).get("default/pod")).toEqual({
      nearest: {
        poolId: "nodepool/default",
        missing: [`its volumes are where no node reaches all of them (${ZONE})`],
      },
    });
  });

  it("is not a pool with a taint and too small types, if another pool only has too small types", () => {
    const tainted = poolInput({
      name: "tainted",
      taints: [{ key: "gpu", value: "a", effect: "NoSchedule" }],
    });
    const nearestOf = (pools: SchedulingInput["pools"]) => {
      const input = schedulingInput({ pods: [pod({ cpu: "20" })], pools });
      return remedies(input, solve(input)).get("default/pod")?.nearest;
    };
    const short = "cpu: 20 asked for, 16 there";
    expect(nearestOf([tainted, poolInput()])).toMatchObject({
      poolId: "nodepool/default",
      missing: [short],
    });
    expect(nearestOf([tainted])).toMatchObject({
      poolId: "nodepool/tainted",
      instanceType: "m-16x",
      missing: ["taint gpu=a:NoSchedule is not tolerated", short],
    });
  });

  it("is the pool with the fewest obstacles", () => {
    const taint = (key: string) => ({ key, effect: "NoSchedule" as const });
    const pools = [
      poolInput({ name: "two", taints: [taint("a"), taint("b")] }),
      poolInput({ name: "one", taints: [taint("a")] }, [instanceType()]),
    ];
    const input = schedulingInput({ pods: [pod()], pools });
    expect(remedies(input, solve(input)).get("default/pod")?.nearest).toEqual({
      poolId: "nodepool/one",
      missing: ["taint a:NoSchedule is not tolerated"],
    });
  });
});
