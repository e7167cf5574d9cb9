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

describe("a raised limit as a fix", () => {
  it("includes what the pool already uses", () => {
    const limited = poolInput({ limits: { cpu: 42_000 } });
    const pools = [{ ...limited, usage: { cpu: 40_000 } }];
    expect(fixOf(pod({ cpu: "3" }), { pools })).toBe(
      "raise spec.limits.cpu of NodePool default from 42 to 44",
    );
  });

  it("counts a planned node as its cheapest type, even if a larger type was possible at first", () => {
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

  it("is as low as the planned nodes need, even if larger types were possible at first (seed 956)", () => {
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

describe("an additional zone as a fix", () => {
  it("is preferred to lower minValues if too few types are left (seed 702625)", () => {
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

describe("a kind of pods that needs several changes", () => {
  it("gets a fix even if there are more single changes than plans in the first search (seed 1168)", () => {
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

describe("a fix for one kind of pods", () => {
  it("is used for another kind if that kind's own fix would be a larger change (seed 51853)", () => {
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

  it("is used for another kind of pods if the search has used up its plans", () => {
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

describe("a fix that lowers a device request", () => {
  it("lowers request and limit together, as they must be equal", () => {
    const gpu = "nvidia.com/gpu";
    const resources = { requests: { cpu: "1", [gpu]: "4" }, limits: { [gpu]: "4" } };
    const one = pod({ spec: { containers: [{ name: "main", resources }] } });
    const pools = [poolInput({}, [instanceType({ capacity: { [gpu]: 2 } })])];
    expect(fixOf(one, { pools })).toBe(
      `lower the ${gpu} request and limit of container main from 4 to 2; no instance type has more ${gpu} than m-4x (2)`,
    );
    expect(fixOf(one)).toBe(
      `let container main do without ${gpu}; no instance type has ${gpu} (a NodeOverlay with spec.capacity declares what a device plugin adds)`,
    );
  });

  it("keeps a device that some type has, although doing without it would be one edit less", () => {
    const gpu = "nvidia.com/gpu";
    const resources = { requests: { cpu: "20", [gpu]: "9" }, limits: { [gpu]: "9" } };
    const one = pod({ spec: { containers: [{ name: "main", resources }] } });
    const types = [
      instanceType({ name: "big", cpu: 32 }),
      instanceType({ name: "gpus", cpu: 16, capacity: { [gpu]: 8 } }),
    ];
    expect(fixOf(one, { pools: [poolInput({}, types)] })).toBe(
      `lower the cpu request of container main from 20 to 16; lower the ${gpu} request and limit of container main from 9 to 8; no instance type has more ${gpu} than gpus (8)`,
    );
  });
});

describe("a fix that adds a toleration for a node's taint", () => {
  const tainted = (name: string, key: string, cpu = "4") =>
    nodeView({ node: { name, taints: [{ key, effect: "NoSchedule" }], capacity: { cpu } } });

  it("ignores taints that follow the state of the node", () => {
    const on = (key: string) => fixOf(pod(), { pools: [], nodes: [tainted("n", key)] });
    expect(on("team")).toBe("add a toleration of taint team:NoSchedule to the pod");
    expect(on("node.kubernetes.io/unreachable")).toBe(undefined);
    expect(on("node.cloudprovider.kubernetes.io/shutdown")).toBe(undefined);
    expect(on("karpenter.sh/disrupted")).toBe(undefined);
  });

  it("chooses the taint of a node with enough room, even if many other nodes are full", () => {
    const full = Array.from({ length: 10 }, (_, at) => tainted(`n-${at}`, `t-${at % 5}`, "1"));
    const nodes = [...full, tainted("roomy", "team", "4")];
    expect(fixOf(pod({ cpu: "3" }), { pools: [], nodes })).toBe(
      "add a toleration of taint team:NoSchedule to the pod",
    );
  });
});

describe("a fix that drops a label key", () => {
  it("drops the whole affinity if one of its terms consists of that key alone", () => {
    const spec = requiring([["disk", "ssd"]], [["disk", "ssd"], ["gpu"]]);
    expect(fixOf(pod({ spec }), { pools: [], nodes: [nodeView()] })).toBe(
      "drop disk from the pod's node selector and required node affinity",
    );
  });

  it("keeps the other requirements of each term", () => {
    const spec = requiring([["disk", "ssd"], ["gpu"]]);
    const nodes = [nodeView({ node: { labels: { gpu: "a" } } })];
    expect(fixOf(pod({ spec }), { pools: [], nodes })).toContain("drop disk from");
    expect(fixOf(pod({ spec }), { pools: [], nodes: [nodeView()] })).toBe(undefined);
  });
});

describe("a fix that drops a label key, beside an empty node affinity term", () => {
  it("keeps the rest of its term, because the empty term matches no node", () => {
    const spec = requiring([], [["disk", "ssd"], ["gpu"]]);
    expect(fixOf(pod({ spec }), { pools: [], nodes: [nodeView()] })).toBe(undefined);
    const nodes = [nodeView({ node: { labels: { gpu: "a" } } })];
    expect(fixOf(pod({ spec }), { pools: [], nodes })).toContain("drop disk from");
  });
});

describe("a fix that drops a host port", () => {
  it("drops it from containers, sidecars or both, wherever it is", () => {
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

  it("drops the host port of a sidecar", () => {
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

describe("volumes that may be in one of several zones", () => {
  const requirements = [{ key: ZONE, operator: "In" as const, values: ["zone-a"] }];

  it("make the fix allow the zone that the pool could use", () => {
    const options = { pools: [poolInput({ requirements })], volumes: inOneOf("mars", "zone-c") };
    expect(fixOf(pod({ spec: using }), options)).toBe(`let NodePool default use ${ZONE} zone-c`);
  });

  it("make the fix allow that zone also if a taint must be tolerated too", () => {
    const taints = [{ key: "db", effect: "NoSchedule" as const }];
    const pools = [poolInput({ requirements, taints })];
    expect(fixOf(pod({ spec: using }), { pools, volumes: inOneOf("mars", "zone-c") })).toBe(
      `add a toleration of taint db:NoSchedule to the pod; let NodePool default use ${ZONE} zone-c`,
    );
  });
});

describe("the nearest miss and fix of a pod with several alternatives", () => {
  it("name the alternative that came furthest, in any order of the terms", () => {
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

  it("may fix an alternative other than the nearest one", () => {
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

  it("name minValues of another zone, not only full reservations", () => {
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

  it("name minValues, not full reservations, if the reservation is free", () => {
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

  it("name the anti-affinity in the only zone of the volume that has offerings", () => {
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
