import { describe, expect, it } from "vitest";
import type { PersistentVolume, PersistentVolumeClaim } from "../../apis/core/kinds.ts";
import type { StorageClass } from "../../apis/storage/kinds.ts";
import {
  instanceType,
  nodeView,
  pod,
  pods,
  poolInput,
  schedulingInput,
} from "../../testing/builders.ts";
import type { SchedulingResult } from "../provisioning/result.ts";
import { solve } from "../provisioning/solve.ts";
import { MOST_ALTERNATIVES, VolumeIndex, type VolumeObjects } from "./volumes.ts";

const BOUND = { "pv.kubernetes.io/bind-completed": "yes" };
const NOTHING: VolumeObjects = { claims: [], volumes: [], classes: [], csiNodes: [] };

function claim(
  name: string,
  spec: PersistentVolumeClaim["spec"],
  metadata = {},
): PersistentVolumeClaim {
  return { metadata: { name, namespace: "default", annotations: BOUND, ...metadata }, spec };
}

function volume(name: string, zones: readonly string[][], spec = {}): PersistentVolume {
  const nodeSelectorTerms = zones.map((values) => ({
    matchExpressions: [{ key: "topology.kubernetes.io/zone", operator: "In" as const, values }],
  }));
  return {
    metadata: { name },
    spec: { csi: { driver: "ebs" }, nodeAffinity: { required: { nodeSelectorTerms } }, ...spec },
  };
}

function storageClass(name: string, extra: Partial<StorageClass> = {}): StorageClass {
  return {
    metadata: { name },
    provisioner: "kubernetes.io/aws-ebs",
    volumeBindingMode: "WaitForFirstConsumer",
    ...extra,
  };
}

const using = (...claims: string[]) =>
  pod({
    spec: {
      volumes: claims.map((claimName) => ({
        name: claimName,
        persistentVolumeClaim: { claimName },
      })),
    },
  });

