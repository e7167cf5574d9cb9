/**
 * Splits instance types into rows by the daemons that run there. A DaemonSet may select a zone or another label for
 * which the NodePool allows several values. Then nodes of one type differ in daemon overhead and host ports. The same
 * daemons run on all nodes of a row, so every result for a row is exact.
 */
import { HOSTNAME_LABEL_KEY } from "../../../apis/karpenter/labels.ts";
import { BoundedMap, within } from "../../../base/within.ts";
import type { InstanceType, Offering } from "../../cloudprovider/instance-type.ts";
import { isCompatible, isUsable } from "../../cloudprovider/offerings.ts";
import {
  allows,
  allowsAbsence,
  exists,
  intersect,
  oneOf,
  type Requirement,
} from "../../scheduling/requirement.ts";
import type { Requirements } from "../../scheduling/requirements.ts";
import type { TypeRow } from "./type-rows.ts";
import { sheetOf } from "./type-sheet.ts";

/** The facts that decide on which nodes of an instance type a daemon runs. */
interface Deciding {
  readonly pool: Requirements;
  /** The requirements of daemons, each alternative once. */
  readonly wanted: readonly Requirements[];
  /** Labels of offerings: zone, capacity type and others. */
  readonly offeringKeys: ReadonlySet<string>;
  /** Labels for which the pool allows several values, and that instance types do not set. */
  readonly poolKeys: readonly string[];
}

/** Cached results, by list of types and by requirements of daemons. Passes share lists, which never change. */
const known = new WeakMap<readonly InstanceType[], Map<string, readonly InstanceType[]>>();
/**
 * The most cached results for one list of types: one for each NodePool, and one for each edit of it or of a DaemonSet.
 */
const MOST_KEPT = 64;

/**
 * The instance types, split if a daemon runs on some nodes of a type only. `wanted`: the requirements of daemons that
 * tolerate the pool's taints. Returns the same list if nothing is split.
 */
export function rowsByDaemons(
  types: readonly InstanceType[],
  pool: Requirements,
  wanted: readonly Requirements[],
): readonly InstanceType[] {
  const deciding = decidingOf(types, pool, wanted);
  if (deciding === undefined) return types;
  const lists = within(
    known,
    types,
    () => new BoundedMap<string, readonly InstanceType[]>(MOST_KEPT),
  );
  const text = [pool, ...deciding.wanted].map(({ id }) => id).join();
  return within(lists, text, () => {
    const rows = types.flatMap((type) => rowsOf(type, deciding));
    return rows.length === types.length ? types : rows;
  });
}

/** The facts that decide which daemons run on a node of a type. Undefined: the same ones on all nodes of each type. */
function decidingOf(
  types: readonly InstanceType[],
  pool: Requirements,
  all: readonly Requirements[],
): Deciding | undefined {
  const { offeringKeys } = sheetOf(types);
  const poolKeys = new Set<string>();
  const wanted = new Map<string, Requirements>();
  for (const one of all) {
    for (const key of one.keys()) {
      if (key === HOSTNAME_LABEL_KEY || isSettled(pool.get(key))) continue;
      if (!offeringKeys.has(key)) {
        if (!pool.has(key) || types.every(({ labels }) => isOne(labels[key]))) continue;
        poolKeys.add(key);
      }
      wanted.set(one.id, one);
    }
  }
  if (wanted.size === 0) return undefined;
  return { pool, wanted: [...wanted.values()], offeringKeys, poolKeys: [...poolKeys].sort() };
}

function isSettled({ complement, values }: Requirement): boolean {
  return !complement && values.length < 2;
}

function isOne(values: readonly string[] | undefined): boolean {
  return values !== undefined && values.length < 2;
}

function rowsOf(type: InstanceType, deciding: Deciding): readonly TypeRow[] {
  const { pool, offeringKeys, poolKeys } = deciding;
  const wanted = deciding.wanted.filter((one) => mayRunOn(type, one, deciding));
  if (wanted.length === 0) return [type];
  let choices: (readonly Requirement[])[] = [[]];
  for (const key of poolKeys) {
    const parts = partsOf(key, pool.get(key), type.labels[key], wanted);
    if (parts.length > 1) choices = choices.flatMap((some) => parts.map((one) => [...some, one]));
  }
  return choices.flatMap((given) => {
    const there = wanted.filter((one) => given.every((part) => overlaps(part, one.get(part.key))));
    const limited = there.filter((one) => [...one.keys()].some((key) => offeringKeys.has(key)));
    const groups = groupsOf(type, pool, limited);
    return groups.map((offerings): TypeRow => {
      const row = groups.length === 1 ? type : { ...type, offerings };
      return given.length === 0 ? row : { ...row, given };
    });
  });
}

/** Whether the type's own labels satisfy the daemon's requirements, apart from labels of offerings and of the pool. */
function mayRunOn(
  { labels }: InstanceType,
  wanted: Requirements,
  { offeringKeys, poolKeys }: Deciding,
): boolean {
  for (const one of wanted.all()) {
    const values = labels[one.key];
    if (values === undefined || offeringKeys.has(one.key) || poolKeys.includes(one.key)) continue;
    if (values.length === 0 ? !allowsAbsence(one) : !values.some((value) => allows(one, value)))
      return false;
  }
  return true;
}

/**
 * The values that nodes of the pool may have for this label, in groups with the same daemons. A daemon that compares
 * the label with a number (Gt, Lt) counts for all values.
 */
function partsOf(
  key: string,
  pool: Requirement,
  ofType: readonly string[] | undefined,
  wanted: readonly Requirements[],
): readonly Requirement[] {
  const asked = wanted
    .map((one) => one.get(key))
    .filter(({ gte, lte }) => gte === undefined && lte === undefined);
  const isKnown = ofType !== undefined && ofType.length > 0;
  const own = isKnown ? intersect(pool, oneOf(key, ofType)) : pool;
  const named = [...new Set(asked.flatMap(({ values }) => values))].sort();
  const values = own.complement ? named.filter((value) => allows(own, value)) : own.values;
  const parts = new Map<string, string[]>();
  for (const value of values) {
    const daemons = asked.map((one) => (allows(one, value) ? "1" : "0")).join("");
    within(parts, daemons, () => []).push(value);
  }
  const listed = [...parts.values()].map((some) => oneOf(key, some));
  const rest = { ...exists(key), values };
  return own.complement ? [...listed, rest] : listed;
}

/** Whether a node with one of the given values satisfies `wanted`, or may lack the label if `wanted` allows that. */
export function overlaps(given: Requirement, wanted: Requirement): boolean {
  const common = intersect(given, wanted);
  if (common.complement || common.values.length > 0) return true;
  return given.complement && allowsAbsence(wanted);
}

/** The type's offerings in groups with the same daemons. The first group also has those that the pool cannot use. */
function groupsOf(
  { offerings }: InstanceType,
  pool: Requirements,
  wanted: readonly Requirements[],
): readonly (readonly Offering[])[] {
  if (wanted.length === 0) return [offerings];
  const groups = new Map<string, Offering[]>();
  const others: Offering[] = [];
  for (const offering of offerings) {
    if (!isUsable(offering) || !isCompatible(offering, pool)) {
      others.push(offering);
      continue;
    }
    const daemons = wanted.map((one) => (isCompatible(offering, one) ? "1" : "0")).join("");
    within(groups, daemons, () => []).push(offering);
  }
  if (groups.size < 2) return [offerings];
  const [first, ...rest] = [...groups.values()] as [Offering[], ...Offering[][]];
  return [[...first, ...others], ...rest];
}
