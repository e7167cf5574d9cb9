/**
 * The status of a CRD as the CRD controllers write it: whether its names are accepted or in conflict, whether
 * it is established, its accepted names and its stored versions.
 * upstream: apiextensions-apiserver pkg/controller/{status,establish}
 */
import type { KubeObject, ObjectMeta } from "../../../apis/meta.ts";
import { deepEqual } from "../../../base/json.ts";
import type { CustomResourceDefinition } from "./custom.ts";

/**
 * `crd` with its status updated, or `crd` itself if nothing changes. `others` are all other CRDs: a name that
 * one of them has is not accepted.
 */
export function establish(
  crd: KubeObject,
  nowMs: number,
  others: readonly KubeObject[] = [],
): KubeObject {
  const custom = crd as CustomResourceDefinition;
  const { names } = custom.spec;
  const conflict = findConflict(custom, others as readonly CustomResourceDefinition[]);
  const at = new Date(nowMs).toISOString().replace(/\.\d+Z$/, "Z");
  const conditions = [
    conflict === undefined
      ? condition("NamesAccepted", "True", "NoConflicts", "no conflicts found", at)
      : condition("NamesAccepted", "False", conflict.reason, conflict.message, at),
    conflict === undefined
      ? condition(
          "Established",
          "True",
          "InitialNamesAccepted",
          "the initial names have been accepted",
          at,
        )
      : condition("Established", "False", "NotAccepted", "not all names are accepted", at),
  ].map((next) => {
    const before = custom.status?.conditions?.find(({ type }) => type === next.type);
    return before?.status === next.status ? before : next;
  });
  const ending = custom.status?.conditions?.filter(({ type }) => type === "Terminating") ?? [];
  const storage = custom.spec.versions.find((version) => version.storage)?.name;
  const stored = custom.status?.storedVersions ?? [];
  const status = {
    acceptedNames: conflict === undefined ? names : (custom.status?.acceptedNames ?? names),
    conditions: [...conditions, ...ending],
    storedVersions:
      storage === undefined || stored.includes(storage) ? stored : [...stored, storage],
  };
  if (deepEqual(custom.status, status)) return crd;
  return { ...crd, metadata: ownedStatus(crd.metadata, status, at), status } as KubeObject;
}

/** The managedFields entry for the status, which the server owns. */
function ownedStatus(
  metadata: ObjectMeta,
  status: {
    readonly acceptedNames: object;
    readonly conditions: readonly { readonly type: string }[];
  },
  time: string,
): ObjectMeta {
  const each = (value: object): object =>
    Object.fromEntries(Object.keys(value).map((name) => [`f:${name}`, {}]));
  const conditions = status.conditions.map((one) => [
    `k:${JSON.stringify({ type: one.type })}`,
    { ".": {}, ...each(one) },
  ]);
  const entry = {
    manager: "kube-apiserver",
    operation: "Update",
    apiVersion: "apiextensions.k8s.io/v1",
    time,
    fieldsType: "FieldsV1",
    fieldsV1: {
      "f:status": {
        "f:acceptedNames": each(status.acceptedNames),
        "f:conditions": Object.fromEntries(conditions),
      },
    },
    subresource: "status",
  };
  const others = (metadata.managedFields ?? []).filter(
    (other) => (other as { readonly manager?: string }).manager !== entry.manager,
  );
  return { ...metadata, managedFields: [...others, entry] };
}

function condition(type: string, status: string, reason: string, message: string, at: string) {
  return { lastTransitionTime: at, message, reason, status, type };
}

function findConflict(
  crd: CustomResourceDefinition,
  others: readonly CustomResourceDefinition[],
): { reason: string; message: string } | undefined {
  const { names, group } = crd.spec;
  for (const other of others) {
    if (other.metadata.name === crd.metadata.name || other.spec.group !== group) continue;
    const taken = other.spec.names;
    if (taken.plural === names.plural) {
      return { reason: "PluralConflict", message: `"${names.plural}" is already in use` };
    }
    if (taken.kind === names.kind) {
      return { reason: "KindConflict", message: `"${names.kind}" is already in use` };
    }
    const short = names.shortNames?.find((name) => taken.shortNames?.includes(name));
    if (short !== undefined) {
      return { reason: "ShortNamesConflict", message: `"${short}" is already in use` };
    }
  }
  return undefined;
}
