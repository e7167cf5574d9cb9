import { describe, expect, it } from "vitest";
import type { Pod } from "../../../apis/core/pod.ts";
import { keyOf } from "../../../apis/meta.ts";
import {
  instanceType,
  nodeView,
  pod,
  poolInput,
  schedulingInput,
} from "../../../testing/builders.ts";
import type { SchedulingInput } from "../../provisioning/scheduling-input.ts";
import { solve } from "../../provisioning/solve.ts";
import { applyEdits } from "./edits.ts";
import { portEdits } from "./pod-ways.ts";
import { type Remedy, remedies } from "./remedy.ts";

const ZONE = "topology.kubernetes.io/zone";
const TYPE = "node.kubernetes.io/instance-type";

/** The remedy of each pod without a place. Checks each fix: after it is applied, the pod must have a place. */
function found(options: Partial<SchedulingInput>): Record<string, Remedy | undefined> {
  const input = schedulingInput(options);
  const { unschedulable } = solve(input);
  const all = remedies(input, solve(input));
  const named = unschedulable.map(({ pod: one }) => {
    const remedy = all.get(keyOf(one));
    if (remedy?.fix !== undefined) {
      const { pods, edits } = remedy.fix;
      const left = solve(applyEdits(input, pods, edits)).unschedulable;
      expect(left.map((other) => keyOf(other.pod))).not.toContain(keyOf(one));
    }
    return [one.metadata.name, remedy] as const;
  });
  return Object.fromEntries(named);
}

function fixOf(one: Pod, options: Partial<SchedulingInput> = {}): string | undefined {
  return found({ pods: [one], ...options })[one.metadata.name]?.fix?.text;
}

const zoneTerm = { topologyKey: ZONE, labelSelector: { matchLabels: { app: "web" } } };
const apart = {
  podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [zoneTerm] },
};

function requiring(...terms: readonly (readonly [key: string, ...values: string[]][])[]) {
  const nodeSelectorTerms = terms.map((term) => ({
    matchExpressions: term.map(([key, ...values]) =>
      values.length === 0
        ? { key, operator: "Exists" as const }
        : { key, operator: "In" as const, values },
    ),
  }));
  return {
    affinity: {
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } },
    },
  };
}

/** A volume whose StorageClass allows these zones. */
const inOneOf = (...zones: readonly string[]) => ({
  claims: [
    { metadata: { name: "data", namespace: "default" }, spec: { storageClassName: "zonal" } },
  ],
  volumes: [],
  csiNodes: [],
  classes: [
    {
      metadata: { name: "zonal" },
      provisioner: "disk",
      volumeBindingMode: "WaitForFirstConsumer" as const,
      allowedTopologies: zones.map((zone) => ({
        matchLabelExpressions: [{ key: ZONE, values: [zone] }],
      })),
    },
  ],
});
const using = { volumes: [{ name: "v", persistentVolumeClaim: { claimName: "data" } }] };

