/**
 * Disks for random apps. A volume may already be bound, in one zone or in two. A claim may be bound when its pod is
 * scheduled, in any zone or in one. Pods share a claim, or each pod has its own.
 */
import type { KubeObject } from "../../src/apis/meta.ts";
import type { Random } from "../../src/base/random.ts";
import { ZONE } from "./draw-story.ts";

const DRIVER = "disk.csi.example.com";
const SIZE = { resources: { requests: { storage: "1Gi" } } };

/**
 * Storage classes. The volumes of `anywhere` and `first-zone` are created only when a pod that uses them is scheduled.
 */
export function storageClasses(zones: readonly string[]): readonly KubeObject[] {
  const made = { provisioner: DRIVER, volumeBindingMode: "WaitForFirstConsumer" };
  const inFirst = { matchLabelExpressions: [{ key: ZONE, values: [zones[0]] }] };
  return [
    storageClass("anywhere", made),
    storageClass("first-zone", { ...made, allowedTopologies: [inFirst] }),
  ];
}

function storageClass(name: string, fields: object): KubeObject {
  const metadata = { name };
  return { apiVersion: "storage.k8s.io/v1", kind: "StorageClass", metadata, ...fields };
}

interface App extends KubeObject {
  readonly spec: {
    readonly replicas: number;
    readonly template: { readonly spec: object };
  };
}

/** Gives one of two apps a disk. `objects`: the objects that {@link drawApp} made, the Deployment first. */
export function withDisks(
  random: Random,
  objects: readonly KubeObject[],
  zones: readonly string[],
): readonly KubeObject[] {
  if (random.int(2) === 0) return objects;
  const [app, ...others] = objects as [App, ...KubeObject[]];
  const { name } = app.metadata;
  const storageClassName = random.pick(["anywhere", "anywhere", "first-zone"]);
  const kind = random.pick(["own", "own", "bound", "shared"]);
  const volume = kind === "own" ? ephemeral(storageClassName) : claimed(name);
  const spec = { ...app.spec.template.spec, volumes: [{ name: "disk", ...volume }] };
  const template = { ...app.spec.template, spec };
  const deployment = { ...app, spec: { ...app.spec, template } };
  if (kind === "own") return [deployment, ...others];
  const more =
    kind === "bound"
      ? bound(name, random.pick([zones, ...zones.map((zone) => [zone])]))
      : [claim(name, { storageClassName })];
  return [...more, deployment, ...others];
}

function ephemeral(storageClassName: string): object {
  const spec = { storageClassName, accessModes: ["ReadWriteOnce"], ...SIZE };
  return { ephemeral: { volumeClaimTemplate: { spec } } };
}

function claimed(claimName: string): object {
  return { persistentVolumeClaim: { claimName } };
}

function claim(name: string, fields: object): KubeObject {
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name, namespace: "default" },
    spec: { accessModes: ["ReadWriteMany"], ...SIZE, ...fields },
  } as KubeObject;
}

/** A claim that is bound to a volume in these zones, and the volume. */
function bound(name: string, zones: readonly string[]): readonly KubeObject[] {
  const inZones = { matchExpressions: [{ key: ZONE, operator: "In", values: zones }] };
  const volume = {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: `disk-of-${name}` },
    spec: {
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteMany"],
      storageClassName: "",
      csi: { driver: DRIVER, volumeHandle: name },
      claimRef: { namespace: "default", name },
      nodeAffinity: { required: { nodeSelectorTerms: [inZones] } },
    },
  } as unknown as KubeObject;
  return [volume, claim(name, { storageClassName: "", volumeName: `disk-of-${name}` })];
}
