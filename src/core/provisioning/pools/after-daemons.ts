/** The room that the daemons of a NodePool leave on each instance type, cached with the list of types. */
import type { HostPort } from "../../../apis/core/host-ports.ts";
import {
  addResources,
  NO_RESOURCES,
  type Resources,
  subtractResources,
} from "../../../apis/resources.ts";
import { BoundedMap, within } from "../../../base/within.ts";
import { type Bits, hasBit, noBits, setBit } from "../../scheduling/bits.ts";
import type { ResourceColumn, TypeSheet } from "./type-sheet.ts";

/** A daemon, and the rows of instance types on which it would run. */
export interface PoolDaemon {
  readonly requests: Resources;
  readonly ports: readonly HostPort[];
  readonly on: Bits;
}

/** The room on each instance type after its daemons. Lists are indexed by position of the type. */
export interface AfterDaemons {
  /** The requests of all daemons on a node of the type. */
  readonly requests: readonly Resources[];
  /** The amounts that pods can request on a node of the type, after its daemons. */
  readonly allocatable: readonly Resources[];
  /** The types that have enough room for their daemons. */
  readonly fitting: Bits;
  /** For each resource: the types by the amount that pods can request. Filled on demand. */
  readonly columns: Map<string, ResourceColumn>;
}

const known = new WeakMap<TypeSheet, Map<string, AfterDaemons>>();
/** The most results that are cached for one list of types. NodePools with different daemons need one each. */
const MOST_KEPT = 64;

/** The room that these daemons leave on the types of the sheet. */
export function afterDaemons(sheet: TypeSheet, daemons: readonly PoolDaemon[]): AfterDaemons {
  const answers = within(known, sheet, () => new BoundedMap<string, AfterDaemons>(MOST_KEPT));
  const key = daemons.map(({ requests, on }) => `${JSON.stringify(requests)} ${on}`).join(";");
  return within(answers, key, () => leftOf(sheet, daemons));
}

function leftOf(sheet: TypeSheet, daemons: readonly PoolDaemon[]): AfterDaemons {
  const requests = requestsByType(daemons, sheet.types.length);
  const hasNone = daemons.length === 0;
  const allocatable = hasNone
    ? sheet.allocatable
    : sheet.allocatable.map((amounts, type) =>
        subtractResources(amounts, requests[type] ?? NO_RESOURCES),
      );
  const columns = hasNone ? sheet.resources : new Map<string, ResourceColumn>();
  return { requests, allocatable, fitting: typesWithRoom(allocatable), columns };
}

/**
 * The requests of all daemons on each type. Most types run the same daemons, so each combination is summed only once.
 */
function requestsByType(daemons: readonly PoolDaemon[], types: number): readonly Resources[] {
  const sums = new Map<string, Resources>();
  return Array.from({ length: types }, (_, type) => {
    let key = "";
    for (let at = 0; at < daemons.length; at++)
      if (hasBit((daemons[at] as PoolDaemon).on, type)) key += `${at} `;
    return within(sums, key, () =>
      daemons
        .filter(({ on }) => hasBit(on, type))
        .reduce((all, { requests }) => addResources(all, requests), NO_RESOURCES),
    );
  });
}

function typesWithRoom(allocatable: readonly Resources[]): Bits {
  const bits = noBits(allocatable.length);
  allocatable.forEach((amounts, index) => {
    for (const name in amounts) if ((amounts[name] as number) < 0) return;
    setBit(bits, index);
  });
  return bits;
}
