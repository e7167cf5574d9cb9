import { describe, expect, it } from "vitest";
import {
  instanceType,
  nodeView,
  pod,
  poolInput,
  SCHEDULING_OPTIONS,
  schedulingInput,
} from "../../../testing/builders.ts";
import type { SchedulingInput } from "../scheduling-input.ts";
import { solve } from "../solve.ts";

const ZONE = "topology.kubernetes.io/zone";

/** Names of the pods that have a place. */
function placed(options: Partial<SchedulingInput>): string[] {
  const { newClaims } = solve(schedulingInput(options));
  return newClaims.flatMap(({ pods }) => pods.map(({ metadata }) => metadata.name)).sort();
}

describe("pods of different priority when room is short", () => {
  const vital = { priority: 9 };
  const strict = { ...SCHEDULING_OPTIONS, reservedCapacity: "strict" as const };
  const reserved = {
    zone: "zone-a",
    capacityType: "reserved" as const,
    priceMicroUsd: 0,
    available: true,
    labels: { "test.sh/reservation-id": "cr-1" },
    reservationCapacity: 1,
  };
  const batch = [
    pod({ name: "large", cpu: "3" }),
    pod({ name: "vital", cpu: "2", spec: vital }),
    pod({ name: "small", cpu: "1500m" }),
  ];

  it("give a reservation to the pod of high priority, not to the largest, if nothing else is sold", () => {
    const pools = [poolInput({}, [instanceType({ offerings: [reserved] })])];
    expect(placed({ pods: batch, pools })).toEqual(["small", "vital"]);
    expect(placed({ pods: batch, pools, options: strict })).toEqual(["small", "vital"]);
  });

  it("give it to the pod of high priority in strict mode, too, if others could use on-demand", () => {
    const onDemand = { ...reserved, capacityType: "on-demand" as const, priceMicroUsd: 1_000 };
    const { labels: _, reservationCapacity: _count, ...open } = onDemand;
    const pools = [poolInput({}, [instanceType({ offerings: [reserved, open] })])];
    expect(placed({ pods: batch, pools, options: strict })).toEqual(["small", "vital"]);
    expect(placed({ pods: batch, pools })).toEqual(["large", "small", "vital"]);
  });

  it("give a limit to the pod of high priority whose other zone its anti-affinity excludes", () => {
    const types = [
      instanceType({ cpu: 2, zones: ["zone-a"] }),
      instanceType({ cpu: 8, zones: ["zone-b"] }),
    ];
    const term = { topologyKey: ZONE, labelSelector: { matchLabels: { app: "web" } } };
    const nodeSelectorTerms = ["zone-a", "zone-b"].map((zone) => ({
      matchExpressions: [{ key: ZONE, operator: "In" as const, values: [zone] }],
    }));
    const affinity = {
      podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] },
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } },
    };
    const neighbour = pod({ name: "web-0", labels: { app: "web" }, nodeName: "node" });
    const options = {
      nodes: [nodeView({ pods: [neighbour], node: { capacity: { cpu: "100m" } } })],
      pools: [poolInput({ limits: { cpu: 10_000 } }, types)],
    };
    const large = pod({ name: "large", cpu: "7" });
    const web = (spec: { readonly priority?: number }) =>
      pod({ name: "web-1", cpu: "2", labels: { app: "web" }, spec: { ...spec, affinity } });
    expect(placed({ pods: [large, web({})], ...options })).toEqual(["large"]);
    expect(placed({ pods: [large, web(vital)], ...options })).toEqual(["web-1"]);
  });

  it("give a reservation to the pod of high priority whose other zone its anti-affinity excludes", () => {
    const types = [
      instanceType({ name: "kept", offerings: [reserved] }),
      instanceType({ name: "open", zones: ["zone-b"] }),
    ];
    const term = { topologyKey: ZONE, labelSelector: { matchLabels: { app: "web" } } };
    const inZone = (zone: string) => ({
      matchExpressions: [{ key: ZONE, operator: "In" as const, values: [zone] }],
    });
    const neighbour = pod({ name: "web-0", labels: { app: "web" }, nodeName: "node" });
    const there = { name: "node", labels: { [ZONE]: "zone-b" }, capacity: { cpu: "100m" } };
    const options = {
      nodes: [nodeView({ pods: [neighbour], node: there })],
      pools: [poolInput({}, types)],
    };
    const large = pod({ name: "large", cpu: "3", spec: { nodeSelector: { [ZONE]: "zone-a" } } });
    for (const zones of [
      ["zone-a", "zone-b"],
      ["zone-b", "zone-a"],
    ]) {
      const nodeSelectorTerms = zones.map(inZone);
      const affinity = {
        podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] },
        nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } },
      };
      const web = (spec: { readonly priority?: number }) =>
        pod({ name: "web-1", cpu: "2", labels: { app: "web" }, spec: { ...spec, affinity } });
      expect(placed({ pods: [large, web({})], ...options })).toEqual(["large"]);
      expect(placed({ pods: [large, web(vital)], ...options })).toEqual(["web-1"]);
    }
  });

  it("give a reservation to the pod of high priority that minValues keeps from other types", () => {
    const types = [
      ...[2, 4].map((cpu) => instanceType({ name: `r-${cpu}`, cpu, offerings: [reserved] })),
      instanceType({ name: "open", zones: ["zone-b"] }),
    ];
    const key = "node.kubernetes.io/instance-type";
    const pools = [poolInput({ requirements: [{ key, operator: "Exists", minValues: 2 }] }, types)];
    // The pod has anti-affinity within its zone, so each zone is tried separately.
    const term = { topologyKey: ZONE, labelSelector: { matchLabels: { app: "web" } } };
    const affinity = {
      podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] },
    };
    const large = pod({
      name: "large",
      cpu: "1500m",
      spec: { nodeSelector: { [ZONE]: "zone-a" } },
    });
    const web = (spec: { readonly priority?: number }) =>
      pod({ name: "web-1", cpu: "1", labels: { app: "web" }, spec: { ...spec, affinity } });
    expect(placed({ pods: [large, web({})], pools })).toEqual(["large"]);
    expect(placed({ pods: [large, web(vital)], pools })).toEqual(["web-1"]);
  });
});
