import { describe, expect, it } from "vitest";
import type { Pod } from "../../../apis/core/pod.ts";
import { atOnce } from "../../../base/steps.ts";
import {
  instanceType,
  nodeClaim,
  nodeView,
  pod,
  poolInput,
  schedulingInput,
} from "../../../testing/builders.ts";
import {
  claimsOf,
  claimTemplate,
  DRIVER,
  deviceClaim,
  deviceFacts,
  gpus,
  resourceClaim,
  slice,
  templates,
} from "../../../testing/devices.ts";
import type { NodeView } from "../../state/node-view.ts";
import type { QueuedPod } from "../batch/queue.ts";
import { WhatIf, type Without } from "./what-if.ts";

const ZONE = "topology.kubernetes.io/zone";

describe("removal of a node in a pool at its limits", () => {
  it("frees its part of the limits for the replacement, and restores it afterwards", () => {
    const labels = { "karpenter.sh/nodepool": "default", "karpenter.sh/initialized": "true" };
    const own = (name: string): NodeView =>
      nodeView({
        node: { name, labels, capacity: { cpu: "4" } },
        claim: nodeClaim({ name, metadata: { labels } }),
        pods: [pod({ name: `on-${name}`, cpu: "3", nodeName: name })],
      });
    const [a, b] = [own("a"), own("b")];
    const limited = poolInput({ limits: { cpu: 8_000 } }, [instanceType({ cpu: 4 })]);
    const pools = [{ ...limited, usage: { cpu: 8_000 } }];
    const whatIf = atOnce(WhatIf.of(schedulingInput({ nodes: [a, b], pools })));
    for (const node of [a, b, a]) {
      const { newClaims, unschedulable } = atOnce(whatIf.without([node.name], node.pods));
      expect(unschedulable).toEqual([]);
      expect(newClaims.map(({ pods }) => pods.map(({ metadata }) => metadata.name))).toEqual([
        [`on-${node.name}`],
      ]);
    }
    // No node is removed, so no new node may be planned.
    const { newClaims, unschedulable } = atOnce(
      whatIf.without([], [pod({ name: "more", cpu: "3" })]),
    );
    expect([newClaims.length, unschedulable.length]).toEqual([0, 1]);
  });
});

describe("removal of nodes with a pod whose volume is in one zone", () => {
  const labels = { app: "web" };
  const affinity = {
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey: ZONE, labelSelector: { matchLabels: labels } },
      ],
    },
  };
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
          nodeAffinity: {
            required: {
              nodeSelectorTerms: [
                {
                  matchExpressions: [{ key: ZONE, operator: "In" as const, values: ["zone-a"] }],
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
  const on = (zone: string, cpu: string, own: Partial<Pod["spec"]> = {}) => {
    const owner = { "karpenter.sh/nodepool": "default", "karpenter.sh/initialized": "true" };
    const marks = { ...owner, [ZONE]: zone };
    const one = pod({ name: `on-${zone}`, nodeName: zone, cpu, labels });
    return nodeView({
      node: { name: zone, labels: marks },
      claim: nodeClaim({ name: zone, metadata: { labels: marks } }),
      pods: [{ ...one, spec: { ...one.spec, affinity, ...own } }],
    });
  };
  const nodes = [
    on("zone-a", "1", {
      volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }],
    }),
    on("zone-b", "3"),
    on("zone-c", "2"),
  ];
  const moving = nodes.flatMap(({ pods }) => pods);
  const asking = () =>
    atOnce(
      WhatIf.of(
        schedulingInput({ nodes, volumes, pools: [poolInput({}, [instanceType({ cpu: 4 })])] }),
      ),
    );
  const names = nodes.map(({ name }) => name);
  const [first = pod({})] = moving;
  /** A pod with the same volume. Only one of the two can have a place. */
  const second = { ...first, metadata: { ...first.metadata, name: "second", uid: "second" } };
  /** The zones of the moved pods, and the names of pods without a place. `more`: further pods that need a place. */
  const placesOf = (more: readonly Pod[] = []) => {
    const { newClaims, unschedulable } = atOnce(asking().without(names, [...moving, ...more]));
    const zones = newClaims.flatMap(({ requirements, pods }) =>
      pods.map(
        ({ metadata }) =>
          `${metadata.name} in ${requirements.find(({ key }) => key === ZONE)?.values}`,
      ),
    );
    return { zones, pending: unschedulable.map(({ pod: one }) => one.metadata.name) };
  };

  it("leaves that zone to the pod, as a plan of the pending pods does", () => {
    const { zones, pending } = placesOf();
    expect(pending).toEqual([]);
    expect(zones).toContain("on-zone-a in zone-a");
    expect(zones).toHaveLength(3);
  });

  it("leaves that zone to the pod even if another pod has no place in any order", () => {
    const { zones, pending } = placesOf([second]);
    expect(pending).toHaveLength(1);
    expect(zones).toHaveLength(3);
  });

  it("is planned only once if all its pods have such volumes", () => {
    let plans = 0;
    const opening = function* (_: unknown, queued: readonly QueuedPod[]) {
      plans++;
      yield;
      return queued;
    };
    const { unschedulable } = atOnce(asking().without(["zone-a"], [first, second], { opening }));
    expect(unschedulable).toHaveLength(1);
    expect(plans).toBe(1);
  });
});