describe("a higher limit as a fix", () => {
  it("comes on top of what runs already", () => {
    const limited = poolInput({ limits: { cpu: 42_000 } });
    const pools = [{ ...limited, usage: { cpu: 40_000 } }];
    expect(fixOf(pod({ cpu: "3" }), { pools })).toBe(
      "raise spec.limits.cpu of NodePool default from 42 to 44",
    );
  });

  it("counts a node as its cheapest type, even if it might become a larger one when it is opened", () => {
    const types = [
      instanceType({ name: "arm", cpu: 8, arch: "arm64" }),
      instanceType({ name: "amd", cpu: 16 }),
    ];
    const on = (arch: string) => ({ nodeSelector: { "kubernetes.io/arch": arch } });
    const pods = [
      pod({ name: "first", cpu: "4" }),
      pod({ name: "second", cpu: "4", spec: on("arm64") }),
      pod({ name: "third", cpu: "2", spec: on("amd64") }),
    ];
    const all = found({ pods, pools: [poolInput({ limits: { cpu: 20_000 } }, types)] });
    expect(Object.entries(all).map(([name, remedy]) => [name, remedy?.fix?.text])).toEqual([
      ["third", "raise spec.limits.cpu of NodePool default from 20 to 24"],
    ]);
  });

  it("is as low as the nodes of the plan need, whatever they might have become at first (seed 956)", () => {
    const types = [
      instanceType({ name: "arm", cpu: 4, arch: "arm64" }),
      instanceType({ name: "amd", cpu: 32 }),
    ];
    const onArm = { nodeSelector: { "kubernetes.io/arch": "arm64" } };
    const pods = [
      pod({ name: "first", cpu: "2" }),
      pod({ name: "second", cpu: "1900m", spec: onArm }),
      pod({ name: "third", cpu: "1", spec: onArm }),
    ];
    const all = found({ pods, pools: [poolInput({ limits: { cpu: 7_000 } }, types)] });
    expect(Object.entries(all).map(([name, remedy]) => [name, remedy?.fix?.text])).toEqual([
      ["third", "raise spec.limits.cpu of NodePool default from 7 to 8"],
    ]);
  });
});

describe("a further zone as a fix", () => {
  it("is tried where too few types are left, before fewer are asked for (seed 702625)", () => {
    const types = [
      instanceType({ name: "amd", cpu: 8, zones: ["zone-a"] }),
      instanceType({ name: "arm-a", cpu: 8, arch: "arm64", zones: ["zone-a"] }),
      instanceType({ name: "arm-b", cpu: 8, arch: "arm64", zones: ["zone-b"] }),
    ];
    const requirements = [
      { key: ZONE, operator: "In" as const, values: ["zone-a"] },
      { key: "node.kubernetes.io/instance-type", operator: "Exists" as const, minValues: 2 },
    ];
    const pods = [pod({ name: "a", spec: { nodeSelector: { "kubernetes.io/arch": "arm64" } } })];
    const all = found({ pods, pools: [poolInput({ requirements }, types)] });
    expect(all["a"]?.fix?.text).toBe(`let NodePool default use ${ZONE} zone-b`);
  });
});

describe("a kind of pods for which one change is not enough", () => {
  it("gets its fix though there are more single changes than it has plans at first (seed 1168)", () => {
    const ports = Array.from({ length: 30 }, (_, at) => ({
      containerPort: at + 1,
      hostPort: at + 1,
    }));
    const containers = [{ name: "main", ports, resources: { requests: { cpu: "1" } } }];
    const running = poolInput({ limits: { cpu: 4_000, nodes: 1 } }, [instanceType({ cpu: 4 })]);
    const pools = [{ ...running, usage: { cpu: 4_000, nodes: 1 } }];
    const all = found({ pods: [pod({ name: "a", spec: { containers } })], pools });
    expect(all["a"]?.fix?.text).toBe(
      "raise spec.limits.cpu of NodePool default from 4 to 8; raise spec.limits.nodes of NodePool default from 1 to 2",
    );
  });
});

