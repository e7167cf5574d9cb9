import { describe, expect, it } from "vitest";
import type { Pod } from "../../apis/core/pod.ts";
import {
  instanceType,
  nodeView,
  pod,
  pods,
  poolInput,
  SCHEDULING_OPTIONS,
  schedulingInput,
} from "../../testing/builders.ts";
import type { SchedulingResult } from "./result.ts";
import type { SchedulingInput } from "./scheduling-input.ts";
import { solve } from "./solve.ts";

const ZONE = "topology.kubernetes.io/zone";
const HOSTNAME = "kubernetes.io/hostname";

/**
 * The plan as text. One line for each new claim: `pool: pods | zone … | cheapest`. Then existing nodes, then pods
 * without a place.
 */
function plan(input: Partial<SchedulingInput>): string[] {
  return show(solve(schedulingInput(input)));
}

function show(result: SchedulingResult): string[] {
  const names = (list: readonly Pod[]) => list.map((one) => one.metadata.name).join(" ");
  const claims = result.newClaims.map((claim) => {
    const zone = claim.requirements.find((one) => one.key === ZONE);
    const where = zone === undefined ? "any zone" : (zone.values ?? []).join(" ");
    return `${claim.pool.name}: ${names(claim.pods)} | ${where} | ${claim.cheapest.instanceType}`;
  });
  const existing = result.existing.map((one) => `${one.nodeName} <- ${names(one.pods)}`);
  const rest = result.unschedulable.map((one) => `${one.pod.metadata.name}: ${one.message}`);
  return [...claims, ...existing, ...rest];
}

const spread = (topologyKey: string, labels = { app: "web" }, extra = {}) => ({
  labels,
  spec: {
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey,
        whenUnsatisfiable: "DoNotSchedule" as const,
        labelSelector: { matchLabels: { app: "web" } },
        ...extra,
      },
    ],
  },
});

const term = (topologyKey: string, app: string) => ({
  topologyKey,
  labelSelector: { matchLabels: { app } },
});

const antiAffinity = (topologyKey: string, app: string) => ({
  affinity: {
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [term(topologyKey, app)],
    },
  },
});

const affinity = (topologyKey: string, app: string) => ({
  affinity: {
    podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term(topologyKey, app)] },
  },
});

