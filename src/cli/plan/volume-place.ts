/**
 * The fix for a pod whose volume is at a place that no instance type and no node has, such as a mistyped zone in a
 * StorageClass. No change of the pod or of a NodePool helps such a pod.
 */
import type { Pod, Volume } from "../../apis/core/pod.ts";
import { keyOf } from "../../apis/meta.ts";
import { meantName } from "../../base/slips.ts";
import { compareText } from "../../base/text-order.ts";
import type { SchedulingInput } from "../../core/provisioning/scheduling-input.ts";
import { normalizedKey } from "../../core/scheduling/requirements.ts";
import { claimName } from "../../core/scheduling/volumes.ts";
import type { VolumeFix } from "./volume-fix.ts";

/** A label and the values of it that a volume allows. */
interface Place {
  readonly key: string;
  readonly values: readonly string[];
}

/** The object that says where a volume is, and its alternatives. */
interface Placed {
  readonly kind: "StorageClass" | "PersistentVolume";
  readonly name: string;
  readonly terms: readonly (readonly Place[])[];
}

/** The fix for the first such volume of the pod. Undefined: each volume can be reached from some place. */
export function volumePlaceFix(pod: Pod, input: SchedulingInput): VolumeFix | undefined {
  for (const volume of pod.spec.volumes ?? []) {
    const placed = placedBy(pod, volume, input.volumes);
    if (placed === undefined || placed.terms.length === 0) continue;
    const missing = placed.terms.map((term) => term.find((one) => isNowhere(one, input)));
    const [first] = missing;
    if (first !== undefined && missing.every((one) => one !== undefined))
      return placeFix(placed, first, knownValues(first.key, input) ?? []);
  }
  return undefined;
}

function placedBy(
  pod: Pod,
  volume: Volume,
  { claims, volumes, classes }: SchedulingInput["volumes"],
): Placed | undefined {
  const key = `${pod.metadata.namespace ?? "default"}/${claimName(pod, volume) ?? ""}`;
  const claim = claims.find((one) => keyOf(one) === key);
  const bound = volumes.find(({ metadata }) => metadata.name === claim?.spec.volumeName);
  if (bound !== undefined) {
    const terms = bound.spec.nodeAffinity?.required?.nodeSelectorTerms ?? [];
    const places = terms.map(({ matchExpressions = [] }) =>
      matchExpressions
        .filter(({ operator }) => operator === "In")
        .map(({ key: label, values = [] }) => ({ key: normalizedKey(label), values })),
    );
    return { kind: "PersistentVolume", name: bound.metadata.name, terms: places };
  }
  const storageClass = classes.find(
    ({ metadata }) => metadata.name === claim?.spec.storageClassName,
  );
  const terms = (storageClass?.allowedTopologies ?? []).map(({ matchLabelExpressions = [] }) =>
    matchLabelExpressions.map(({ key: label, values }) => ({ key: normalizedKey(label), values })),
  );
  return storageClass && { kind: "StorageClass", name: storageClass.metadata.name, terms };
}

/** Whether no type and no node has one of these values. A label that no type has is left to others to judge. */
function isNowhere({ key, values }: Place, input: SchedulingInput): boolean {
  const known = knownValues(key, input);
  return known !== undefined && !values.some((value) => known.includes(value));
}

/** The values of the label that instance types and nodes have, sorted. Undefined: no type has the label. */
function knownValues(key: string, { pools, nodes }: SchedulingInput): string[] | undefined {
  const types = new Set(pools.flatMap(({ instanceTypes }) => instanceTypes));
  const ofTypes = [...types].flatMap(({ labels }) => labels[key] ?? []);
  if (ofTypes.length === 0) return undefined;
  const ofNodes = nodes.flatMap(({ labels }) => labels[key] ?? []);
  return [...new Set([...ofTypes, ...ofNodes])].sort(compareText);
}

function placeFix({ kind, name }: Placed, { key, values }: Place, known: string[]): VolumeFix {
  const [value = ""] = values;
  const better = meantName(value, known) ?? known[0] ?? "";
  const wrong = `${key} ${values.join(", ")}`;
  if (kind === "PersistentVolume")
    return {
      text:
        `restore PersistentVolume ${name} in a place that exists, such as ${better}, or give the node class a ` +
        `subnet there: the volume is at ${wrong}, which no instance type and no node has`,
      edits: [],
    };
  return {
    text:
      `set allowedTopologies of StorageClass ${name} to a value that exists, such as ${better}: it allows only ` +
      `${wrong}, which no instance type and no node has`,
    edits: [
      {
        object: `StorageClass ${name}`,
        field: `allowedTopologies[${key}]`,
        action: "set",
        value: better,
        from: values.join(", "),
      },
    ],
  };
}
