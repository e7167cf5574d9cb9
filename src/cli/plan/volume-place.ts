/**
 * The fix for a pod whose volume is at a place that no instance type and no node has, such as a mistyped zone in a
 * StorageClass. No change of the pod or of a NodePool helps such a pod.
 */
import type { Pod } from "../../apis/core/pod.ts";
import { meantName } from "../../base/slips.ts";
import { compareText } from "../../base/text-order.ts";
import { within } from "../../base/within.ts";
import type { SchedulingInput } from "../../core/provisioning/scheduling-input.ts";
import type { Requirement } from "../../core/scheduling/requirement.ts";
import { VolumeIndex, type VolumePlace } from "../../core/scheduling/volumes.ts";
import type { ObjectFix } from "./object-fix.ts";

/** Finds such fixes for the pods of one plan. What the pods share is read once. */
export class VolumePlaceFixes {
  readonly #input: SchedulingInput;
  #index: VolumeIndex | undefined;
  readonly #values = new Map<string, readonly string[]>();

  constructor(input: SchedulingInput) {
    this.#input = input;
  }

  /** The fix for the first such volume of the pod. Undefined: each volume can be reached from some place. */
  of(pod: Pod): ObjectFix | undefined {
    for (const volume of pod.spec.volumes ?? []) {
      this.#index ??= new VolumeIndex(this.#input.volumes);
      const place = this.#index.place(pod, volume);
      if (place === undefined) continue;
      const missing = place.alternatives.map((own) =>
        [...own.all()].find((one) => this.#isNowhere(one)),
      );
      const [first] = missing;
      if (first !== undefined && missing.every((one) => one !== undefined))
        return placeFix(place, first, this.#valuesOf(first.key));
    }
    return undefined;
  }

  /** Whether no type and no node has one of these values. A label that no type has is left to others to judge. */
  #isNowhere({ key, complement, values }: Requirement): boolean {
    const known = this.#valuesOf(key);
    return !complement && known.length > 0 && !values.some((value) => known.includes(value));
  }

  /** The values of the label that instance types and nodes have, sorted. Empty: no type has the label. */
  #valuesOf(key: string): readonly string[] {
    const { pools, nodes } = this.#input;
    return within(this.#values, key, () => {
      const types = new Set(pools.flatMap(({ instanceTypes }) => instanceTypes));
      const ofTypes = [...types].flatMap(({ labels }) => labels[key] ?? []);
      if (ofTypes.length === 0) return [];
      const ofNodes = nodes.flatMap(({ labels }) => labels[key] ?? []);
      return [...new Set([...ofTypes, ...ofNodes])].sort(compareText);
    });
  }
}

function placeFix(
  { kind, name }: VolumePlace,
  { key, values }: Requirement,
  known: readonly string[],
): ObjectFix {
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