describe("removal of a node outside a topology spread's node selector", () => {
  it("leaves the counts of the spread unchanged", () => {
    const web = { app: "web" };
    const rule = {
      maxSkew: 1,
      topologyKey: ZONE,
      whenUnsatisfiable: "DoNotSchedule" as const,
      labelSelector: { matchLabels: web },
    };
    const spec = { nodeSelector: { disk: "ssd" }, topologySpreadConstraints: [rule] };
    const at = (name: string, zone: string, disk: string, on: Pod) => {
      const owner = { "karpenter.sh/nodepool": "default", "karpenter.sh/initialized": "true" };
      const labels = { ...owner, [ZONE]: zone, disk };
      const claim = nodeClaim({ name, metadata: { labels } });
      return nodeView({ node: { name, labels }, claim, pods: [on] });
    };
    const running = (name: string, nodeName: string, cpu: string, own: Partial<Pod["spec"]>) => {
      const one = pod({ name, nodeName, cpu, labels: web });
      return { ...one, spec: { ...one.spec, ...own } };
    };
    // The spread counts one pod in each zone. It does not count the pod on `hdd`, because that node does not match the
    // pod's selector.
    const other = running("other", "hdd", "1", spec);
    const nodes = [
      at("hdd", "zone-a", "hdd", other),
      at("ssd-a", "zone-a", "ssd", running("in-a", "ssd-a", "4", spec)),
      at("ssd-b", "zone-b", "ssd", running("in-b", "ssd-b", "1", spec)),
    ];
    const whatIf = atOnce(WhatIf.of(schedulingInput({ nodes, pools: [] })));
    for (let asked = 0; asked < 2; asked++) {
      const { existing } = atOnce(whatIf.without(["hdd"], [other]));
      expect(existing.map(({ nodeName }) => nodeName)).toEqual(["ssd-b"]);
    }
  });
});

describe("removal of a node whose pods have ResourceClaims", () => {
  const labels = {
    "karpenter.sh/nodepool": "default",
    "karpenter.sh/registered": "true",
    "karpenter.sh/initialized": "true",
  };
  const claimed = (name: string) => {
    const status = {
      phase: "Running" as const,
      resourceClaimStatuses: [{ name: "c0", resourceClaimName: `${name}-gpu` }],
    };
    return pod({
      name,
      nodeName: name,
      spec: { ...claimsOf("template:one"), nodeName: name },
      status,
    });
  };
  const view = (name: string, pods: readonly Pod[]) =>
    nodeView({ node: { name, labels }, claim: nodeClaim({ name, metadata: { labels } }), pods });
  const allocated = (name: string) =>
    resourceClaim(`${name}-gpu`, deviceClaim(), {
      allocation: {
        devices: { results: [{ request: "gpu", driver: DRIVER, pool: name, device: "gpu-0" }] },
        nodeSelector: {
          nodeSelectorTerms: [
            { matchFields: [{ key: "metadata.name", operator: "In", values: [name] }] },
          ],
        },
      },
      reservedFor: [{ resource: "pods", name, uid: `uid-default-${name}` }],
    });
  const type = { ...instanceType({ name: "gpu", cpu: 4 }), dynamicResources: templates(gpus(1)) };

  function asked(devices: number, types = [type], ofB: object = { nodeName: "b" }) {
    const [a, b] = [view("a", [claimed("a")]), view("b", [])];
    return atOnce(
      atOnce(
        WhatIf.of({
          ...schedulingInput({ nodes: [a, b], pools: [poolInput({}, types)] }),
          devices: deviceFacts({
            slices: [slice("a", gpus(1), { nodeName: "a" }), slice("b", gpus(devices), ofB)],
            claims: [allocated("a")],
            templates: [claimTemplate("one")],
          }),
        }),
      ).without(["a"], a.pods),
    );
  }

  it("moves the pods to a node with free devices", () => {
    const moved = asked(1);
    expect(moved.existing.map(({ nodeName }) => nodeName)).toEqual(["b"]);
    expect(moved.unschedulable).toEqual([]);
  });

  it("uses network devices only while the Node that owns the ResourceSlice exists", () => {
    const moved = (owner: string) =>
      asked(1, [], { owner }).existing.map(({ nodeName }) => nodeName);
    expect([moved("b"), moved("gone")]).toEqual([["b"], []]);
  });

  it("needs a new node with devices if no existing node has free ones", () => {
    const moved = asked(0);
    expect(moved.existing).toEqual([]);
    expect(moved.newClaims.map(({ cheapest }) => cheapest.instanceType)).toEqual(["gpu"]);
    const stuck = asked(0, [{ ...type, dynamicResources: templates([]) }]);
    expect(stuck.unschedulable).toHaveLength(1);
  });
});

