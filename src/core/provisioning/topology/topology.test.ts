import { describe, expect, it } from "vitest";
import type { Pod, TopologySpreadConstraint } from "../../../apis/core/pod.ts";
import {
  instanceType,
  nodeView,
  type PodOptions,
  pod,
  pods,
  poolInput,
  SCHEDULING_OPTIONS,
  schedulingInput,
} from "../../../testing/builders.ts";
import type { SchedulingInput } from "../scheduling-input.ts";
import { solve } from "../solve.ts";

const ZONE = "topology.kubernetes.io/zone";
const HOSTNAME = "kubernetes.io/hostname";
const WEB = { labelSelector: { matchLabels: { app: "web" } } };

/**
 * The plan as text: pods by zone of their planned node (`?`: open) or by name of an existing node. Then the pods
 * without a place.
 */
function placed(input: Partial<SchedulingInput>): string[] {
  const result = solve(schedulingInput(input));
  const names = (list: readonly Pod[]) => list.map((one) => one.metadata.name).join(" ");
  const claims = result.newClaims.map((claim) => {
    const zone = claim.requirements.find((one) => one.key === ZONE)?.values?.join("/");
    return `${zone ?? "?"}: ${names(claim.pods)}`;
  });
  const existing = result.existing.map((one) => `${one.nodeName}: ${names(one.pods)}`);
  const left = result.unschedulable.map((one) => `left: ${one.pod.metadata.name}`);
  return [...claims, ...existing, ...left].sort();
}

function spread(
  constraint: Partial<TopologySpreadConstraint>,
  labels = { app: "web" },
): PodOptions {
  const rule = { maxSkew: 1, topologyKey: ZONE, whenUnsatisfiable: "DoNotSchedule" as const };
  return { labels, spec: { topologySpreadConstraints: [{ ...rule, ...WEB, ...constraint }] } };
}

const running = (name: string, on: string, labels = { app: "web" }) =>
  pod({ name, nodeName: on, labels });

const full = (name: string, zone: string, on: readonly Pod[], labels = {}) =>
  nodeView({
    node: { name, labels: { [ZONE]: zone, ...labels }, capacity: { cpu: "100m" } },
    pods: on,
  });

