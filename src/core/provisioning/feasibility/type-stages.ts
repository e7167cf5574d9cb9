/**
 * The stages of the check for a new node that exclude instance types by host ports, volume attachments and minValues.
 * Requirements, resources and offerings are checked in pools/instance-types.ts.
 */
import { type HostPort, hostPortsConflict } from "../../../apis/core/host-ports.ts";
import { type Bits, bitIndices, clearBit, commonBits } from "../../scheduling/bits.ts";
import type { Requirement } from "../../scheduling/requirement.ts";
import type { RequirementSpace, SetId } from "../../scheduling/requirement-space.ts";
import type { VolumeUsage } from "../../scheduling/volumes.ts";
import type { Template } from "../pools/pool-template.ts";
import { withWholeTypes } from "../pools/whole-types.ts";

/** Those of `types` on which no DaemonSet pod uses one of these host ports. Returns `types` itself if all are left. */
export function withFreePorts(
  { daemons }: Template,
  ports: readonly HostPort[],
  types: Bits,
): Bits {
  if (ports.length === 0) return types;
  let left: Bits | undefined;
  for (const daemon of daemons) {
    const clash = daemon.ports.some((own) => ports.some((port) => hostPortsConflict(own, port)));
    if (!clash) continue;
    left ??= types.slice();
    for (const index of bitIndices(daemon.on)) clearBit(left, index);
  }
  return left ?? types;
}

/** Those of `types` that can attach all these volumes. Returns `types` itself if all are left. */
export function withSlots({ slots }: Template, volumes: VolumeUsage, types: Bits): Bits {
  const holding = slots.holding(volumes);
  return holding === undefined ? types : commonBits(types, holding);
}

interface Launched {
  readonly set: SetId;
  readonly types: Bits;
  readonly isReserved: boolean;
}

/** The requirements whose minValues is not reached, each with the number of values that the types have. */
export function tooFewValues(
  { table }: Template,
  space: RequirementSpace,
  { set, types, isReserved }: Launched,
): readonly (readonly [requirement: Requirement, values: number])[] {
  const requirements = space.get(set);
  const wanted = requirements.withMinValues();
  if (wanted.length === 0) return NONE;
  const { rows } = withWholeTypes(table, requirements, types);
  return wanted
    .map((one) => [one, table.launchedValues(rows, one, isReserved)] as const)
    .filter(([{ minValues = 0 }, values]) => values < minValues);
}

const NONE: readonly never[] = [];