describe("WhatIf.follow", () => {
  const ready = { "karpenter.sh/nodepool": "default", "karpenter.sh/initialized": "true" };
  const web = { app: "web" };
  const at = (name: string, more: Record<string, string>, on: readonly Pod[] = []) => {
    const labels = { ...ready, ...more };
    const claim = nodeClaim({ name, metadata: { labels } });
    return nodeView({ node: { name, labels, capacity: { cpu: "4" } }, claim, pods: on });
  };

  it("still applied nodes that share a hostname after another node is deleted", () => {
    const labelSelector = { matchLabels: web };
    const term = { topologyKey: "kubernetes.io/hostname", labelSelector };
    const affinity = {
      podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] },
    };
    const alone = pod({ name: "alone", nodeName: "b", labels: web, spec: { affinity } });
    const shared = { "kubernetes.io/hostname": "twin" };
    const twins = [at("b", shared, [alone]), at("c", shared)];
    const input = schedulingInput({ nodes: [at("a", {}), ...twins], pools: [] });
    const whatIf = atOnce(WhatIf.of(input));
    expect(atOnce(whatIf.follow({ ...input, nodes: twins }))).toBe(true);
    const { existing } = atOnce(whatIf.without(["b"], [alone]));
    expect(existing.map(({ nodeName }) => nodeName)).toEqual(["c"]);
  });

  it("applies the volume limit that a running node of the type reports since then", () => {
    const claimSpec = { spec: { storageClassName: "gp3" } };
    const volumes = ["x", "y"].map((name) => ({
      name,
      ephemeral: { volumeClaimTemplate: claimSpec },
    }));
    const moving = pod({ name: "moving", nodeName: "a", spec: { volumes } });
    const gp3 = {
      metadata: { name: "gp3" },
      provisioner: "ebs.csi.aws.com",
      volumeBindingMode: "WaitForFirstConsumer" as const,
    };
    const reporting = (count: number) => ({
      metadata: { name: "b" },
      spec: { drivers: [{ name: "ebs.csi.aws.com", nodeID: "b", allocatable: { count } }] },
    });
    const input = schedulingInput({
      nodes: [at("a", {}, [moving]), at("b", { "node.kubernetes.io/instance-type": "m-4x" })],
      pools: [poolInput({}, [instanceType({ cpu: 4 })])],
    });
    const given = (count: number) => ({
      ...input,
      volumes: { claims: [], volumes: [], classes: [gp3], csiNodes: [reporting(count)] },
    });
    const whatIf = atOnce(WhatIf.of(given(2)));
    const launches = () =>
      atOnce(whatIf.without(["a"], [moving], { closed: new Set(["b"]) })).newClaims.length;
    expect(launches()).toBe(1);
    expect(atOnce(whatIf.follow(given(1)))).toBe(true);
    expect(launches()).toBe(0);
  });

  it("still applied closed nodes after another node is added or deleted", () => {
    const moving = pod({ name: "moving", nodeName: "b", cpu: "1" });
    const nodes = [at("a", {}), at("b", {}, [moving]), at("c", {}), at("d", {})];
    const input = schedulingInput({ nodes, pools: [] });
    const whatIf = atOnce(WhatIf.of(input));
    const closed = new Set(["a", "c"]);
    const place = () =>
      atOnce(whatIf.without(["b"], [moving], { closed })).existing.map(({ nodeName }) => nodeName);
    expect(place()).toEqual(["d"]);
    const full = at("0", {}, [pod({ name: "large", nodeName: "0", cpu: "4" })]);
    expect(atOnce(whatIf.follow({ ...input, nodes: [full, ...nodes] }))).toBe(true);
    expect(place()).toEqual(["d"]);
    expect(atOnce(whatIf.follow({ ...input, nodes: nodes.slice(1) }))).toBe(true);
    expect(place()).toEqual(["d"]);
  });
});