describe("topology spread", () => {
  it("keeps a pod pending while there are fewer zones than minDomains", () => {
    const options = spread({ minDomains: 4 });
    expect(placed({ pods: pods(4, options) })).toEqual([
      "left: pod-3",
      "zone-a: pod-0",
      "zone-b: pod-1",
      "zone-c: pod-2",
    ]);
  });

  it("ignores a zone in which no instance type of the pod's pools fits (seed 7631239)", () => {
    const type = instanceType({ cpu: 4, zones: ["zone-b"] });
    const elsewhere = [instanceType({ cpu: 1, zones: ["zone-a"] }), type];
    const pinned = poolInput(
      { name: "pinned", requirements: [{ key: ZONE, operator: "In", values: ["zone-a"] }] },
      elsewhere,
    );
    const both = pods(2, { ...spread({}), cpu: "2" });
    const anyType = { pods: both, pools: [poolInput({}, [type]), pinned] };
    expect(placed(anyType)).toEqual(["left: pod-1", "zone-b: pod-0"]);
    const rule = spread({});
    const typed = { ...rule.spec, nodeSelector: { "node.kubernetes.io/instance-type": type.name } };
    const ofType = pods(2, { ...rule, cpu: "2", spec: typed });
    expect(placed({ ...anyType, pods: ofType })).toEqual(["zone-b: pod-0 pod-1"]);
  });

  it("does not count pods on a planned node whose zone is still open (seed 7610439)", () => {
    const anywhere = pods(3, { labels: { app: "web" }, cpu: "3" });
    const rule = spread({ minDomains: 3 });
    const pinned = pod({
      ...rule,
      name: "pinned",
      spec: { ...rule.spec, nodeSelector: { [ZONE]: "zone-a" } },
    });
    const pools = [poolInput({}, [instanceType({ cpu: 4 })])];
    const open = ["?: pod-0", "?: pod-1", "?: pod-2"];
    expect(placed({ pods: [...anywhere, pinned], pools })).toEqual([...open, "zone-a: pinned"]);
    const only = [poolInput({}, [instanceType({ cpu: 4, zones: ["zone-a"] })])];
    expect(placed({ pods: [...anywhere, pinned], pools: only })).toEqual([...open, "left: pinned"]);
  });

  it("ignores a capacity type that is not sold in the zone of the pods (seed 7500731)", () => {
    const sold = [
      ["zone-a", "spot"],
      ["zone-a", "on-demand"],
      ["zone-b", "on-demand"],
    ] as const;
    const offerings = sold.map(([zone, capacityType]) => ({
      zone,
      capacityType,
      priceMicroUsd: 100_000,
      available: true,
    }));
    const rule = spread({ topologyKey: "karpenter.sh/capacity-type" });
    const pools = [poolInput({}, [instanceType({ cpu: 4, offerings })])];
    const inZone = (zone: string) => ({
      pods: pods(2, { ...rule, spec: { ...rule.spec, nodeSelector: { [ZONE]: zone } } }),
      pools,
    });
    expect(placed(inZone("zone-b"))).toEqual(["zone-b: pod-0 pod-1"]);
    expect(placed(inZone("zone-a"))).toEqual(["zone-a: pod-0", "zone-a: pod-1"]);
  });

  it("counts a zone that the pods may not use once a node is there, if nodeAffinityPolicy is Ignore", () => {
    const pinned = spread({ nodeAffinityPolicy: "Ignore" });
    const options = { ...pinned, spec: { ...pinned.spec, nodeSelector: { [ZONE]: "zone-a" } } };
    expect(placed({ pods: pods(2, options) })).toEqual(["zone-a: pod-0 pod-1"]);
    const nodes = [full("n", "zone-b", [])];
    expect(placed({ pods: pods(2, options), nodes })).toEqual(["left: pod-1", "zone-a: pod-0"]);
    // A node also counts if its pod is placed in the same batch.
    const other = pod({ name: "other", cpu: "2", spec: { nodeSelector: { [ZONE]: "zone-b" } } });
    expect(placed({ pods: [other, ...pods(2, options)] })).toEqual([
      "left: pod-1",
      "zone-a: pod-0",
      "zone-b: other",
    ]);
  });

  it("counts pods on a planned node if all of its instance types are in one zone", () => {
    const types = [
      instanceType({ cpu: 8, zones: ["zone-a"] }),
      instanceType({ cpu: 32, zones: ["zone-b"] }),
    ];
    const big = pods(2, { name: "big", cpu: "10", labels: { app: "web" } });
    const input = { pods: [...big, pod(spread({}))], pools: [poolInput({}, types)] };
    expect(placed(input)).toEqual(["?: big-0 big-1", "zone-a: pod"]);
  });

  it("does not count pods on a planned node that no type lets match the pod", () => {
    const types = [
      instanceType({ cpu: 16, zones: ["zone-a"] }),
      instanceType({ name: "arm", arch: "arm64", cpu: 2, zones: ["zone-a", "zone-b"] }),
    ];
    const arm = { ...spread({}).spec, nodeSelector: { "kubernetes.io/arch": "arm64" } };
    const all = [
      pod({ name: "big", cpu: "10", labels: { app: "web" } }),
      ...pods(2, { cpu: "1500m", ...spread({}), spec: arm }),
    ];
    expect(placed({ pods: all, pools: [poolInput({}, types)] })).toEqual([
      "?: big",
      "zone-a: pod-0",
      "zone-b: pod-1",
    ]);
  });

  it("does not count pods on a planned node that would match only after other pods join it", () => {
    const team = { key: "team", operator: "In" as const, values: ["blue", "red"] };
    const pools = [poolInput({ requirements: [team] }, [instanceType({ cpu: 4 })])];
    const free = {
      ...spread({}),
      name: "free",
      cpu: "3",
      spec: { nodeSelector: { [ZONE]: "zone-a" } },
    };
    const zonesOf = (nodeSelector: Record<string, string>) => {
      const spec = { ...spread({}).spec, nodeSelector };
      return placed({
        pods: [pod(free), ...pods(2, { ...spread({}), cpu: "2500m", spec })],
        pools,
      });
    };
    // The node gets the lowest value of `team` that is still allowed.
    expect(zonesOf({ team: "blue" })).toEqual(["zone-a: free", "zone-b: pod-0", "zone-c: pod-1"]);
    expect(zonesOf({ team: "red" })).toEqual(["zone-a: free", "zone-a: pod-0", "zone-b: pod-1"]);
    // A term that the node cannot satisfy has no effect.
    const terms = [
      { team: "red", zones: ["zone-a", "zone-b"] },
      { team: "blue", zones: ["zone-c"] },
    ].map(({ team: value, zones }) => ({
      matchExpressions: [
        { key: "team", operator: "In", values: [value] },
        { key: ZONE, operator: "In", values: zones },
      ],
    }));
    const nodeAffinity = {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms as never },
    };
    const either = pod({
      ...spread({}),
      cpu: "2500m",
      spec: { ...spread({}).spec, affinity: { nodeAffinity } },
    });
    expect(placed({ pods: [pod(free), either], pools })).toEqual(["zone-a: free", "zone-a: pod"]);
  });

  it("counts a zone that a later pod will open, unless more pods would stay pending", () => {
    const last = pod({ name: "last", cpu: "100m", spec: { nodeSelector: { [ZONE]: "zone-b" } } });
    const terms = ["zone-a", "zone-b"].map((zone) => ({
      matchExpressions: [{ key: ZONE, operator: "In", values: [zone] }],
    }));
    const nodeAffinity = {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms as never },
    };
    const either = { ...spread({}).spec, affinity: { nodeAffinity } };
    const alone = pods(4, { ...spread({}), cpu: "900m", spec: either });
    expect(placed({ pods: alone })).toEqual(["zone-a: pod-0 pod-1 pod-2 pod-3"]);
    expect(placed({ pods: [...alone, last] })).toEqual([
      "zone-a: pod-0 pod-2",
      "zone-b: pod-1 pod-3 last",
    ]);
    const pinned = {
      ...spread({ nodeAffinityPolicy: "Ignore" }).spec,
      nodeSelector: { [ZONE]: "zone-a" },
    };
    const both = pods(2, { ...spread({}), cpu: "900m", spec: pinned });
    expect(placed({ pods: [...both, last] })).toEqual(["zone-a: pod-0 pod-1", "zone-b: last"]);
  });

  it("drops a ScheduleAnyway spread that cannot be met", () => {
    const soft = spread({ whenUnsatisfiable: "ScheduleAnyway", topologyKey: "rack" });
    expect(placed({ pods: [pod(soft)] })).toEqual(["?: pod"]);
    const hard = spread({ topologyKey: "rack" });
    expect(placed({ pods: [pod(hard)] })).toEqual(["left: pod"]);
  });

  it("drops ScheduleAnyway spreads one by one, not all at once", () => {
    const rule = spread({ whenUnsatisfiable: "ScheduleAnyway" });
    const [zonal] = rule.spec?.topologySpreadConstraints ?? [];
    const topologySpreadConstraints = [{ ...zonal, topologyKey: "rack" }, zonal] as never;
    const batch = pods(2, { ...rule, spec: { topologySpreadConstraints } });
    expect(placed({ pods: batch })).toEqual(["zone-a: pod-0", "zone-b: pod-1"]);
  });

  it("ignores ScheduleAnyway spreads under preference policy Ignore", () => {
    const soft = spread({ whenUnsatisfiable: "ScheduleAnyway" });
    const options = { ...SCHEDULING_OPTIONS, preferencePolicy: "Ignore" as const };
    expect(placed({ pods: pods(2, soft), options })).toEqual(["?: pod-0 pod-1"]);
  });

  it("counts each revision of a Deployment by itself with matchLabelKeys", () => {
    const nodes = [
      full("n", "zone-a", [running("old", "n", { app: "web", hash: "1" } as { app: string })]),
    ];
    const options = spread({ matchLabelKeys: ["hash"] }, { app: "web", hash: "2" } as {
      app: string;
    });
    expect(placed({ pods: [pod(options)], nodes })).toEqual(["zone-a: pod"]);
    expect(placed({ pods: [pod(spread({}))], nodes })).toEqual(["zone-b: pod"]);
  });

  it("counts only nodes that match the pod's node selector, unless nodeAffinityPolicy is Ignore", () => {
    const nodes = [full("n", "zone-a", [running("old", "n")], { "kubernetes.io/arch": "arm64" })];
    const selector = { nodeSelector: { "kubernetes.io/arch": "amd64" } };
    const made = (constraint: Partial<TopologySpreadConstraint>) => {
      const options = spread(constraint);
      return [pod({ ...options, spec: { ...options.spec, ...selector } })];
    };
    expect(placed({ pods: made({}), nodes })).toEqual(["zone-a: pod"]);
    expect(placed({ pods: made({ nodeAffinityPolicy: "Ignore" }), nodes })).toEqual([
      "zone-b: pod",
    ]);
  });

  it("excludes zones that only a tainted pool reaches, if nodeTaintsPolicy is Honor", () => {
    const only = (zone: string) => [instanceType({ zones: [zone] })];
    const taints = [{ key: "gpu", effect: "NoSchedule" as const }];
    const pools = [
      poolInput({ name: "a" }, only("zone-a")),
      poolInput({ name: "b", taints }, only("zone-b")),
    ];
    const honor = spread({ nodeTaintsPolicy: "Honor" });
    expect(placed({ pods: pods(2, honor), pools })).toEqual(["zone-a: pod-0 pod-1"]);
    expect(placed({ pods: pods(2, spread({})), pools })).toEqual(["left: pod-1", "zone-a: pod-0"]);
  });

  it("does not count pods on a node whose taints the pod does not tolerate, if nodeTaintsPolicy is Honor", () => {
    const around = (effect: "NoSchedule" | "PreferNoSchedule", constraint: object) => {
      const node = { name: "n", labels: { [ZONE]: "zone-a" }, capacity: { cpu: "100m" } };
      const taints = [{ key: "gpu", effect }];
      const nodes = [nodeView({ node: { ...node, taints }, pods: [running("old", "n")] })];
      return placed({ pods: [pod(spread(constraint))], nodes });
    };
    const honor = { nodeTaintsPolicy: "Honor" as const };
    expect(around("NoSchedule", honor)).toEqual(["zone-a: pod"]);
    expect(around("NoSchedule", {})).toEqual(["zone-b: pod"]);
    expect(around("PreferNoSchedule", honor)).toEqual(["zone-b: pod"]);
  });

  it("counts pods on a node that is being deleted, until they are planned for another node", () => {
    const node = { name: "n", labels: { [ZONE]: "zone-a" } };
    const old = running("old", "n");
    const nodes = [nodeView({ node, pods: [old], deleting: true })];
    expect(placed({ pods: [pod(spread({}))], nodes })).toEqual(["zone-b: pod"]);
    const moving = pod({ name: "old", nodeName: "n", labels: { app: "web" }, cpu: "50m" });
    expect(placed({ pods: [pod(spread({})), moving], nodes })).toEqual(["zone-a: pod old"]);
  });

  it("ignores minDomains of a ScheduleAnyway spread", () => {
    const soft = spread({ whenUnsatisfiable: "ScheduleAnyway", minDomains: 4 });
    const batch = pods(6, { ...soft, cpu: "100m" });
    // If minDomains counted, pods would drop the spread. Then all pods except three would go to the existing node.
    expect(placed({ pods: batch, nodes: [nodeView({ node: { name: "n" } })] })).toEqual([
      "n: pod-0 pod-3",
      "zone-b: pod-1 pod-4",
      "zone-c: pod-2 pod-5",
    ]);
  });

  it("counts a pod that was placed before its node's zone was known", () => {
    const plain = pod({ name: "plain", cpu: "1", labels: { app: "web" } });
    const pinned = pod({ name: "pinned", spec: { nodeSelector: { [ZONE]: "zone-a" } } });
    const spreading = pod({ ...spread({}), name: "spreading", cpu: "10m" });
    expect(placed({ pods: [plain, pinned, spreading] })).toEqual([
      "zone-a: plain pinned",
      "zone-b: spreading",
    ]);
  });

  describe("if a pod that the spread counts is on a planned node whose zone is open", () => {
    const alone = spread({ topologyKey: HOSTNAME });
    const small = pods(1, { ...spread({}), name: "small", cpu: "10m" });
    const large = (options: PodOptions = {}) => [
      pod({ name: "large", cpu: "1", labels: { app: "web" }, ...options }),
    ];
    const one = { limits: { nodes: 1 } };

    it("opens another node so that both are not counted in one zone", () => {
      const input = { pods: [...large(alone), ...small] };
      expect(placed(input)).toEqual(["?: large", "zone-a: small-0"]);
      const two = pods(2, { ...spread({}), name: "small", cpu: "10m" });
      expect(placed({ pods: [...large(), ...two] })).toEqual([
        "?: large",
        "zone-a: small-0",
        "zone-b: small-1",
      ]);
    });

    it("joins that node if maxSkew allows one more pod in its zone", () => {
      const wider = pod({ ...spread({ maxSkew: 2 }), cpu: "10m" });
      expect(placed({ pods: [...large(), wider] })).toEqual(["zone-a: large pod"]);
    });

    it("joins that node if there is no other place, unless the counted pod's own spread forbids it", () => {
      const pools = [poolInput(one)];
      expect(placed({ pods: [...large(), ...small], pools })).toEqual(["zone-a: large small-0"]);
      expect(placed({ pods: [...large(alone), ...small], pools })).toEqual([
        "?: large",
        "left: small-0",
      ]);
    });

    describe("and the pod also has pod affinity on the host", () => {
      const term = { topologyKey: HOSTNAME, ...WEB };
      const podAffinity = { requiredDuringSchedulingIgnoredDuringExecution: [term] };
      const near = (rule: Partial<TopologySpreadConstraint>, labels = { app: "web" }) =>
        pod({
          name: "near",
          cpu: "10m",
          labels,
          spec: { ...spread(rule).spec, affinity: { podAffinity } },
        });
      const others = pods(2, { name: "other", cpu: "1", labels: { app: "web" } });
      const away = full("n", "zone-b", [running("old", "n")]);
      const empty = full("m", "zone-c", []);
      const pools = [poolInput(one)];

      it("joins the first of the counted pods (seed 3003012)", () => {
        const beside = (pod: Pod) =>
          placed({ pods: [...others, pod], pools, nodes: [away, empty] });
        expect(beside(near({}))).toEqual(["?: other-0 other-1", "left: near"]);
        expect(beside(near({ maxSkew: 2 }))).toEqual(["zone-a: other-0 other-1 near"]);
        expect(beside(near({}, { app: "other" }))).toEqual(["zone-a: other-0 other-1 near"]);
      });

      it("joins a counted pod if another one can still go to the emptiest zone (seed 40002224)", () => {
        const large = pods(2, { name: "other", cpu: "3", labels: { app: "web" } });
        const types = [instanceType({ cpu: 4 })];
        const two = [poolInput({ limits: { nodes: 2 } }, types)];
        expect(placed({ pods: [...large, near({})], pools: two, nodes: [away, empty] })).toEqual([
          "?: other-1",
          "zone-a: other-0 near",
        ]);
      });

      it("stays pending if no counted pod can raise the smallest count (seed 25001458)", () => {
        const large = pods(2, { name: "other", cpu: "3", labels: { app: "web" } });
        const types = [instanceType({ cpu: 4 })];
        const two = [poolInput({ limits: { nodes: 2 } }, types)];
        const wanting = near({ minDomains: 4 });
        expect(placed({ pods: [...large, wanting], pools: two, nodes: [away, empty] })).toEqual([
          "?: other-0",
          "?: other-1",
          "left: near",
        ]);
        const requirements = [
          { key: ZONE, operator: "In" as const, values: ["zone-a"] },
          { key: "team", operator: "In" as const, values: ["red", "blue"] },
        ];
        const open = [poolInput({ limits: { nodes: 2 }, requirements }, types)];
        const red = full("m", "zone-c", [], { team: "red" });
        const any = near({});
        const picky = { ...any, spec: { ...any.spec, nodeSelector: { team: "red" } } };
        expect(placed({ pods: [...large, picky], pools: open, nodes: [away, red] })).toEqual([
          "left: near",
          "zone-a: other-0",
          "zone-a: other-1",
        ]);
      });

      it("joins all counted pods if it may be the first in its zone, or one of them is not counted", () => {
        expect(placed({ pods: [...others, near({})], pools })).toEqual([
          "zone-a: other-0 other-1 near",
        ]);
        const labels = { app: "web", rev: "1" };
        const batch = [pod({ name: "counted", cpu: "1", labels }), others[0] as Pod];
        const rule = near({ labelSelector: { matchLabels: { rev: "1" } } }, labels);
        const nodes = [away, empty];
        expect(placed({ pods: [...batch, rule], pools, nodes })).toEqual([
          "zone-a: counted other-0 near",
        ]);
        expect(placed({ pods: [batch[0] as Pod, rule], pools, nodes })).toEqual([
          "?: counted",
          "left: near",
        ]);
      });
    });
  });
});