describe("VolumeIndex", () => {
  it("bounds the number of alternatives of several volumes, and drops equal ones", () => {
    const labelled = (name: string, key: string, values: readonly string[]): PersistentVolume => ({
      metadata: { name },
      spec: {
        nodeAffinity: {
          required: {
            nodeSelectorTerms: values.map((value) => ({
              matchExpressions: [{ key, operator: "In" as const, values: [value] }],
            })),
          },
        },
      },
    });
    const names = Array.from({ length: 12 }, (_, index) => `v-${index}`);
    const ten = Array.from("0123456789");
    const indexOf = (volumes: readonly PersistentVolume[]) =>
      new VolumeIndex({
        ...NOTHING,
        claims: names.map((name) => claim(name, { volumeName: name })),
        volumes,
      });
    const apart = indexOf(names.map((name) => labelled(name, `example.com/${name}`, ten)));
    const many = apart.alternatives(using(...names));
    expect(many.length).toBe(MOST_ALTERNATIVES);
    expect(new Set(many.map(({ id }) => id)).size).toBe(MOST_ALTERNATIVES);
    // Each alternative has requirements on all labels.
    expect(many.every(({ size }) => size === names.length)).toBe(true);
    expect(apart.alternatives(using("v-0", "v-1")).length).toBe(100);

    const zone = "topology.kubernetes.io/zone";
    const alike = indexOf(names.map((name) => labelled(name, zone, ["a", "b", "a", "c"])));
    const zones = alike.alternatives(using(...names)).map((one) => one.get(zone).values);
    expect(zones).toEqual([["a"], ["b"], ["c"]]);
  });

  it("says for which PersistentVolumeClaim and why a pod is refused", () => {
    const index = new VolumeIndex({
      ...NOTHING,
      claims: [
        claim("lost", { volumeName: "x" }, {}),
        claim("unbound", {}),
        claim("classless", { storageClassName: "gone" }),
        claim("immediate", { storageClassName: "immediate" }),
        claim("good", { storageClassName: "wait" }),
        claim("half", { volumeName: "x" }, { annotations: {} }),
        claim("leaving", {}, { deletionTimestamp: "2026-01-01T00:00:00Z" }),
        { ...claim("no volume", { volumeName: "x" }), status: { phase: "Lost" } },
        claim("leaving volume", { volumeName: "leaving" }),
        claim("tied", { storageClassName: "tied" }),
        claim("foreign", { storageClassName: "foreign" }),
      ],
      volumes: [
        { metadata: { name: "leaving", deletionTimestamp: "2026-01-01T00:00:00Z" }, spec: {} },
      ],
      unsupportedProvisioners: ["foreign.csi"],
      classes: [
        storageClass("wait"),
        storageClass("foreign", { provisioner: "foreign.csi" }),
        storageClass("tied", {
          allowedTopologies: [
            { matchLabelExpressions: [{ key: "kubernetes.io/hostname", values: ["n1"] }] },
          ],
        }),
        storageClass("immediate", { volumeBindingMode: "Immediate" }),
      ],
    });
    const names = ["lost", "unbound", "classless", "immediate", "good", "half", "leaving"];
    names.push("no volume", "leaving volume", "tied", "foreign", "nowhere");
    const reasons = names.map((name) => index.refusal(using(name)));
    const of = (name: string, ...more: string[]) =>
      `(${[`PersistentVolumeClaim=default/${name}`, ...more].join(", ")})`;
    const ofClass = (name: string, ...more: string[]) => of(name, `StorageClass=${name}`, ...more);
    expect(reasons).toEqual([
      `persistentvolume "x" not found ${of("lost", "PersistentVolume=x", "StorageClass=")}`,
      `unbound pvc must define a storage class ${of("unbound", "StorageClass=")}`,
      `failed to validate pvc, failed to get storage class ${of("classless", "StorageClass=gone")}`,
      `failed to validate pvc, pvc with immediate volume binding mode must be bound ${ofClass("immediate")}`,
      undefined,
      "pvc is considered unbound because it does not contain annotation " +
        "(annotation=pv.kubernetes.io/bind-completed, PersistentVolumeClaim=half, PersistentVolume=x)",
      `persistentvolumeclaim is being deleted ${of("leaving")}`,
      `persistentvolumeclaim bound to non-existent persistentvolume ${of("no volume", "PersistentVolume=x")}`,
      `persistentvolume is being deleted ${of("leaving volume", "PersistentVolume=leaving", "StorageClass=")}`,
      "failed to validate pvc, storage class uses unsupported topology key " +
        ofClass("tied", "TopologyKey=kubernetes.io/hostname"),
      `failed to validate pvc, provisioner is not supported ${ofClass("foreign", "Provisioner=foreign.csi")}`,
      'persistentvolumeclaim "nowhere" not found',
    ]);
  });

  it("refuses a pod if any of its volumes is invalid, not only the first", () => {
    const claims = [claim("good", { storageClassName: "wait" }), claim("bad", {})];
    const index = new VolumeIndex({ ...NOTHING, claims, classes: [storageClass("wait")] });
    expect(index.refusal(using("good", "bad"))).toContain("must define a storage class");
    const volumeClaimTemplate = { spec: { storageClassName: "gone" } };
    const both = [
      ...(using("good").spec.volumes ?? []),
      { name: "scratch", ephemeral: { volumeClaimTemplate } },
    ];
    expect(index.refusal(pod({ spec: { volumes: both } }))).toContain("StorageClass=gone");
  });

  it("counts an in-tree EBS volume for the CSI driver, and NFS for no driver", () => {
    const index = new VolumeIndex({
      ...NOTHING,
      claims: ["old", "file"].map((name) => claim(name, { volumeName: `pv-${name}` })),
      volumes: [
        { metadata: { name: "pv-old" }, spec: { awsElasticBlockStore: { volumeID: "vol-1" } } },
        { metadata: { name: "pv-file" }, spec: { nfs: { server: "s", path: "/" } } },
      ],
    });
    expect(index.usage(using("old", "file"))).toEqual(
      new Map([["ebs.csi.aws.com", new Set(["default/old"])]]),
    );
  });

  it("ignores the hostname requirement of local and hostPath volumes, but not of CSI volumes", () => {
    const matchExpressions = [
      { key: "kubernetes.io/hostname", operator: "In" as const, values: ["n1"] },
      { key: "topology.kubernetes.io/zone", operator: "In" as const, values: ["zone-a"] },
    ];
    const nodeAffinity = { required: { nodeSelectorTerms: [{ matchExpressions }] } };
    const keysOf = (spec: PersistentVolume["spec"]) => {
      const volumes = [{ metadata: { name: "pv" }, spec: { nodeAffinity, ...spec } }];
      const index = new VolumeIndex({
        ...NOTHING,
        claims: [claim("a", { volumeName: "pv" })],
        volumes,
      });
      return index.alternatives(using("a")).map((one) => [...one.keys()].sort());
    };
    expect(keysOf({ local: { path: "/disk" } })).toEqual([["topology.kubernetes.io/zone"]]);
    expect(keysOf({ hostPath: { path: "/disk" } })).toEqual([["topology.kubernetes.io/zone"]]);
    expect(keysOf({ csi: { driver: "ebs" } })).toHaveLength(1);
    expect(keysOf({ csi: { driver: "ebs" } })[0]).toContain("kubernetes.io/hostname");
  });

  it("intersects the zones of several volumes and drops contradictions", () => {
    const index = new VolumeIndex({
      ...NOTHING,
      claims: [claim("a", { volumeName: "pa" }), claim("b", { volumeName: "pb" })],
      volumes: [volume("pa", [["zone-a"], ["zone-b"]]), volume("pb", [["zone-b", "zone-c"]])],
    });
    const texts = index.alternatives(using("a", "b")).map(String);
    expect(texts).toEqual(["topology.kubernetes.io/zone In [zone-b]"]);
  });

  it("uses allowedTopologies of the StorageClass for a volume that does not exist yet", () => {
    const allowedTopologies = [
      { matchLabelExpressions: [{ key: "topology.kubernetes.io/zone", values: ["zone-b"] }] },
    ];
    const index = new VolumeIndex({
      ...NOTHING,
      classes: [storageClass("wait", { allowedTopologies })],
    });
    const ephemeral = pod({
      spec: {
        volumes: [
          {
            name: "tmp",
            ephemeral: { volumeClaimTemplate: { spec: { storageClassName: "wait" } } },
          },
        ],
      },
    });
    expect(index.refusal(ephemeral)).toBe(undefined);
    expect(index.alternatives(ephemeral).map(String)).toEqual([
      "topology.kubernetes.io/zone In [zone-b]",
    ]);
    expect([...index.usage(ephemeral)]).toEqual([
      ["ebs.csi.aws.com", new Set(["default/pod-tmp"])],
    ]);
  });

  it("attaches no more volumes to an existing node than its CSINode allows", () => {
    const names = ["a", "b", "c"];
    const volumes: VolumeObjects = {
      claims: names.map((name) => claim(name, { volumeName: `pv-${name}` })),
      volumes: names.map((name) => volume(`pv-${name}`, [])),
      classes: [],
      csiNodes: [
        {
          metadata: { name: "n" },
          spec: { drivers: [{ name: "ebs", allocatable: { count: 2 } }] },
        },
      ],
    };
    const batch = pods(3).map((one, index) => ({
      ...one,
      spec: { ...one.spec, volumes: using(names[index] as string).spec.volumes ?? [] },
    }));
    const nodes = [nodeView({ node: { name: "n" } })];
    const result = solve(schedulingInput({ pods: batch, nodes, volumes }));
    expect(result.existing[0]?.pods).toHaveLength(2);
    expect(result.newClaims).toHaveLength(1);
  });

  describe("on new nodes", () => {
    const names = ["a", "b", "c", "d"];
    const volumes = (count?: number): VolumeObjects => ({
      claims: names.map((name) => claim(name, { volumeName: `pv-${name}` })),
      volumes: names.map((name) => volume(`pv-${name}`, [])),
      classes: [],
      csiNodes:
        count === undefined
          ? []
          : [
              {
                metadata: { name: "n" },
                spec: { drivers: [{ name: "ebs", allocatable: { count } }] },
              },
            ],
    });
    const batch = (...claims: string[][]) =>
      pods(claims.length).map((one, index) => ({
        ...one,
        spec: { ...one.spec, volumes: using(...(claims[index] as string[])).spec.volumes ?? [] },
      }));
    const counts = (result: SchedulingResult) => result.newClaims.map((one) => one.pods.length);

    it("attaches no more volumes than the CSINodes of the same type allow", () => {
      const type = { "node.kubernetes.io/instance-type": "m-4x" };
      const nodes = [nodeView({ node: { name: "n", labels: type }, deleting: true })];
      const pools = [poolInput({}, [instanceType({ cpu: 4 })])];
      const input = { pods: batch(["a"], ["b"], ["c"]), nodes, pools };
      expect(counts(solve(schedulingInput({ ...input, volumes: volumes(2) })))).toEqual([2, 1]);
      expect(counts(solve(schedulingInput({ ...input, volumes: volumes() })))).toEqual([3]);
    });

    it("uses the smallest limit among the CSINodes of the same type", () => {
      const labels = { "node.kubernetes.io/instance-type": "m-4x" };
      const slots = { m: 3, n: 2, o: 4 };
      const nodes = Object.keys(slots).map((name) =>
        nodeView({ node: { name, labels }, deleting: true }),
      );
      const csiNodes = Object.entries(slots).map(([name, count]) => ({
        metadata: { name },
        spec: { drivers: [{ name: "ebs", allocatable: { count } }] },
      }));
      const pools = [poolInput({}, [instanceType({ cpu: 4 })])];
      const input = { pods: batch(["a"], ["b"], ["c"]), nodes, pools };
      const facts = { ...volumes(), csiNodes };
      expect(counts(solve(schedulingInput({ ...input, volumes: facts })))).toEqual([2, 1]);
    });

    it("prefers the attach limit in the type's capacity to that of its CSINodes", () => {
      const labels = { "node.kubernetes.io/instance-type": "m-4x" };
      const nodes = [nodeView({ node: { name: "n", labels }, deleting: true })];
      const capacity = { "attachable-volumes-csi-ebs": 2 };
      const pools = [poolInput({}, [instanceType({ cpu: 4, capacity })])];
      const input = { pods: batch(["a"], ["b"], ["c"]), nodes, pools };
      expect(counts(solve(schedulingInput({ ...input, volumes: volumes(1) })))).toEqual([2, 1]);
      expect(counts(solve(schedulingInput({ ...input, volumes: volumes(9) })))).toEqual([2, 1]);
    });

    it("uses the cloud's attach limit of a type until a CSINode of the type has another", () => {
      const labels = { "node.kubernetes.io/instance-type": "m-4x" };
      const nodes = [nodeView({ node: { name: "n", labels }, deleting: true })];
      const limited = { ...instanceType({ cpu: 4 }), volumeAttachmentLimits: { ebs: 2 } };
      const input = { pods: batch(["a"], ["b"], ["c"]), pools: [poolInput({}, [limited])] };
      expect(counts(solve(schedulingInput({ ...input, volumes: volumes() })))).toEqual([2, 1]);
      const running = { ...input, nodes, volumes: volumes(9) };
      expect(counts(solve(schedulingInput(running)))).toEqual([3]);
    });

    it("counts a shared claim once and takes a larger type, by the attach limits of types", () => {
      const slots = (count: number) => ({ "attachable-volumes-csi-ebs": count });
      const pools = [
        poolInput({}, [
          instanceType({ cpu: 4, capacity: slots(2) }),
          instanceType({ cpu: 8, capacity: slots(3) }),
        ]),
      ];
      const solved = (...claims: string[][]) =>
        solve(schedulingInput({ pods: batch(...claims), pools, volumes: volumes() }));
      const shared = solved(["a", "b"], ["b"]);
      expect(shared.newClaims[0]?.cheapest.instanceType).toBe("m-4x");
      expect(solved(["a", "b"], ["c"]).newClaims[0]?.instanceTypes.map(({ name }) => name)).toEqual(
        ["m-8x"],
      );
      const four = solved(["a", "b", "c", "d"]);
      expect(four.unschedulable[0]?.message).toContain("would exceed volume limit");
      expect(four.unschedulable[0]?.pools[0]?.rejected).toEqual({ volumes: 2 });
    });
  });

  it("tries the zones of a volume in order until one has an offering", () => {
    const facts: VolumeObjects = {
      ...NOTHING,
      claims: [claim("a", { volumeName: "pa" })],
      volumes: [volume("pa", [["mars"], ["zone-c"], ["zone-b"]])],
    };
    const result = solve(schedulingInput({ pods: [using("a")], volumes: facts }));
    expect(result.newClaims[0]?.cheapest.zone).toBe("zone-c");
  });

  describe("with a volume that may be in either of two zones", () => {
    const facts: VolumeObjects = {
      ...NOTHING,
      claims: [claim("a", { volumeName: "pa" })],
      volumes: [volume("pa", [["zone-c"], ["zone-b"]])],
    };

    it("uses an existing node in the second zone, too", () => {
      const there = (zone: string) => {
        const labels = { "topology.kubernetes.io/zone": zone };
        const nodes = [nodeView({ node: { name: "n", labels } })];
        return solve(schedulingInput({ pods: [using("a")], nodes, volumes: facts })).existing;
      };
      expect(there("zone-b")).toMatchObject([{ nodeName: "n" }]);
      expect(there("zone-c")).toMatchObject([{ nodeName: "n" }]);
      expect(there("zone-a")).toEqual([]);
    });

    it("launches a node in the second zone if pod anti-affinity excludes the first", () => {
      const labelSelector = { matchLabels: { app: "web" } };
      const topologyKey = "topology.kubernetes.io/zone";
      const podAntiAffinity = {
        requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector }],
      };
      const one = using("a");
      const apart = { ...one, spec: { ...one.spec, affinity: { podAntiAffinity } } };
      const node = { name: "n", labels: { [topologyKey]: "zone-c" }, capacity: { cpu: "100m" } };
      const old = pod({ name: "old", nodeName: "n", labels: { app: "web" } });
      const nodes = [nodeView({ node, pods: [old] })];
      const result = solve(schedulingInput({ pods: [apart], nodes, volumes: facts }));
      expect(result.newClaims[0]?.cheapest.zone).toBe("zone-b");
    });
  });
});