describe("solve", () => {
  it("packs pods onto one new node of the cheapest type that holds them", () => {
    expect(plan({ pods: pods(3, { cpu: "1" }) })).toEqual([
      "default: pod-0 pod-1 pod-2 | any zone | m-4x",
    ]);
  });

  it("prefers an existing node to a new one, the first by name of equals", () => {
    const nodes = [nodeView({ node: { name: "b" } }), nodeView({ node: { name: "a" } })];
    expect(plan({ pods: [pod()], nodes })).toEqual(["a <- pod"]);
  });

  it("does not place pods on nodes that are being deleted", () => {
    const nodes = [nodeView({ deleting: true })];
    expect(plan({ pods: [pod()], nodes })).toEqual(["default: pod | any zone | m-2x"]);
  });

  it("tries the heaviest pool first and falls back on the next", () => {
    const pools = [
      poolInput({ name: "light", weight: 1 }),
      poolInput({ name: "heavy", weight: 10, taints: [{ key: "gpu", effect: "NoSchedule" }] }),
    ];
    const tolerant = pod({
      name: "tolerant",
      cpu: "200m",
      spec: { tolerations: [{ operator: "Exists" }] },
    });
    expect(plan({ pods: [tolerant, pod()], pools })).toEqual([
      "heavy: tolerant | any zone | m-2x",
      "light: pod | any zone | m-2x",
    ]);
  });

  it("prefers a NodePool to a Provisioner of equal weight, and the later name among NodePools", () => {
    const old = poolInput({ name: "z", generation: "alpha" });
    const [a, b] = ["a", "b"].map((name) => poolInput({ name }));
    const poolOf = (...pools: readonly (typeof old | undefined)[]) =>
      plan({ pods: [pod()], pools: pools.flatMap((one) => one ?? []) }).map((line) => line[0]);
    expect(poolOf(old, a, b)).toEqual(["b"]);
    expect(poolOf(b, a, old)).toEqual(["b"]);
    expect(poolOf(old, a)).toEqual(["a"]);
    const heavy = poolInput({ name: "y", generation: "alpha", weight: 1 });
    expect(poolOf(a, heavy)).toEqual(["y"]);
  });

  it("leaves room for DaemonSet pods on new nodes", () => {
    const daemon = pod({ name: "agent", cpu: "1", owner: { kind: "DaemonSet", name: "agent" } });
    const result = solve(schedulingInput({ pods: [pod({ cpu: "2" })], daemonPods: [daemon] }));
    expect(show(result)).toEqual(["default: pod | any zone | m-4x"]);
    expect(result.newClaims[0]?.requests).toEqual({ cpu: 3_000, memory: 2 ** 28, pods: 2 });
  });

  it("keeps to the required node affinity and takes the first term that a pool can meet", () => {
    const spec = {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [
              { matchExpressions: [{ key: ZONE, operator: "In" as const, values: ["mars"] }] },
              { matchExpressions: [{ key: ZONE, operator: "In" as const, values: ["zone-c"] }] },
            ],
          },
        },
      },
    };
    expect(plan({ pods: [pod({ spec })] })).toEqual(["default: pod | zone-c | m-2x"]);
  });

  it("drops a preferred node affinity term that no node can meet", () => {
    const spec = {
      affinity: {
        nodeAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            {
              weight: 1,
              preference: {
                matchExpressions: [{ key: ZONE, operator: "In" as const, values: ["mars"] }],
              },
            },
          ],
        },
      },
    };
    expect(plan({ pods: [pod({ spec })] })).toEqual(["default: pod | any zone | m-2x"]);
  });

  it("returns to the first required term after it drops the preference that blocked it", () => {
    const inZone = (zone: string) => ({
      matchExpressions: [{ key: ZONE, operator: "In" as const, values: [zone] }],
    });
    const spec = {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [inZone("zone-a"), inZone("mars")],
          },
        },
        podAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 1, podAffinityTerm: term(ZONE, "nobody") },
          ],
        },
      },
    };
    expect(plan({ pods: [pod({ spec })] })).toEqual(["default: pod | zone-a | m-2x"]);
  });

  it("drops a preferred node affinity before it tolerates a PreferNoSchedule taint", () => {
    const taints = [{ key: "k", effect: "PreferNoSchedule" as const }];
    const pools = [
      poolInput({ name: "avoided", weight: 10, taints }),
      poolInput({ name: "plain" }),
    ];
    const preference = {
      matchExpressions: [{ key: "none", operator: "In" as const, values: ["x"] }],
    };
    const preferred = [{ weight: 1, preference }];
    const nodeAffinity = { preferredDuringSchedulingIgnoredDuringExecution: preferred };
    expect(plan({ pods: [pod({ spec: { affinity: { nodeAffinity } } })], pools })).toEqual([
      "plain: pod | any zone | m-2x",
    ]);
  });

  it("tolerates a PreferNoSchedule taint only if no pool without it is left", () => {
    const tainted = {
      name: "tainted",
      weight: 5,
      taints: [{ key: "k", effect: "PreferNoSchedule" as const }],
    };
    expect(plan({ pods: [pod()], pools: [poolInput(tainted), poolInput()] })).toEqual([
      "default: pod | any zone | m-2x",
    ]);
    expect(plan({ pods: [pod()], pools: [poolInput(tainted)] })).toEqual([
      "tainted: pod | any zone | m-2x",
    ]);
  });

  it("spreads pods over zones before launching a second node in one", () => {
    expect(plan({ pods: pods(3, spread(ZONE)) })).toEqual([
      "default: pod-0 | zone-a | m-2x",
      "default: pod-1 | zone-b | m-2x",
      "default: pod-2 | zone-c | m-2x",
    ]);
  });

  it("starts a topology spread with the cheapest of the equally empty domains", () => {
    const CAPACITY_TYPE = "karpenter.sh/capacity-type";
    const types = (lists: SchedulingResult) =>
      lists.newClaims.map(({ cheapest }) => cheapest.capacityType);
    expect(types(solve(schedulingInput({ pods: pods(2, spread(CAPACITY_TYPE)) })))).toEqual([
      "spot",
      "on-demand",
    ]);
    const one = pods(1, { labels: { app: "web" }, spec: antiAffinity(CAPACITY_TYPE, "web") });
    expect(types(solve(schedulingInput({ pods: one })))).toEqual(["spot"]);
  });

  it("counts running pods in a topology spread", () => {
    const running = pods(2, { name: "old", nodeName: "n", labels: { app: "web" } });
    const nodes = [nodeView({ node: { name: "n", capacity: { pods: "2" } }, pods: running })];
    expect(plan({ pods: pods(2, spread(ZONE)), nodes })).toEqual([
      "default: pod-0 | zone-b | m-2x",
      "default: pod-1 | zone-c | m-2x",
    ]);
  });

  it("puts one pod of a spread over hosts on each node", () => {
    expect(plan({ pods: pods(3, spread(HOSTNAME)) })).toHaveLength(3);
  });

  it("tries another zone when the emptiest one has no capacity", () => {
    const types = [instanceType({ cpu: 2, zones: ["zone-b"] })];
    const input = { pods: pods(1, spread(ZONE)), pools: [poolInput({}, types)] };
    expect(plan(input)).toEqual(["default: pod-0 | zone-b | m-2x"]);
  });

  it("puts pods with host anti-affinity to each other on separate nodes", () => {
    const alone = pods(2, {
      name: "alone",
      labels: { app: "db" },
      spec: antiAffinity(HOSTNAME, "db"),
    });
    expect(plan({ pods: alone })).toEqual([
      "default: alone-0 | any zone | m-2x",
      "default: alone-1 | any zone | m-2x",
    ]);
  });

  it("avoids a node with a running pod whose anti-affinity selects the pending pod", () => {
    const guard = pod({ name: "guard", nodeName: "n", spec: antiAffinity(HOSTNAME, "web") });
    const nodes = [nodeView({ node: { name: "n" }, pods: [guard] })];
    expect(plan({ pods: [pod({ labels: { app: "web" } })], nodes })).toEqual([
      "default: pod | any zone | m-2x",
    ]);
  });

  it("places each pod of a zonal anti-affinity in a zone of its own, within one batch", () => {
    const apart = pods(4, { labels: { app: "db" }, spec: antiAffinity(ZONE, "db") });
    const lines = plan({ pods: apart });
    expect(lines.slice(0, 3)).toEqual([
      "default: pod-0 | zone-a | m-2x",
      "default: pod-1 | zone-b | m-2x",
      "default: pod-2 | zone-c | m-2x",
    ]);
    expect(lines[3]).toContain("unsatisfiable topology constraint for pod anti-affinity");
  });

  it("puts pods with zonal pod affinity to each other into one zone", () => {
    const together = pods(3, { labels: { app: "db" }, cpu: "10", spec: affinity(ZONE, "db") });
    const lines = plan({ pods: together });
    expect(lines.map((line) => line.split(" | ")[1])).toEqual(["zone-a", "zone-a", "zone-a"]);
  });

  it("places a pod with pod affinity after its target, even if the target comes later in the queue", () => {
    const leader = pod({
      name: "leader",
      labels: { app: "db" },
      spec: { nodeSelector: { [ZONE]: "zone-b" } },
    });
    const follower = pod({ name: "follower", cpu: "2", spec: affinity(ZONE, "db") });
    expect(plan({ pods: [follower, leader] })).toEqual([
      "default: leader follower | zone-b | m-4x",
    ]);
  });

  it("does not put two pods with the same host port on one node", () => {
    const ports = [{ name: "main", ports: [{ containerPort: 80, hostPort: 80 }] }];
    const both = pods(2, { spec: { containers: ports } });
    expect(plan({ pods: both })).toHaveLength(2);
    expect(plan({ pods: both, nodes: [nodeView()] })).toHaveLength(2);
    expect(plan({ pods: both, nodes: [nodeView()] })).toContain("node <- pod-0");
  });

  it("keeps the host ports of DaemonSet pods free of other pods", () => {
    const containers = [{ name: "main", ports: [{ containerPort: 80, hostPort: 80 }] }];
    const daemon = pod({
      name: "proxy",
      owner: { kind: "DaemonSet", name: "proxy" },
      spec: { containers, nodeSelector: { "kubernetes.io/arch": "amd64" } },
    });
    const types = [instanceType({ cpu: 2 }), instanceType({ name: "arm", cpu: 4, arch: "arm64" })];
    const pods = [pod({ spec: { containers } })];
    const pools = [poolInput({}, types)];
    expect(plan({ pods, pools, daemonPods: [daemon] })).toEqual(["default: pod | any zone | arm"]);
    const nodes = [nodeView()];
    const anywhere = { ...daemon, spec: { containers } };
    expect(plan({ pods, nodes })).toEqual(["node <- pod"]);
    const left = plan({ pods, pools: [], nodes, daemonPods: [anywhere] });
    expect(left.join()).not.toContain("node <- pod");
  });

  it("keeps room on an existing node for DaemonSet pods that do not run there yet", () => {
    const daemon = pod({ name: "agent", cpu: "2", owner: { kind: "DaemonSet", name: "agent" } });
    const nodes = [nodeView()];
    const pods = [pod({ cpu: "3" })];
    expect(plan({ pods, nodes })).toEqual(["node <- pod"]);
    expect(plan({ pods, nodes, daemonPods: [daemon] })).toEqual(["default: pod | any zone | m-8x"]);
    const there = [nodeView({ pods: [{ ...daemon, spec: { ...daemon.spec, nodeName: "node" } }] })];
    expect(plan({ pods: [pod({ cpu: "2" })], nodes: there, daemonPods: [daemon] })).toEqual([
      "node <- pod",
    ]);
  });

  it("keeps no room for a DaemonSet pod if the pod that runs on the node requests more than the DaemonSet", () => {
    const owner = { kind: "DaemonSet", name: "agent" };
    const there = pod({ name: "agent-1", cpu: "3", nodeName: "node", owner });
    const daemonPods = [pod({ name: "agent", cpu: "1", owner })];
    const nodes = [nodeView({ pods: [there] })];
    expect(plan({ pods: [pod({ cpu: "1" })], nodes, daemonPods })).toEqual(["node <- pod"]);
    expect(plan({ pods: [pod({ cpu: "2" })], nodes, daemonPods })).toEqual([
      "default: pod | any zone | m-4x",
    ]);
  });

  it("does not count memory reserved for huge pages as allocatable", () => {
    const types = [
      instanceType({ name: "huge", capacity: { "hugepages-2Mi": 14 * 2 ** 30 } }),
      instanceType({ name: "plain", cpu: 8 }),
    ];
    const pods = [pod({ memory: "4Gi" })];
    expect(plan({ pods, pools: [poolInput({}, types)] })).toEqual([
      "default: pod | any zone | plain",
    ]);
  });

  it("launches only types with an available offering, and tells the pod if there is none", () => {
    const types = [
      instanceType({ cpu: 2, offerings: [] }),
      instanceType({
        cpu: 4,
        offerings: [
          { zone: "zone-a", capacityType: "spot", priceMicroUsd: 1, available: false },
          { zone: "zone-b", capacityType: "on-demand", priceMicroUsd: 9, available: true },
        ],
      }),
    ];
    const pools = [poolInput({}, types)];
    expect(plan({ pods: [pod()], pools })).toEqual(["default: pod | any zone | m-4x"]);
    const spot = pod({ spec: { nodeSelector: { "karpenter.sh/capacity-type": "spot" } } });
    expect(plan({ pods: [spot], pools })[0]).toContain(
      "no instance type has the required offering",
    );
  });

  it("keeps new nodes within the cpu and node limits of a NodePool", () => {
    const big = pods(3, { cpu: "15", memory: "1Gi" });
    const lines = plan({ pods: big, pools: [poolInput({ limits: { nodes: 2 } })] });
    expect(lines.slice(0, 2)).toEqual([
      "default: pod-0 | any zone | m-16x",
      "default: pod-1 | any zone | m-16x",
    ]);
    expect(lines[2]).toContain('node limits have been exhausted for nodepool: "default"');
    const small = plan({ pods: big, pools: [poolInput({ limits: { cpu: 20_000 } })] });
    expect(small[1]).toContain(
      'all available instance types exceed limits for nodepool: "default"',
    );
  });

  it("counts existing usage against the limits of a NodePool", () => {
    const limited = (usage: object) => ({
      ...poolInput({ limits: { cpu: 8_000, nodes: 2 } }),
      usage: { ...usage },
    });
    const typesFor = (usage: object) =>
      solve(
        schedulingInput({ pods: [pod()], pools: [limited(usage)] }),
      ).newClaims[0]?.instanceTypes.map(({ name }) => name);
    expect(typesFor({})).toEqual(["m-2x", "m-4x", "m-8x"]);
    expect(typesFor({ cpu: 4_000, nodes: 1 })).toEqual(["m-2x", "m-4x"]);
    expect(typesFor({ cpu: 4_000, nodes: 2 })).toEqual(undefined);
    expect(typesFor({ cpu: 7_000, nodes: 1 })).toEqual(undefined);
  });

  it("S0-26: names the Provisioner whose limits leave no instance type", () => {
    const pools = [
      poolInput({ name: "custom", generation: "alpha", limits: { cpu: 1_000 }, weight: 0 }),
    ];
    expect(plan({ pods: [pod()], pools })[0]).toBe(
      'pod: incompatible with provisioner "custom", daemonset overhead={}, ' +
        'all available instance types exceed limits for provisioner: "custom"',
    );
  });

  it("counts types excluded by limits among all types, in v1 among those that the pool may use", () => {
    const types = [1, 2, 4, 8].map((cpu) => instanceType({ cpu }));
    const limits = { cpu: 2_000 };
    const requirements = [
      {
        key: "node.kubernetes.io/instance-type",
        operator: "In" as const,
        values: ["m-1x", "m-4x"],
      },
    ];
    const excluded = (["alpha", "beta", "v1"] as const).map((generation) => {
      const pools = [poolInput({ generation, limits, requirements }, types)];
      const [line] = solve(schedulingInput({ pods: [pod()], pools })).excludedByLimits;
      return [line?.excluded, line?.total];
    });
    expect(excluded).toEqual([
      [2, 4],
      [2, 4],
      [1, 2],
    ]);
  });

  it("refuses a pod if minValues is not met, or relaxes minValues under BestEffort", () => {
    const requirements = [
      { key: "node.kubernetes.io/instance-type", operator: "Exists" as const, minValues: 3 },
    ];
    const input = { pods: [pod({ cpu: "7" })], pools: [poolInput({ requirements })] };
    expect(plan(input)[0]).toContain("minValues requirement is not met for label(s)");
    const options = { ...SCHEDULING_OPTIONS, minValuesPolicy: "BestEffort" as const };
    const relaxed = solve(schedulingInput({ ...input, options })).newClaims[0];
    expect(relaxed?.minValuesRelaxed).toBe(true);
    expect(relaxed?.instanceTypes.map((type) => type.name)).toEqual(["m-8x", "m-16x"]);
  });

  it("keeps the cheapest instance types that still meet minValues", () => {
    const types = [1, 2, 3, 4].map((cpu) =>
      instanceType({ cpu, labels: { family: [cpu === 4 ? "rare" : "plain"] } }),
    );
    const requirements = [{ key: "family", operator: "Exists" as const, minValues: 2 }];
    const options = { ...SCHEDULING_OPTIONS, maxInstanceTypes: 2 };
    const pools = [poolInput({ requirements }, types)];
    const [claim] = solve(schedulingInput({ pods: [pod()], pools, options })).newClaims;
    expect(claim?.instanceTypes.map((type) => type.name)).toEqual(["m-1x", "m-4x"]);
  });

  it("places a pod in the zone of its volume, and refuses a pod whose PersistentVolumeClaim is missing", () => {
    const volumes = {
      claims: [
        {
          metadata: {
            name: "data",
            namespace: "default",
            annotations: { "pv.kubernetes.io/bind-completed": "yes" },
          },
          spec: { volumeName: "pv" },
        },
      ],
      volumes: [
        {
          metadata: { name: "pv" },
          spec: {
            csi: { driver: "ebs.csi.aws.com" },
            nodeAffinity: {
              required: {
                nodeSelectorTerms: [
                  {
                    matchExpressions: [
                      {
                        key: "topology.ebs.csi.aws.com/zone",
                        operator: "In" as const,
                        values: ["zone-b"],
                      },
                    ],
                  },
                ],
              },
            },
          },
        },
      ],
      classes: [],
      csiNodes: [],
    };
    const using = (claimName: string) => ({
      volumes: [{ name: "data", persistentVolumeClaim: { claimName } }],
    });
    const batch = [
      pod({ name: "good", spec: using("data") }),
      pod({ name: "lost", spec: using("nothing") }),
    ];
    expect(plan({ pods: batch, volumes })).toEqual([
      "default: good | zone-b | m-2x",
      'lost: persistentvolumeclaim "nothing" not found',
    ]);
  });

  describe("with volumes that are bound to zones", () => {
    const zoned = (zones: readonly string[]) => ({
      claims: zones.map((_, at) => ({
        metadata: {
          name: `data-${at}`,
          namespace: "default",
          annotations: { "pv.kubernetes.io/bind-completed": "yes" },
        },
        spec: { volumeName: `pv-${at}` },
      })),
      volumes: zones.map((zone, at) => ({
        metadata: { name: `pv-${at}` },
        spec: {
          nodeAffinity: {
            required: {
              nodeSelectorTerms: [
                { matchExpressions: [{ key: ZONE, operator: "In" as const, values: [zone] }] },
              ],
            },
          },
        },
      })),
      classes: [],
      csiNodes: [],
    });
    /** The number of pods by zone, and the number of pods without a place. `free`: pods without a volume. */
    const zonesOf = (rules: Partial<Pod["spec"]>, zones: readonly string[], free: number) => {
      const labels = { app: "web" };
      const bound = zones.map((_, at) => ({ persistentVolumeClaim: { claimName: `data-${at}` } }));
      const batch = [
        ...pods(free, { name: "a", labels, spec: rules }),
        ...bound.map((volume, at) =>
          pod({
            name: `z-${at}`,
            labels,
            spec: { ...rules, volumes: [{ name: "data", ...volume }] },
          }),
        ),
      ];
      const { newClaims, unschedulable } = solve(
        schedulingInput({ pods: batch, volumes: zoned(zones) }),
      );
      const counts = new Map<string, number>();
      for (const { pods: own, requirements } of newClaims)
        for (const zone of requirements.find(({ key }) => key === ZONE)?.values ?? [])
          counts.set(zone, (counts.get(zone) ?? 0) + own.length);
      return { ...Object.fromEntries([...counts].sort()), pending: unschedulable.length };
    };

    it("leaves these zones to the pods with the volumes, if a topology spread requires it", () => {
      const { spec } = spread(ZONE, { app: "web" }, { minDomains: 3 });
      const bound = ["zone-a", "zone-b", "zone-a"];
      const [all, pending] = [{ "zone-a": 2, "zone-b": 2, "zone-c": 1 }, 0];
      expect(zonesOf(spec, bound, 2)).toEqual({ ...all, pending });
      expect(zonesOf(spec, bound, 1)).toEqual({ ...all, "zone-b": 1, pending });
    });

    it("leaves these zones to the pods with the volumes, if zonal anti-affinity requires it", () => {
      const spec = antiAffinity(ZONE, "web");
      const each = { "zone-a": 1, "zone-b": 1, "zone-c": 1 };
      expect(zonesOf(spec, ["zone-a"], 2)).toEqual({ ...each, pending: 0 });
      expect(zonesOf(spec, ["zone-b", "zone-a"], 1)).toEqual({ ...each, pending: 0 });
    });

    it("takes no zone from a pod of higher priority, even if fewer pods are pending then", () => {
      const high = pod({
        name: "high",
        cpu: "3500m",
        labels: { app: "web" },
        spec: { priority: 1 },
      });
      const { affinity } = antiAffinity(ZONE, "web");
      const low = ["low-0", "low-1"].map((name, at) =>
        pod({
          name,
          cpu: "1500m",
          spec: {
            affinity,
            priority: 0,
            volumes: [{ name: "data", persistentVolumeClaim: { claimName: `data-${at}` } }],
          } as Partial<Pod["spec"]>,
        }),
      );
      const pools = [poolInput({}, [instanceType({ cpu: 4, zones: ["zone-a"] })])];
      const volumes = zoned(["zone-a", "zone-a"]);
      const { newClaims } = solve(schedulingInput({ pods: [high, ...low], volumes, pools }));
      expect(
        newClaims.flatMap(({ pods: own }) => own.map(({ metadata }) => metadata.name)),
      ).toEqual(["high"]);
    });
  });

  it("counts in a refusal, for each pool, the types that are too small", () => {
    const [refused] = solve(schedulingInput({ pods: [pod({ cpu: "500" })] })).unschedulable;
    expect(refused?.message).toBe(
      'incompatible with nodepool "default", daemonset overhead={}, no instance type has enough ' +
        "resources, requirements=karpenter.sh/nodepool In [default], " +
        "test.sh/testclass In [default], " +
        'resources={"cpu":"500","memory":"128Mi","pods":"1"}',
    );
    expect(refused?.pools[0]?.rejected).toEqual({ resources: 4 });
  });

  it("names the label that a pod selects and no pool has values for", () => {
    const spec = { nodeSelector: { team: "red" } };
    expect(plan({ pods: [pod({ spec })] })[0]).toContain(
      'incompatible requirements, label "team" does not have known values',
    );
  });

  it("reports pools whose own requirements leave no instance type", () => {
    const requirements = [
      { key: "node.kubernetes.io/instance-type", operator: "In" as const, values: ["no-such"] },
    ];
    const pools = [poolInput({ name: "good" }), poolInput({ name: "empty", requirements })];
    const told = (input: Parameters<typeof schedulingInput>[0]) =>
      solve(schedulingInput(input)).withoutTypes;
    expect(told({ pods: [pod()], pools })).toEqual(["nodepool/empty"]);
    expect(told({ pods: [pod()], pools: [poolInput({ name: "good" })] })).toBeUndefined();
  });

  it("reports pools with too few types for their minValues, unless minValues may be relaxed", () => {
    const requirements = [
      { key: "node.kubernetes.io/instance-type", operator: "Exists" as const, minValues: 50 },
    ];
    const pools = [poolInput({ name: "good" }), poolInput({ name: "choosy", requirements })];
    const told = (minValuesPolicy: "Strict" | "BestEffort") =>
      solve(
        schedulingInput({
          pods: [pod()],
          pools,
          options: { ...SCHEDULING_OPTIONS, minValuesPolicy },
        }),
      ).withTooFewTypes;
    expect(told("Strict")).toEqual(["nodepool/choosy"]);
    expect(told("BestEffort")).toBeUndefined();
  });

  it("refuses a pod with a message if there is no pool at all", () => {
    expect(plan({ pods: [pod()], pools: [] })).toEqual([
      "pod: nodepool requirements filtered out all available instance types",
    ]);
  });

  describe("when there is not room for all pods", () => {
    const important = pod({ name: "vital", cpu: "1", spec: { priority: 1_000 } });
    const others = pods(2, { cpu: "2" });

    it("places pods of higher priority first if pool limits leave too little room", () => {
      const pools = [poolInput({ limits: { cpu: 4_000 } })];
      expect(plan({ pods: [...others, important], pools })[0]).toContain("vital");
      const equal = pod({ name: "vital", cpu: "1" });
      expect(plan({ pods: [...others, equal], pools })[0]).not.toContain("vital");
    });

    it("gives room on existing nodes to pods of higher priority if no node can be launched", () => {
      const nodes = [nodeView({ node: { name: "n" } })];
      const lines = plan({ pods: [...others, important], pools: [], nodes });
      expect(lines[0]).toBe("n <- vital pod-0");
    });

    it("places the pod of the highest priority among those that are left", () => {
      const of = (name: string, cpu: string, priority: number) =>
        pod({ name, cpu, spec: { priority } });
      const batch = [of("middling", "7", 5), of("low", "6500m", 1), of("vital", "6", 10)];
      const pools = [poolInput({ limits: { nodes: 1 } }, [instanceType({ cpu: 8 })])];
      expect(plan({ pods: batch, pools })[0]).toContain("vital");
    });

    it("keeps the order by size if a pod of high priority fits nowhere anyway", () => {
      const huge = pod({ name: "huge", cpu: "99", spec: { priority: 1_000 } });
      const pools = [poolInput({ limits: { cpu: 64_000 } })];
      const [first] = plan({ pods: [important, ...others, huge], pools });
      expect(first).toContain("pod-0 pod-1 vital");
      // The plan must not change if one of the important pods is too large for the limits.
      const wide = pod({ name: "wide", cpu: "15", spec: { priority: 1_000 } });
      const narrow = [poolInput({ limits: { cpu: 8_000 } })];
      const lines = plan({ pods: [important, ...others, wide], pools: narrow });
      expect(lines[0]).toContain("pod-0 pod-1 vital");
      expect(lines[1]).toContain("exceed limits");
    });
  });

  describe("with capacity reservations", () => {
    const reserved = (id: string, count: number) => ({
      zone: "zone-a",
      capacityType: "reserved" as const,
      priceMicroUsd: 0,
      available: true,
      labels: { "test.sh/reservation-id": id },
      reservationCapacity: count,
    });
    const onDemand = { zone: "zone-b", capacityType: "on-demand" as const, priceMicroUsd: 5 };
    const types = (count: number) => [
      instanceType({
        cpu: 2,
        offerings: [reserved("cr-1", count), { ...onDemand, available: true }],
      }),
      instanceType({ cpu: 8 }),
    ];
    const claims = (result: SchedulingResult) =>
      result.newClaims.map(({ cheapest, requirements }) => {
        const ids = requirements.find(({ key }) => key === "test.sh/reservation-id");
        return `${cheapest.instanceType} ${cheapest.capacityType} ${ids?.values ?? ""}`.trim();
      });
    const three = pods(3, { cpu: "1500m" });

    it("uses each reserved unit once, then buys on-demand", () => {
      const pools = [poolInput({}, types(2))];
      expect(claims(solve(schedulingInput({ pods: three, pools })))).toEqual([
        "m-2x reserved cr-1",
        "m-2x reserved cr-1",
        "m-2x on-demand",
      ]);
    });

    it("defers a pod in strict mode if the reservation is used up, and says why", () => {
      const options = { ...SCHEDULING_OPTIONS, reservedCapacity: "strict" as const };
      const pools = [poolInput({ weight: 1 }, types(2)), poolInput({ name: "other" })];
      const result = solve(schedulingInput({ pods: three, pools, options }));
      expect(claims(result)).toEqual(["m-2x reserved cr-1", "m-2x reserved cr-1"]);
      expect(result.unschedulable).toMatchObject([
        { pod: { metadata: { name: "pod-2" } }, deferred: true },
      ]);
      expect(result.unschedulable[0]?.message).toContain("but could not be reserved");
    });

    it("counts a reservation once for all pools, with the lowest count that a pool reports", () => {
      const pools = [poolInput({ name: "a" }, types(3)), poolInput({ name: "b" }, types(1))];
      const found = claims(solve(schedulingInput({ pods: three, pools })));
      expect(found.filter((one) => one.includes("cr-1"))).toHaveLength(1);
    });

    it("does not add pods that would make a node outgrow its reservation", () => {
      const pools = [poolInput({}, types(1))];
      const small = pods(5, { cpu: "1" });
      const result = solve(schedulingInput({ pods: small, pools }));
      expect(result.newClaims.map((one) => one.pods.length)).toEqual([2, 3]);
      expect(claims(result)[0]).toBe("m-2x reserved cr-1");
    });

    it("ignores a used-up reservation, and leaves a pod that selects it pending", () => {
      const pools = [poolInput({}, types(0))];
      expect(claims(solve(schedulingInput({ pods: three, pools })))).toEqual(["m-8x spot"]);
      const options = { ...SCHEDULING_OPTIONS, wellKnownLabels: ["test.sh/reservation-id"] };
      const picky = pods(2, {
        cpu: "1500m",
        spec: { nodeSelector: { "test.sh/reservation-id": "cr-1" } },
      });
      const one = solve(
        schedulingInput({ pods: picky, pools: [poolInput({}, types(1))], options }),
      );
      expect(claims(one)).toEqual(["m-2x reserved cr-1"]);
      expect(one.unschedulable).toHaveLength(1);
    });
  });

  it("checks each capacity of an instance type by itself if an offering overrides the capacity", () => {
    const dear = { zone: "zone-a", capacityType: "on-demand" as const, priceMicroUsd: 9 };
    const gpu = { capacityOverride: { "x.com/gpu": 1 }, overheadOverride: { cpu: 1_000 } };
    const type = instanceType({
      cpu: 4,
      offerings: [
        { ...dear, zone: "zone-b", priceMicroUsd: 1, available: true },
        { ...dear, ...gpu, available: true },
      ],
    });
    const pools = [poolInput({}, [type])];
    const solved = (cpu: string, requests = {}) =>
      solve(schedulingInput({ pods: [pod({ cpu, requests })], pools }));
    const either = solved("3").newClaims[0];
    expect(either?.instanceTypes).toHaveLength(1);
    expect(either?.instanceTypes[0]?.offerings).toHaveLength(2);
    expect(either?.cheapest.zone).toBe("zone-b");
    expect(solved("1", { "x.com/gpu": "1" }).newClaims[0]?.cheapest.zone).toBe("zone-a");
    expect(solved("4").newClaims[0]?.instanceTypes[0]?.offerings).toHaveLength(1);
    expect(solved("4", { "x.com/gpu": "1" }).unschedulable).toHaveLength(1);
  });

  it("makes the same plan for any order of pods and pools", () => {
    const batch = [...pods(20, spread(ZONE)), ...pods(20, { name: "x", cpu: "1" })];
    const pools = [poolInput({ name: "a" }), poolInput({ name: "b" })];
    const forward = solve(schedulingInput({ pods: batch, pools }));
    const backward = solve(
      schedulingInput({ pods: batch.toReversed(), pools: pools.toReversed() }),
    );
    expect(JSON.stringify(backward)).toBe(JSON.stringify(forward));
  });
});
