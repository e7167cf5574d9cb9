import { describe, expect, it } from "vitest";
import type { Pool } from "../../../apis/hub/pool.ts";
import {
  instanceType,
  nodeView,
  pod,
  pods,
  poolInput,
  schedulingInput,
} from "../../../testing/builders.ts";
import type { InstanceType } from "../../cloudprovider/instance-type.ts";
import type { PoolRejection } from "../result.ts";
import type { SchedulingInput } from "../scheduling-input.ts";
import { solve } from "../solve.ts";

const ZONE = "topology.kubernetes.io/zone";
const TYPE = "node.kubernetes.io/instance-type";

const TYPES = [1, 2, 4, 8].map((cpu) => instanceType({ cpu }));

function refusal(
  input: Partial<SchedulingInput>,
  pool: Partial<Pool> = {},
  types: readonly InstanceType[] = TYPES,
): PoolRejection | undefined {
  const pools = [poolInput(pool, types)];
  return solve(schedulingInput({ ...input, pools })).unschedulable[0]?.pools[0];
}

describe("the refusal of a pod by a pool", () => {
  it("counts each type once, as too small or beyond a limit", () => {
    const found = refusal({ pods: [pod({ cpu: "3" })] }, { limits: { cpu: 3_000 } });
    expect(found?.rejected).toEqual({ resources: 2, limits: 2 });
  });

  it("counts types on which a DaemonSet holds the host port", () => {
    const containers = [
      { name: "main", ports: [{ containerPort: 80, hostPort: 80 }], resources: {} },
    ];
    const daemon = pod({
      name: "proxy",
      owner: { kind: "DaemonSet", name: "proxy" },
      spec: { containers, nodeSelector: { [TYPE]: "m-8x" } },
    });
    const asking = containers.map((one) => ({ ...one, resources: { requests: { cpu: "6" } } }));
    const found = refusal({ pods: [pod({ spec: { containers: asking } })], daemonPods: [daemon] });
    expect(found?.rejected).toEqual({ resources: 3, hostPorts: 1 });
    expect(found?.message).toContain("host ports are held by daemons");
  });

  it("counts types that are fewer than minValues", () => {
    const requirements = [{ key: TYPE, operator: "Exists" as const, minValues: 3 }];
    const found = refusal({ pods: [pod({ cpu: "3" })] }, { requirements });
    expect(found?.rejected).toEqual({ resources: 2, minValues: 2 });
  });

  it("gives the provider's reason why an offering is unavailable", () => {
    const why = "30 of 32 vCPUs are used";
    const refused = (cpu: number): InstanceType => {
      const type = instanceType({ cpu });
      const offerings = type.offerings.map((one) => ({
        ...one,
        available: false,
        ...(one.zone === "zone-a" ? { unavailableBecause: why } : {}),
      }));
      return { ...type, offerings };
    };
    const inZone = (zone: string) => pod({ cpu: "3", spec: { nodeSelector: { [ZONE]: zone } } });
    const types = [instanceType({ cpu: 1 }), refused(8)];
    const found = refusal({ pods: [inZone("zone-a")] }, {}, types);
    expect(found?.rejected).toEqual({ resources: 1 });
    expect(found?.why).toBe(why);
    expect(refusal({ pods: [inZone("zone-b")] }, {}, types)?.why).toBeUndefined();
    const none = refusal({ pods: [inZone("zone-a")] }, {}, [refused(8)]);
    expect(none).toMatchObject({ rejected: { noInstanceTypes: 1 }, why });
  });

  it("names only the labels whose minValues are not met", () => {
    const family = (name: string, cpu: number) =>
      instanceType({ name: `${name}-${cpu}`, cpu, labels: { "test.sh/family": [name] } });
    const types = [family("a", 2), family("a", 8), family("b", 2), family("b", 8)];
    const needs = (minValues: number, ofFamily: number) => [
      { key: "test.sh/family", operator: "Exists" as const, minValues: ofFamily },
      { key: TYPE, operator: "Exists" as const, minValues },
    ];
    const found = refusal({ pods: [pod({ cpu: "3" })] }, { requirements: needs(3, 2) }, types);
    expect(found?.message).toContain(`is not met for label(s) (label(s)=[${TYPE}])`);
    expect(found?.why).toBe(`fewer than 3 values of ${TYPE} are left (minValues)`);
    const both = refusal({ pods: [pod({ cpu: "3" })] }, { requirements: needs(3, 3) }, types);
    expect(both?.message).toContain(`(label(s)=[${TYPE} test.sh/family])`);
  });

  it("counts types whose only reservation is used up by other pods", () => {
    const reserved = {
      zone: "zone-a",
      capacityType: "reserved" as const,
      priceMicroUsd: 0,
      available: true,
      labels: { "test.sh/reservation-id": "cr-1" },
      reservationCapacity: 1,
    };
    const types = [instanceType({ cpu: 2 }), instanceType({ cpu: 4, offerings: [reserved] })];
    const found = refusal({ pods: pods(2, { cpu: "3" }) }, {}, types);
    expect(found?.rejected).toEqual({ resources: 1, offerings: 1 });
    expect(found?.message).toContain("but could not be reserved");
    expect(found?.why).toContain("every reservation that would do is full");
  });

  it("counts types excluded by pod anti-affinity", () => {
    const spec = {
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { topologyKey: ZONE, labelSelector: { matchLabels: { app: "web" } } },
          ],
        },
      },
    };
    const batch = pods(4, { cpu: "3", labels: { app: "web" }, spec });
    expect(refusal({ pods: batch })?.rejected).toEqual({ resources: 2, topology: 2 });
  });

  it("names the topology spread, its minDomains and its pods per zone", () => {
    const spread = (more: object) => ({
      topologySpreadConstraints: [
        {
          topologyKey: ZONE,
          maxSkew: 1,
          whenUnsatisfiable: "DoNotSchedule" as const,
          labelSelector: { matchLabels: { app: "web" } },
          ...more,
        },
      ],
    });
    const types = [instanceType({ zones: ["zone-a"] })];
    const found = (more: object) => {
      const batch = pods(2, { cpu: "3", labels: { app: "web" }, spec: spread(more) });
      return refusal({ pods: batch }, {}, types)?.why;
    };
    const counted = "allows no further pod; pods there: zone-a 1";
    expect(found({ minDomains: 2 })).toBe(
      `its topology spread over ${ZONE} (maxSkew 1, minDomains 2) ${counted}`,
    );
  });

  it("names the zonal anti-affinity, not the one over hosts that a new node would meet", () => {
    const terms = ["kubernetes.io/hostname", ZONE].map((topologyKey) => ({
      topologyKey,
      labelSelector: { matchLabels: { app: "web" } },
    }));
    const podAntiAffinity = { requiredDuringSchedulingIgnoredDuringExecution: terms };
    const batch = pods(2, { labels: { app: "web" }, spec: { affinity: { podAntiAffinity } } });
    const found = refusal({ pods: batch }, {}, [instanceType({ zones: ["zone-a"] })]);
    expect(found?.message).toContain(`pod anti-affinity, key=${ZONE}`);
  });

  it("names anti-affinity, not minValues, if all zones of the volume have a matching pod", () => {
    const requirements = [{ key: TYPE, operator: "Exists" as const, minValues: 2 }];
    const labelSelector = { matchLabels: { app: "db" } };
    const podAntiAffinity = {
      requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: ZONE, labelSelector }],
    };
    const claimSpec = { storageClassName: "zonal" };
    const spec = {
      affinity: { podAntiAffinity },
      volumes: [{ name: "data", ephemeral: { volumeClaimTemplate: { spec: claimSpec } } }],
    };
    const zonal = {
      metadata: { name: "zonal" },
      provisioner: "ebs.csi.aws.com",
      volumeBindingMode: "WaitForFirstConsumer" as const,
      allowedTopologies: [{ matchLabelExpressions: [{ key: ZONE, values: ["zone-a", "zone-b"] }] }],
    };
    const volumes = { claims: [], volumes: [], classes: [zonal], csiNodes: [] };
    const batch = pods(3, { cpu: "1", labels: { app: "db" }, spec });
    const found = refusal({ pods: batch, volumes }, { requirements });
    expect(found?.rejected).toEqual({ topology: 4 });
    expect(found?.message).toContain(`pod anti-affinity, key=${ZONE}`);
    expect(found?.why).toContain(`its volumes are at ${ZONE} In [zone-a zone-b]`);
  });

  it("names topology, not minValues, if two rules together leave no zone", () => {
    const requirements = [{ key: TYPE, operator: "Exists" as const, minValues: 2 }];
    const term = (app: string) => ({ topologyKey: ZONE, labelSelector: { matchLabels: { app } } });
    const required = (app: string) => ({
      requiredDuringSchedulingIgnoredDuringExecution: [term(app)],
    });
    const inZone = { nodeSelector: { [ZONE]: "zone-a" } };
    const batch = [
      ...["a", "b"].map((name) => pod({ name, cpu: "7", labels: { app: name }, spec: inZone })),
      pod({
        name: "torn",
        cpu: "1",
        spec: { affinity: { podAffinity: required("a"), podAntiAffinity: required("b") } },
      }),
    ];
    const found = solve(
      schedulingInput({
        pods: batch,
        pools: [poolInput({ requirements }, TYPES.concat(instanceType({ name: "n-8x", cpu: 8 })))],
      }),
    );
    expect(found.unschedulable.map((one) => one.pod.metadata.name)).toEqual(["torn"]);
    expect(found.unschedulable[0]?.pools[0]?.rejected).toEqual({ topology: 5 });
  });

  it("names pod affinity to pods outside the volume's zone, and how the pod could come first", () => {
    const claims = [
      { metadata: { name: "data", namespace: "default" }, spec: { storageClassName: "zonal" } },
    ];
    const zonal = {
      metadata: { name: "zonal" },
      provisioner: "disk",
      volumeBindingMode: "WaitForFirstConsumer" as const,
      allowedTopologies: [{ matchLabelExpressions: [{ key: ZONE, values: ["zone-b"] }] }],
    };
    const volumes = { claims, volumes: [], csiNodes: [], classes: [zonal] };
    const together = {
      podAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { topologyKey: ZONE, labelSelector: { matchLabels: { app: "web" } } },
        ],
      },
    };
    const spec = {
      affinity: together,
      volumes: [{ name: "v", persistentVolumeClaim: { claimName: "data" } }],
    };
    const running = pod({ name: "running", nodeName: "n", labels: { app: "web" } });
    const nodes = [
      nodeView({ node: { name: "n", labels: { [ZONE]: "zone-a" } }, pods: [running] }),
    ];
    const whyOf = (labels: Readonly<Record<string, string>>) =>
      refusal({ pods: [pod({ labels, spec })], volumes, nodes })?.why;
    const elsewhere = `pods there: zone-a 1, zone-b 0, zone-c 0; its volumes are at ${ZONE} In [zone-b]`;
    expect(whyOf({ app: "web" })).toContain(
      `${elsewhere}; it can go there only as the first: scale the others to 0, and up again when it runs`,
    );
    // A pod that its own affinity does not select is never the first.
    expect(whyOf({ app: "other" })?.endsWith(elsewhere)).toBe(true);
  });

  it("counts types that have no offering in the zone of the volume", () => {
    const claim = {
      metadata: {
        name: "data",
        namespace: "default",
        annotations: { "pv.kubernetes.io/bind-completed": "yes" },
      },
      spec: { volumeName: "pv" },
    };
    const terms = [
      { matchExpressions: [{ key: ZONE, operator: "In" as const, values: ["zone-b"] }] },
    ];
    const volume = {
      metadata: { name: "pv" },
      spec: { nodeAffinity: { required: { nodeSelectorTerms: terms } } },
    };
    const volumes = { claims: [claim], volumes: [volume], classes: [], csiNodes: [] };
    const types = [instanceType({ cpu: 2, zones: ["zone-a"] }), instanceType({ cpu: 4 })];
    const using = { volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }] };
    const batch = [pod({ cpu: "1", spec: using })];
    const found = refusal({ pods: batch, volumes }, { limits: { cpu: 3_000 } }, types);
    expect(found?.rejected).toEqual({ limits: 1, volumes: 1 });
    expect(found?.message).toContain("or had a required offering");
    expect(found?.why).toContain("no node of the pool can reach its volumes");
  });
});
