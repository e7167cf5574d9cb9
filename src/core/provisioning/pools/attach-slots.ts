/**
 * How many volumes of a CSI driver a node of each instance type can attach: by the capacity
 * `attachable-volumes-csi-<driver>` of the type, else by the CSINodes of running nodes of that type, else by the
 * cloud's `volumeAttachmentLimits`. If nothing is known, there is no limit. Upstream checks existing nodes only.
 */
import { INSTANCE_TYPE_LABEL_KEY } from "../../../apis/karpenter/labels.ts";
import { eachInSteps, type Steps } from "../../../base/steps.ts";
import { within } from "../../../base/within.ts";
import type { InstanceType } from "../../cloudprovider/instance-type.ts";
import { type Bits, intersectionOf, noBits, setBit } from "../../scheduling/bits.ts";
import type { VolumeIndex, VolumeUsage } from "../../scheduling/volumes.ts";
import type { NodeView } from "../../state/node-view.ts";

const PREFIX = "attachable-volumes-csi-";

/** Type → driver → number of volumes that can be attached: the smallest number of all running nodes of the type. */
export type SeenSlots = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** The numbers of volumes that the CSINodes of these nodes allow. */
export function* seenSlots(nodes: readonly NodeView[], volumes: VolumeIndex): Steps<SeenSlots> {
  const seen = new Map<string, Map<string, number>>();
  yield* eachInSteps(nodes, ({ name, labels }) => {
    const type = labels[INSTANCE_TYPE_LABEL_KEY];
    if (type === undefined) return;
    for (const [driver, count] of volumes.limits(name)) {
      const ofType = within(seen, type, () => new Map<string, number>());
      ofType.set(driver, Math.min(count, ofType.get(driver) ?? count));
    }
  });
  return seen;
}

interface Slots {
  /** For each type, by position: how many volumes it can attach. */
  readonly slots: readonly number[];
  readonly least: number;
}

export class AttachSlots {
  readonly #types: readonly InstanceType[];
  #seen: SeenSlots;
  readonly #byDriver = new Map<string, Slots>();

  /** `types`: in the order of the type table, so that bits have the same meaning. */
  constructor(types: readonly InstanceType[], seen: SeenSlots) {
    this.#types = types;
    this.#seen = seen;
  }

  /** Replaces the numbers by what running nodes report now. */
  update(seen: SeenSlots): void {
    this.#seen = seen;
    this.#byDriver.clear();
  }

  /** The types that can attach all these volumes. Undefined: every type can. */
  holding(usage: VolumeUsage): Bits | undefined {
    let bits: Bits | undefined;
    for (const [driver, { size }] of usage) {
      const { slots, least } = this.#slots(driver);
      if (least >= size) continue;
      const enough = noBits(slots.length);
      slots.forEach((count, index) => {
        if (count >= size) setBit(enough, index);
      });
      bits = bits === undefined ? enough : intersectionOf(bits, enough);
    }
    return bits;
  }

  #slots(driver: string): Slots {
    return within(this.#byDriver, driver, () => {
      const slots = this.#types.map(
        ({ name, capacity, volumeAttachmentLimits }) =>
          capacity[`${PREFIX}${driver}`] ??
          this.#seen.get(name)?.get(driver) ??
          volumeAttachmentLimits?.[driver] ??
          Number.POSITIVE_INFINITY,
      );
      return { slots, least: Math.min(...slots) };
    });
  }
}

/** The volumes of `usage` and `more` together. A claim that is in both counts once. */
export function attachedTogether(usage: VolumeUsage, more: VolumeUsage): VolumeUsage {
  if (usage.size === 0) return more;
  const together = new Map(usage);
  for (const [driver, claims] of more) {
    together.set(driver, new Set([...(usage.get(driver) ?? []), ...claims]));
  }
  return together;
}