describe("the fix of one kind of pods", () => {
  it("is that of another too, where its own would be minded more (seed 51853)", () => {
    const podAffinity = {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { app: "web" } } },
      ],
    };
    const pods = [
      pod({ name: "web", labels: { app: "web" }, spec: { nodeSelector: { team: "web" } } }),
      pod({ name: "near", spec: { affinity: { podAffinity } } }),
    ];
    const all = found({ pods, pools: [poolInput({}, [instanceType()])] });
    const label = "give nodes of NodePool default the label team=web";
    expect([all["web"]?.fix?.text, all["near"]?.fix?.text]).toEqual([label, label]);
  });

  it("is that of another too, where the search has made its plans before it comes to that", () => {
    const team = { nodeSelector: { team: "web" } };
    const ports = Array.from({ length: 24 }, (_, at) => ({
      containerPort: at + 1,
      hostPort: at + 1,
    }));
    // These pods request more than any instance type has. Dropping their host ports is tried, and is never enough.
    const hopeless = Array.from({ length: 50 }, (_, at) => {
      const resources = { requests: { cpu: `${at + 1}m` } };
      const containers = [{ name: "main", ports, resources }];
      return pod({ name: `hopeless-${at}`, spec: { containers, overhead: { cpu: "100" } } });
    });
    const pods = [
      pod({ name: "a", cpu: "1", spec: team }),
      ...hopeless,
      pod({ name: "z", cpu: "500m", spec: team }),
    ];
    let plans = 0;
    const input = schedulingInput({ pods, pools: [poolInput({}, [instanceType()])] });
    const asIs = solve(input);
    // These pods have no place in any plan, with or without host ports. So plans that only drop their host ports are
    // answered without planning.
    const isAsIs = (edited: SchedulingInput) =>
      edited.pools[0]?.pool === input.pools[0]?.pool &&
      edited.pods.every((one, at) => one === pods[at] || one.metadata.name.startsWith("hopeless-"));
    const all = remedies(input, asIs, (edited) => {
      plans++;
      return isAsIs(edited) ? asIs : solve(edited);
    });
    expect(plans).toBe(1_000);
    expect(all.get("default/hopeless-0")?.fix).toBe(undefined);
    const label = "give nodes of NodePool default the label team=web";
    expect(all.get("default/a")?.fix?.text).toBe(label);
    expect(all.get("default/z")?.fix?.text).toBe(label);
  });
});

describe("a device that is asked for less", () => {
  it("is so in request and limit, which have to be equal", () => {
    const gpu = "nvidia.com/gpu";
    const resources = { requests: { cpu: "1", [gpu]: "4" }, limits: { [gpu]: "4" } };
    const one = pod({ spec: { containers: [{ name: "main", resources }] } });
    const pools = [poolInput({}, [instanceType({ capacity: { [gpu]: 2 } })])];
    expect(fixOf(one, { pools })).toBe(
      `lower the ${gpu} request and limit of container main from 4 to 2`,
    );
    expect(fixOf(one)).toBe(`let container main do without ${gpu}`);
  });
});

describe("a node's taint that a pod could tolerate", () => {
  const tainted = (name: string, key: string, cpu = "4") =>
    nodeView({ node: { name, taints: [{ key, effect: "NoSchedule" }], capacity: { cpu } } });

  it("is none that comes and goes with the node's state", () => {
    const on = (key: string) => fixOf(pod(), { pools: [], nodes: [tainted("n", key)] });
    expect(on("team")).toBe("add a toleration of taint team:NoSchedule to the pod");
    expect(on("node.kubernetes.io/unreachable")).toBe(undefined);
    expect(on("node.cloudprovider.kubernetes.io/shutdown")).toBe(undefined);
    expect(on("karpenter.sh/disrupted")).toBe(undefined);
  });

  it("is of a node with room for it, however many others are full", () => {
    const full = Array.from({ length: 10 }, (_, at) => tainted(`n-${at}`, `t-${at % 5}`, "1"));
    const nodes = [...full, tainted("roomy", "team", "4")];
    expect(fixOf(pod({ cpu: "3" }), { pools: [], nodes })).toBe(
      "add a toleration of taint team:NoSchedule to the pod",
    );
  });
});

describe("a key that a pod drops", () => {
  it("leaves nothing asked for, where one of its terms had nothing else", () => {
    const spec = requiring([["disk", "ssd"]], [["disk", "ssd"], ["gpu"]]);
    expect(fixOf(pod({ spec }), { pools: [], nodes: [nodeView()] })).toBe(
      "drop disk from the pod's node selector and required node affinity",
    );
  });

  it("leaves the others asked for in each term", () => {
    const spec = requiring([["disk", "ssd"], ["gpu"]]);
    const nodes = [nodeView({ node: { labels: { gpu: "a" } } })];
    expect(fixOf(pod({ spec }), { pools: [], nodes })).toContain("drop disk from");
    expect(fixOf(pod({ spec }), { pools: [], nodes: [nodeView()] })).toBe(undefined);
  });
});

