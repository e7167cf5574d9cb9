import { describe, expect, it } from "vitest";
import type { PersistentVolume, PersistentVolumeClaim } from "../../../apis/core/kinds.ts";
import type { Pod } from "../../../apis/core/pod.ts";
import type { CSINode, StorageClass } from "../../../apis/storage/kinds.ts";
import { testNode, testPod, ZONE } from "../../testing/objects.ts";
import { NO_SURROUNDINGS, snapshotOf } from "../../testing/snapshots.ts";
import { feasibleNodes } from "../feasible.ts";
import { podInfo } from "../pod-info.ts";

interface World {
  readonly claims?: readonly PersistentVolumeClaim[];
  readonly volumes?: readonly PersistentVolume[];
  readonly classes?: readonly StorageClass[];
  readonly csiNodes?: readonly CSINode[];
}

const NODES = [testNode("a", { zone: "a" }), testNode("b", { zone: "b" })];
const DRIVER = "ebs.csi.aws.com";

/** Names of the feasible nodes, or why there are none. */
function ask(world: World, placed: readonly Pod[] = []): string {
  const named = <T extends { metadata: { name: string } }>(list: readonly T[] = [], name: string) =>
    list.find(({ metadata }) => metadata.name === name);
  const surroundings = {
    ...NO_SURROUNDINGS,
    volumes: {
      claim: (_: string, name: string) => named(world.claims, name),
      volume: (name: string) => named(world.volumes, name),
      volumes: () => world.volumes ?? [],
      storageClass: (name: string) => named(world.classes, name),
      csiNode: (name: string) => named(world.csiNodes, name),
    },
  };
  const result = feasibleNodes(podInfo(user("p", "data")), snapshotOf(NODES, placed, surroundings));
  if (result.message !== undefined) return result.message;
  if (result.nodes.length > 0) return result.nodes.map(({ name }) => name).join(" ");
  return [...new Set([...result.rejections.values()].flatMap(({ reasons }) => reasons))].join(", ");
}

function user(name: string, claim: string, nodeName?: string): Pod {
  const volumes = [{ name: "v", persistentVolumeClaim: { claimName: claim } }];
  return testPod(name, { volumes, ...(nodeName === undefined ? {} : { nodeName }) });
}

function claim(
  extra: object = {},
  annotations: Record<string, string> = {},
): PersistentVolumeClaim {
  return {
    metadata: { name: "data", namespace: "default", uid: "u", annotations },
    spec: {
      accessModes: ["ReadWriteOnce"],
      storageClassName: "gp3",
      resources: { requests: { storage: "1Gi" } },
      ...extra,
    },
  };
}

function bound(name = "data", accessMode = "ReadWriteOnce"): PersistentVolumeClaim {
  const base = claim({ volumeName: `pv-${name}`, accessModes: [accessMode] });
  return { ...base, metadata: { ...base.metadata, name }, status: { phase: "Bound" } };
}

function volume(name: string, zone: string, extra: object = {}): PersistentVolume {
  const values = [zone];
  return {
    metadata: { name },
    spec: {
      storageClassName: "gp3",
      accessModes: ["ReadWriteOnce"],
      capacity: { storage: "5Gi" },
      csi: { driver: DRIVER, volumeHandle: name },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: ZONE, operator: "In", values }] }],
        },
      },
      ...extra,
    },
  };
}

function storageClass(extra: Partial<StorageClass> = {}): StorageClass {
  return {
    metadata: { name: "gp3" },
    provisioner: DRIVER,
    volumeBindingMode: "WaitForFirstConsumer",
    ...extra,
  };
}

const CONFLICT = "node(s) didn't match PersistentVolume's node affinity";
const NOTHING = "node(s) didn't find available persistent volumes to bind";

describe("a pod with a volume claim fits", () => {
  it.each<[title: string, world: World, expected: string, placed?: readonly Pod[]]>([
    ["nowhere while the claim is missing", {}, 'persistentvolumeclaim "data" not found'],
    [
      "nowhere while an immediate claim is unbound",
      { claims: [claim()], classes: [storageClass({ volumeBindingMode: "Immediate" })] },
      "pod has unbound immediate PersistentVolumeClaims",
    ],
    ["where its bound volume is", { claims: [bound()], volumes: [volume("pv-data", "b")] }, "b"],
    [
      "nowhere if its volume is in another place than all nodes",
      { claims: [bound()], volumes: [volume("pv-data", "z")] },
      CONFLICT,
    ],
    [
      "anywhere if its volume will be created",
      { claims: [claim()], classes: [storageClass()] },
      "a b",
    ],
    [
      "where the storage class allows a volume to be created",
      {
        claims: [claim()],
        classes: [
          storageClass({
            allowedTopologies: [{ matchLabelExpressions: [{ key: ZONE, values: ["b"] }] }],
          }),
        ],
      },
      "b",
    ],
    [
      "where a free volume is, if none can be created",
      {
        claims: [claim()],
        classes: [storageClass({ provisioner: "kubernetes.io/no-provisioner" })],
        volumes: [volume("local", "b")],
      },
      "b",
    ],
    [
      "nowhere if no volume is free and none can be created",
      {
        claims: [claim()],
        classes: [storageClass({ provisioner: "kubernetes.io/no-provisioner" })],
        volumes: [volume("local", "b", { claimRef: { namespace: "default", name: "other" } })],
      },
      NOTHING,
    ],
    [
      "only on the node that was chosen for its volume before",
      {
        claims: [claim({}, { "volume.kubernetes.io/selected-node": "b" })],
        classes: [storageClass()],
      },
      "b",
    ],
    [
      "in the zone that the label of its volume names",
      {
        claims: [bound()],
        volumes: [
          {
            metadata: {
              name: "pv-data",
              labels: { "failure-domain.beta.kubernetes.io/zone": "b__c" },
            },
            spec: { storageClassName: "gp3" },
          },
        ],
      },
      "b",
    ],
    [
      "where one more volume can be attached",
      {
        claims: [claim(), bound("other")],
        classes: [storageClass()],
        volumes: [volume("pv-other", "a")],
        csiNodes: [
          {
            metadata: { name: "a" },
            spec: { drivers: [{ name: DRIVER, allocatable: { count: 1 } }] },
          },
        ],
      },
      "b",
      [user("x", "other", "a")],
    ],
    [
      "nowhere while another pod has its ReadWriteOncePod claim",
      {
        claims: [bound("data", "ReadWriteOncePod")],
        volumes: [volume("pv-data", "a")],
      },
      "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
      [user("x", "data", "a")],
    ],
  ])("%s", (_, world, expected, placed = []) => {
    expect(ask(world, placed)).toBe(expected);
  });
});