describe("pod affinity", () => {
  const near = (topologyKey: string, extra = {}) => ({
    affinity: {
      podAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, ...WEB, ...extra }],
      },
    },
  });

  it("joins the zone in which the target pods run", () => {
    const nodes = [full("n", "zone-c", [running("old", "n")])];
    expect(placed({ pods: [pod({ spec: near(ZONE) })], nodes })).toEqual(["zone-c: pod"]);
  });

  it("joins the planned node of its target pod", () => {
    const leader = pod({ name: "leader", cpu: "1", labels: { app: "web" } });
    const follower = pod({ name: "follower", spec: near(HOSTNAME) });
    expect(placed({ pods: [leader, follower] })).toEqual(["?: leader follower"]);
  });

  it("joins a node of its targets whose zone is still open (seed 7620150)", () => {
    const leader = pod({ name: "leader", cpu: "3", labels: { app: "web" } });
    const other = pod({ name: "z-other", cpu: "3" });
    const pools = [poolInput({}, [instanceType({ cpu: 4 })])];
    const follower = (spec: object) => pod({ name: "follower", spec: { ...near(ZONE), ...spec } });
    expect(placed({ pods: [leader, other, follower({})], pools })).toEqual([
      "?: z-other",
      "zone-a/zone-b/zone-c: leader follower",
    ]);
    const pinned = follower({ nodeSelector: { [ZONE]: "zone-b" } });
    expect(placed({ pods: [leader, other, pinned], pools })).toEqual([
      "?: z-other",
      "zone-b: leader follower",
    ]);
  });

  it("joins planned pods of its own labels, rather than be the first in another zone (seed 9951442)", () => {
    const labels = { app: "web" };
    const batch = [
      pod({ name: "other", cpu: "3" }),
      ...pods(2, { labels, cpu: "1500m" }),
      pod({ name: "near", labels, cpu: "500m", spec: near(ZONE) }),
    ];
    expect(placed({ pods: batch, pools: [poolInput({}, [instanceType({ cpu: 4 })])] })).toEqual([
      "?: other",
      "zone-a/zone-b/zone-c: pod-0 pod-1 near",
    ]);
  });

  it("joins a later target pod on another node, if the first target's node is full", () => {
    const labels = { app: "web" };
    const batch = [
      pod({ name: "leader", cpu: "3200m", labels }),
      pod({ name: "other", cpu: "1200m" }),
      pod({ name: "follower", cpu: "1100m", spec: near(ZONE) }),
      pod({ name: "second", cpu: "1", labels }),
    ];
    expect(placed({ pods: batch, pools: [poolInput({}, [instanceType({ cpu: 4 })])] })).toEqual([
      "?: leader",
      "zone-a/zone-b/zone-c: other second follower",
    ]);
  });

  it("keeps a pod pending if no pod matches its affinity", () => {
    expect(placed({ pods: [pod({ spec: near(ZONE) })] })).toEqual(["left: pod"]);
  });

  it("matches pods of other namespaces by namespaces and namespaceSelector", () => {
    const nodes = [
      full("n", "zone-c", [
        pod({ name: "old", namespace: "shop", nodeName: "n", labels: { app: "web" } }),
      ]),
    ];
    const namespaces = [{ metadata: { name: "shop", labels: { tier: "front" } } }];
    const by = (extra: object) =>
      placed({ pods: [pod({ spec: near(ZONE, extra) })], nodes, namespaces });
    expect(by({})).toEqual(["left: pod"]);
    expect(by({ namespaces: ["shop"] })).toEqual(["zone-c: pod"]);
    expect(by({ namespaceSelector: { matchLabels: { tier: "front" } } })).toEqual(["zone-c: pod"]);
    expect(by({ namespaceSelector: {} })).toEqual(["zone-c: pod"]);
    const back = { namespaceSelector: { matchLabels: { tier: "back" } } };
    expect(by(back)).toEqual(["left: pod"]);
    expect(by({ ...back, namespaces: ["shop"] })).toEqual(["zone-c: pod"]);
    const unlisted = { nodes, namespaces: [] };
    const all = pod({ spec: near(ZONE, { namespaceSelector: {} }) });
    expect(placed({ pods: [all], ...unlisted })).toEqual(["zone-c: pod"]);
  });

  it("drops a preferred affinity if no pod matches it", () => {
    const preferred = {
      affinity: {
        podAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 1, podAffinityTerm: { topologyKey: ZONE, ...WEB } },
          ],
        },
      },
    };
    expect(placed({ pods: [pod({ spec: preferred })] })).toEqual(["?: pod"]);
  });
});