describe("a key that a pod drops, of a term beside one that never asked for anything", () => {
  it("leaves the rest of the term asked for: the other one matches no node", () => {
    const spec = requiring([], [["disk", "ssd"], ["gpu"]]);
    expect(fixOf(pod({ spec }), { pools: [], nodes: [nodeView()] })).toBe(undefined);
    const nodes = [nodeView({ node: { labels: { gpu: "a" } } })];
    expect(fixOf(pod({ spec }), { pools: [], nodes })).toContain("drop disk from");
  });
});

describe("a host port that a pod drops", () => {
  it("is dropped where it is: of containers, of sidecars, of both", () => {
    const using = (protocol: string) => ({
      ports: [{ containerPort: 80, hostPort: 80, protocol }],
    });
    const sidecar = { name: "proxy", restartPolicy: "Always" as const };
    const holders = (own: object, other: object) => {
      const initContainers = [{ ...sidecar, ...other }];
      return portEdits(pod({ spec: { containers: [{ name: "main", ...own }], initContainers } }));
    };
    const edit = { on: "pod", change: "dropHostPort", port: 80 };
    expect(holders(using("TCP"), {})).toEqual([{ ...edit, of: ["containers"] }]);
    expect(holders({}, using("TCP"))).toEqual([{ ...edit, of: ["initContainers"] }]);
    expect(holders(using("TCP"), using("UDP"))).toEqual([
      { ...edit, of: ["containers", "initContainers"] },
    ]);
  });

  it("may be that of a sidecar", () => {
    const ports = [{ containerPort: 80, hostPort: 80 }];
    const containers = [{ name: "main" }];
    const holder = pod({ nodeName: "node", spec: { containers: [{ name: "main", ports }] } });
    const running = { ...holder, spec: { ...holder.spec, nodeName: "node" } };
    const sidecar = { name: "proxy", restartPolicy: "Always" as const, ports };
    const one = pod({ name: "new", spec: { containers, initContainers: [sidecar] } });
    expect(fixOf(one, { pools: [], nodes: [nodeView({ pods: [running] })] })).toBe(
      "drop host port 80 of the pod",
    );
  });
});

describe("volumes that can be in one of several places", () => {
  const requirements = [{ key: ZONE, operator: "In" as const, values: ["zone-a"] }];

  it("are reached in the one that the pool can be let use", () => {
    const options = { pools: [poolInput({ requirements })], volumes: inOneOf("mars", "zone-c") };
    expect(fixOf(pod({ spec: using }), options)).toBe(`let NodePool default use ${ZONE} zone-c`);
  });

  it("are so too when something else must change first", () => {
    const taints = [{ key: "db", effect: "NoSchedule" as const }];
    const pools = [poolInput({ requirements, taints })];
    expect(fixOf(pod({ spec: using }), { pools, volumes: inOneOf("mars", "zone-c") })).toBe(
      `add a toleration of taint db:NoSchedule to the pod; let NodePool default use ${ZONE} zone-c`,
    );
  });
});