describe("removal of a full node with a part of an affinity group, whose other pods wait", () => {
  const labels = { app: "group" };
  const affinity = {
    podAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: labels } },
      ],
    },
  };
  const member = (name: string, nodeName?: string): Pod => {
    const host = nodeName === undefined ? {} : { nodeName };
    return pod({ name, labels, cpu: "1", spec: { affinity }, ...host });
  };
  const own = { "karpenter.sh/nodepool": "default", "karpenter.sh/initialized": "true" };
  const full: NodeView = nodeView({
    node: { name: "full", labels: own, capacity: { cpu: "4" } },
    claim: nodeClaim({ name: "full", metadata: { labels: own } }),
    pods: [member("here", "full"), pod({ name: "other", cpu: "3", nodeName: "full" })],
  });
  const without = (count: number, largest: number) => {
    const waiting = Array.from({ length: count }, (_, index) => member(`waits-${index + 1}`));
    const types = [2, 4, largest].map((cpu) => instanceType({ name: `cpu-${cpu}`, cpu }));
    const input = schedulingInput({
      nodes: [full],
      pods: waiting,
      pools: [poolInput({}, types)],
    });
    return atOnce(atOnce(WhatIf.of(input)).without(["full"], full.pods));
  };
  const groupsOf = ({ newClaims }: Pick<Without, "newClaims">) =>
    newClaims.map(({ pods }) =>
      pods
        .map(({ metadata }) => metadata.name)
        .filter((name) => name !== "other")
        .sort(),
    );

  it("plans one new node for the whole group", () => {
    const answer = without(2, 8);
    expect(answer.unschedulable).toEqual([]);
    expect(groupsOf(answer)).toContainEqual(["here", "waits-1", "waits-2"]);
  });

  it("moves the whole group to a new node if an existing node has room for one of its pods only", () => {
    const leaving = nodeView({
      node: { name: "leaving", labels: own, capacity: { cpu: "2" } },
      claim: nodeClaim({ name: "leaving", metadata: { labels: own } }),
      pods: [member("first", "leaving"), member("second", "leaving")],
    });
    const small = nodeView({ node: { name: "small", labels: own, capacity: { cpu: "1" } } });
    const pools = [poolInput({}, [instanceType({ cpu: 4 })])];
    const input = schedulingInput({ nodes: [leaving, small], pools });
    const answer = atOnce(atOnce(WhatIf.of(input)).without(["leaving"], leaving.pods));
    expect([answer.unschedulable, answer.existing]).toEqual([[], []]);
    expect(groupsOf(answer)).toEqual([["first", "second"]]);
  });

  it("is not stopped by a larger pod that waited before and fits where the moved pods must go", () => {
    const leaving = nodeView({
      node: { name: "leaving", labels: own, capacity: { cpu: "2" } },
      claim: nodeClaim({ name: "leaving", metadata: { labels: own } }),
      pods: [member("here", "leaving"), pod({ name: "other", cpu: "1", nodeName: "leaving" })],
    });
    const free = nodeView({ node: { name: "free", labels: own, capacity: { cpu: "2" } } });
    const waiting = pod({ name: "waits", labels, cpu: "2", spec: { affinity } });
    const input = schedulingInput({ nodes: [leaving, free], pods: [waiting], pools: [] });
    const answer = atOnce(atOnce(WhatIf.of(input)).without(["leaving"], leaving.pods));
    expect(answer.unschedulable).toEqual([]);
    expect(
      answer.existing.flatMap(({ pods }) => pods.map(({ metadata }) => metadata.name)),
    ).toEqual(expect.arrayContaining(["here", "other"]));
  });

  it("is not stopped by a pod that waited before and has no place after it either", () => {
    const answer = without(4, 4);
    expect(answer.unschedulable).toEqual([]);
    expect(groupsOf(answer).flat()).toContain("here");
  });
});