describe("pod anti-affinity", () => {
  const apart = (topologyKey: string) => ({
    affinity: {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, ...WEB }],
      },
    },
  });

  it("avoids zones in which matching pods run", () => {
    const nodes = ["zone-a", "zone-b"].map((zone, index) =>
      full(`n${index}`, zone, [running(`old-${index}`, `n${index}`)]),
    );
    expect(placed({ pods: [pod({ spec: apart(ZONE) })], nodes })).toEqual(["zone-c: pod"]);
  });

  it("of running pods limits only pods that it selects, over values that only existing nodes show", () => {
    // No pool defines values for racks. The existing node shows that there is another rack.
    const pools = [poolInput({ requirements: [{ key: "rack", operator: "Exists" }] })];
    const racks = (namespaces: readonly string[]) => {
      const podAntiAffinity = {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { topologyKey: "rack", ...WEB, namespaces },
        ],
      };
      const hermit = pod({
        name: "hermit",
        nodeName: "n1",
        spec: { affinity: { podAntiAffinity } },
      });
      const nodes = [
        full("n1", "zone-a", [hermit], { rack: "r1" }),
        full("n2", "zone-a", [], { rack: "r2" }),
      ];
      const web = pod({ cpu: "1", labels: { app: "web" } });
      const { newClaims } = solve(schedulingInput({ pods: [web], nodes, pools }));
      return newClaims.map((one) => one.requirements.find(({ key }) => key === "rack"));
    };
    const second = [{ key: "rack", operator: "In", values: ["r2"] }];
    expect(racks([])).toEqual(second);
    expect(racks(["shop", "default"])).toEqual(second);
    expect(racks(["shop"])).toEqual([{ key: "rack", operator: "Exists" }]);
  });

  it("does not count pods that are being deleted or moved", () => {
    const old = running("old", "n");
    const leaving = {
      ...old,
      metadata: { ...old.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" },
    };
    const nodes = [nodeView({ node: { name: "n" }, pods: [leaving] })];
    expect(placed({ pods: [pod({ spec: apart(HOSTNAME) })], nodes })).toEqual(["n: pod"]);
    const moved = [nodeView({ node: { name: "n" }, pods: [old], deleting: true })];
    const moving = pod({ name: "old", labels: { app: "web" }, spec: apart(ZONE) });
    expect(placed({ pods: [moving], nodes: moved })).toEqual(["zone-a: old"]);
  });

  it("keeps pods of one batch apart, whichever of them has the rule", () => {
    const hermit = pod({ name: "hermit", cpu: "1", spec: apart(HOSTNAME) });
    const web = pod({ name: "web", labels: { app: "web" } });
    expect(placed({ pods: [hermit, web] })).toEqual(["?: hermit", "?: web"]);
  });
});