describe("a pod that could go one way or another", () => {
  it("is told of the one that came furthest, whichever term is written first", () => {
    const pools = [poolInput({ limits: { cpu: 1_000 } })];
    for (const zones of [
      ["mars", "zone-a"],
      ["zone-a", "mars"],
    ]) {
      const spec = requiring(...zones.map((zone): [string, string][] => [[ZONE, zone]]));
      const remedy = found({ pods: [pod({ spec })], pools })["pod"];
      expect(remedy?.nearest?.missing).toEqual([
        "its limits leave no room for a node: 1 of cpu is left, the smallest type that would do has 2",
      ]);
      expect(remedy?.fix?.text).toBe("raise spec.limits.cpu of NodePool default from 1 to 2");
    }
  });

  it("may be helped by what only the other one lacks", () => {
    // Zone-a has a pod with anti-affinity to the pending pod. In zone-b, only types beyond the limit are sold.
    const types = [
      instanceType({ cpu: 2, zones: ["zone-a"] }),
      instanceType({ cpu: 8, zones: ["zone-b"] }),
    ];
    const neighbour = pod({ name: "web-0", labels: { app: "web" }, nodeName: "node" });
    const spec = requiring([[ZONE, "zone-a"]], [[ZONE, "zone-b"]]);
    const one = pod({
      name: "web-1",
      cpu: "1",
      labels: { app: "web" },
      spec: { affinity: { ...spec.affinity, ...apart } },
    });
    const remedy = found({
      pods: [one],
      pools: [poolInput({ limits: { cpu: 4_000 } }, types)],
      nodes: [nodeView({ pods: [neighbour] })],
    })["web-1"];
    expect(remedy?.nearest?.missing[0]).toContain(`its anti-affinity over ${ZONE}`);
    expect(remedy?.fix?.text).toBe("raise spec.limits.cpu of NodePool default from 4 to 8");
  });

  it("is not told of full reservations alone, where another zone lacks minValues", () => {
    const reserved = {
      zone: "zone-a",
      capacityType: "reserved" as const,
      priceMicroUsd: 0,
      available: true,
      labels: { "test.sh/reservation-id": "cr-1" },
      reservationCapacity: 1,
    };
    const types = [2, 4].map((cpu) =>
      instanceType({ name: `r-${cpu}`, cpu, offerings: [reserved] }),
    );
    const requirements = [{ key: TYPE, operator: "Exists" as const, minValues: 2 }];
    const open = instanceType({ name: "open", cpu: 4, zones: ["zone-b"] });
    const pools = [poolInput({ requirements }, [...types, open])];
    const taker = pod({ name: "a", cpu: "2", spec: { nodeSelector: { [ZONE]: "zone-a" } } });
    const torn = pod({
      name: "torn",
      cpu: "1",
      labels: { app: "web" },
      spec: { affinity: apart },
    });
    const remedy = found({ pods: [taker, torn], pools });
    expect(Object.keys(remedy)).toEqual(["torn"]);
    expect(remedy["torn"]?.nearest?.missing).toEqual([
      `fewer than 2 values of ${TYPE} are left (minValues)`,
    ]);
    expect(remedy["torn"]?.fix?.text).toBe(
      `lower minValues of ${TYPE} in NodePool default from 2 to 1`,
    );
  });

  it("is not told of full reservations where a free one has too few types", () => {
    const offerings = [
      {
        zone: "zone-a",
        capacityType: "reserved" as const,
        priceMicroUsd: 0,
        available: true,
        labels: { "test.sh/reservation-id": "cr-1" },
        reservationCapacity: 1,
      },
    ];
    const requirements = [{ key: TYPE, operator: "Exists" as const, minValues: 2 }];
    const pools = [poolInput({ requirements }, [instanceType({ offerings })])];
    expect(found({ pods: [pod({ cpu: "1" })], pools })["pod"]?.nearest?.missing).toEqual([
      `fewer than 2 values of ${TYPE} are left (minValues)`,
    ]);
  });

  it("is told of its neighbour in the one place of its volume that anybody sells", () => {
    const neighbour = pod({ name: "web-0", labels: { app: "web" }, nodeName: "node" });
    const one = pod({
      name: "web-1",
      cpu: "8",
      labels: { app: "web" },
      spec: { ...using, affinity: apart },
    });
    const remedy = found({
      pods: [one],
      nodes: [nodeView({ pods: [neighbour] })],
      volumes: inOneOf("mars", "zone-a"),
    })["web-1"];
    expect(remedy?.nearest?.missing[0]).toContain(`its anti-affinity over ${ZONE}`);
  });
});
