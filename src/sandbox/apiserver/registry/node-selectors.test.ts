import { expect, it } from "vitest";
import type { KubeObject } from "../../../apis/meta.ts";
import { printFieldError } from "../schema/field-error.ts";
import { createRegistry } from "./create-registry.ts";
import type { Raw } from "./kind-rules.ts";

const registry = createRegistry({ kubernetesVersion: "1.34" });

/** Errors of a new object, or of a new status, as the API server prints them. */
function errorsOf(kind: string, fields: Raw): string[] {
  const [group = "", plural = ""] = kind.split("/");
  const definition = registry.find(group, "v1", plural)!;
  const metadata = { name: "x", ...(definition.namespaced ? { namespace: "default" } : {}) };
  const { value } = definition.prune({ metadata, ...fields } as KubeObject);
  const current =
    fields.status === undefined ? undefined : ({ ...value, status: {} } as KubeObject);
  const defaulted = (one: KubeObject) => definition.applyDefaults(one);
  return definition.validate(defaulted(value), current && defaulted(current)).map(printFieldError);
}

/** Kinds with a node selector: an object with the selector, and its field. */
const KINDS: readonly (readonly [string, (selector: Raw) => Raw, string])[] = [
  [
    "/persistentvolumes",
    (required) => ({
      spec: {
        accessModes: ["ReadWriteOnce"],
        capacity: { storage: "1Gi" },
        nodeAffinity: { required },
      },
    }),
    "spec.nodeAffinity.required",
  ],
  [
    "/pods",
    (selector) => ({
      spec: {
        containers: [{ name: "a", image: "nginx" }],
        affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: selector } },
      },
    }),
    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution",
  ],
  [
    "resource.k8s.io/resourceslices",
    (nodeSelector) => ({ spec: { ...SLICE, nodeSelector } }),
    "spec.nodeSelector",
  ],
  [
    "resource.k8s.io/resourceslices",
    (nodeSelector) => ({
      spec: { ...SLICE, perDeviceNodeSelection: true, devices: [{ name: "d", nodeSelector }] },
    }),
    "spec.devices[0].nodeSelector",
  ],
  [
    "resource.k8s.io/resourceclaims",
    (nodeSelector) => ({ spec: {}, status: { allocation: { nodeSelector } } }),
    "status.allocation.nodeSelector",
  ],
];
const SLICE = {
  driver: "gpu.example.com",
  pool: { name: "n1", generation: 1, resourceSliceCount: 1 },
};

it.each(KINDS)("%s: the terms of a node selector are checked", (kind, withSelector, field) => {
  const errors = (...terms: readonly Raw[]) =>
    errorsOf(kind, withSelector({ nodeSelectorTerms: terms }));
  const zone = { key: "topology.kubernetes.io/zone", operator: "In", values: ["us-west-2a"] };
  const name = { key: "metadata.name", operator: "In", values: ["n1"] };
  const term = `${field}.nodeSelectorTerms[0]`;

  expect(errors({ matchExpressions: [zone], matchFields: [name] })).toEqual([]);
  expect(errors().join()).toMatch(/nodeSelectorTerms: .* node selector term$/);
  expect(errors({ matchExpressions: [{ ...zone, operator: undefined }] })).toEqual([
    `${term}.matchExpressions[0].operator: Invalid value: "": not a valid selector operator`,
  ]);
  expect(errors({ matchFields: [{ ...name, operator: "Exists" }] })).toEqual([
    `${term}.matchFields[0].operator: Invalid value: "Exists": not a valid selector operator`,
  ]);
  expect(errors({ matchFields: [{ ...name, values: ["n1", "n2"] }] })).toEqual([
    `${term}.matchFields[0].values: Required value: must be only one value when \`operator\` is 'In' or 'NotIn' for node field selector`,
  ]);
  expect(errors({ matchFields: [{ ...name, key: "spec.unschedulable" }] })).toEqual([
    `${term}.matchFields[0].key: Invalid value: "spec.unschedulable": not a valid field selector key`,
  ]);
});

it("a PersistentVolume's node affinity needs its required part", () => {
  const spec = { accessModes: ["ReadWriteOnce"], capacity: { storage: "1Gi" }, nodeAffinity: {} };
  expect(errorsOf("/persistentvolumes", { spec })).toEqual([
    "spec.nodeAffinity.required: Required value: must specify required node constraints",
  ]);
});

it("a StorageClass's allowedTopologies need unique keys with values", () => {
  const errors = (...matchLabelExpressions: readonly Raw[]) =>
    errorsOf("storage.k8s.io/storageclasses", {
      provisioner: "ebs.csi.aws.com",
      allowedTopologies: [{ matchLabelExpressions }],
    });
  const path = "allowedTopologies[0].matchLabelExpressions";
  const zone = { key: "topology.kubernetes.io/zone", values: ["us-west-2a"] };
  expect(errors(zone)).toEqual([]);
  expect(errors(zone, zone)).toEqual([
    `${path}[1].key: Duplicate value: "topology.kubernetes.io/zone"`,
  ]);
  expect(errors({ key: "topology.kubernetes.io/zone" })).toEqual([
    `${path}[0].values: Required value`,
  ]);
  expect(errors({ values: ["us-west-2a"] }).join()).toContain(`${path}[0].key: Invalid value: ""`);
});

it("a PersistentVolumeClaim is refused if its selector lacks an operator", () => {
  const spec = {
    accessModes: ["ReadWriteOnce"],
    resources: { requests: { storage: "1Gi" } },
    selector: { matchExpressions: [{ key: "a" }] },
  };
  expect(errorsOf("/persistentvolumeclaims", { spec })).toEqual([
    'spec.selector.matchExpressions[0].operator: Invalid value: "": not a valid selector operator',
  ]);
});