describe("pod affinity of a pod to its own labels", () => {
  const term = { topologyKey: HOSTNAME, ...WEB };
  const podAffinity = { requiredDuringSchedulingIgnoredDuringExecution: [term] };
  const near = (name: string, cpu: string, spec: Partial<Pod["spec"]> = {}) =>
    pod({
      name,
      cpu,
      memory: "1500Mi",
      labels: { app: "web" },
      spec: { ...spec, affinity: { podAffinity } },
    });
  const empty = ["zone-b", "zone-c"].map((zone) => full(zone, zone, []));

  it("fixes the zone of the first pod if a spread pod would be placed before it (seed 910892)", () => {
    // The pod that is placed second is refused in one of the zones. Either it is no longer the first pod of its
    // affinity there, or the skew would be too large.
    const spreading = pod({ ...spread({}), name: "spreading", cpu: "2" });
    const pinned = (zone: string, cpu = "500m") =>
      pod({ name: "pinned", cpu, spec: { nodeSelector: { [ZONE]: zone } } });
    const batch = [near("first", "3"), spreading];
    expect(placed({ pods: batch, nodes: empty })).toEqual(["?: first", "zone-a: spreading"]);
    expect(placed({ pods: [...batch, pinned("zone-a")], nodes: empty })).toEqual([
      "zone-a: first pinned",
      "zone-b: spreading",
    ]);
    expect(placed({ pods: [...batch, pinned("zone-b")], nodes: empty })).toEqual([
      "zone-a: spreading",
      "zone-b: first pinned",
    ]);
  });

  it("leaves the zone of the first pod open if fixing it would keep more pods pending (seed 911310)", () => {
    const inB = { nodeSelector: { [ZONE]: "zone-b" } };
    const { spec } = spread({ nodeAffinityPolicy: "Ignore" });
    const spreading = pod({
      name: "spreading",
      cpu: "2",
      memory: "15Gi",
      labels: { app: "web" },
      spec: { ...spec, ...inB },
    });
    const batch = [near("first", "3"), spreading, near("second", "400m", inB)];
    const pools = [poolInput({}, [instanceType({ memoryGi: 16 })])];
    // The second pod must be in zone-b. If the first pod were there, too, the spread pod would be refused. Either way
    // one pod stays pending.
    expect(placed({ pods: batch, nodes: empty, pools })).toEqual([
      "left: second",
      "zone-a: first",
      "zone-b: spreading",
    ]);
    const third = near("third", "400m", inB);
    expect(placed({ pods: [...batch, third], nodes: empty, pools })).toEqual([
      "zone-b: first second third",
      "zone-b: spreading",
    ]);
  });

  it("refuses a pod if a matching pod runs in a zone that the pod may not use", () => {
    const term = { topologyKey: ZONE, ...WEB };
    const affinity = { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
    const labels = { app: "web" };
    const spec = { affinity, nodeSelector: { [ZONE]: "zone-b" } };
    expect(placed({ pods: [pod({ labels, spec })] })).toEqual(["zone-b: pod"]);
    const nodes = [full("n", "zone-a", [running("old", "n")])];
    expect(placed({ pods: [pod({ labels, spec })], nodes })).toEqual(["left: pod"]);
  });
});
