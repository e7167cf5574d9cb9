/**
 * The template of a pool's new nodes: requirements, taints, instance types, daemons, and what limits leave.
 * upstream: pkg/controllers/provisioning/scheduling/nodeclaimtemplate.go
 */
import { LABEL_INSTANCE_PODS } from "../../../apis/aws/labels.ts";
import { hostPorts } from "../../../apis/core/host-ports.ts";
import type { Taint } from "../../../apis/core/node.ts";
import type { Pod } from "../../../apis/core/pod.ts";
import { podRequests } from "../../../apis/core/pod-resources.ts";
import type { Pool } from "../../../apis/hub/pool.ts";
import {
  NODE_INITIALIZED_LABEL_KEY,
  NODE_REGISTERED_LABEL_KEY,
  NODEPOOL_LABEL_KEY,
  PROVISIONER_NAME_LABEL_KEY,
} from "../../../apis/karpenter/labels.ts";
import { NO_RESOURCES, type Resources } from "../../../apis/resources.ts";
import type { InstanceType } from "../../cloudprovider/instance-type.ts";
import { remainingLimits } from "../../nodepool/limits.ts";
import {
  type Bits,
  bitIndices,
  clearBit,
  commonBits,
  intersectionOf,
  isEmptyBits,
  noBits,
  uniteBits,
} from "../../scheduling/bits.ts";
import { daemonTerms, isMeantByName } from "../../scheduling/pod-requirements.ts";
import type { RequirementSpace, SetId } from "../../scheduling/requirement-space.ts";
import { Requirements } from "../../scheduling/requirements.ts";
import { areTolerated } from "../../scheduling/taints.ts";
import { poolLabels } from "../manifest.ts";
import type { PoolInput } from "../scheduling-input.ts";
import type { PoolDaemon } from "./after-daemons.ts";
import { AttachSlots, type SeenSlots } from "./attach-slots.ts";
import { rowsByDaemons } from "./daemon-rows.ts";
import { TypeTable } from "./instance-types.ts";

/** Labels that claims lack but every node will have. Pods may select them; DaemonSets often do. */
const SIMULATED_LABELS: Readonly<Record<string, string>> = {
  [NODE_REGISTERED_LABEL_KEY]: "true",
  [NODE_INITIALIZED_LABEL_KEY]: "true",
};

/** The label keys that exist only in the planned form of a node. A claim must not contain them. */
export function simulatedKeys(pool: Pool): ReadonlySet<string> {
  return new Set([...Object.keys(SIMULATED_LABELS), ...foreignKeys(pool)]);
}

/**
 * Labels that only nodes of the other kind of pool have. Karpenter treats them as well known, but claims must not
 * contain them.
 */
function foreignKeys(pool: Pool): readonly string[] {
  return pool.generation === "alpha"
    ? [NODEPOOL_LABEL_KEY]
    : [PROVISIONER_NAME_LABEL_KEY, LABEL_INSTANCE_PODS];
}

export interface Template {
  /** Position of the pool in the order of pools. */
  readonly index: number;
  readonly pool: Pool;
  readonly taints: readonly Taint[];
  readonly set: SetId;
  readonly table: TypeTable;
  /** The types that satisfy the pool's requirements and have an available offering. */
  readonly usable: Bits;
  readonly daemons: readonly PoolDaemon[];
  readonly slots: AttachSlots;
  /** What is left of the pool's limits. A charge replaces the object, so an earlier value can be restored. */
  limitsLeft: LimitsLeft;
  /** Whether the limits have room for one node of the largest type for each pod. Then nodes are not charged. */
  isAmple?: boolean;
}

/** Whether the pool's own requirements exclude every type that can be launched. */
export function hasNoType({ table, usable }: Template): boolean {
  return table.size === 0 || isEmptyBits(usable);
}

/** The amounts that are left of the limits, and the types that fit into them. */
export interface LimitsLeft {
  readonly remaining: Resources;
  readonly within: Bits;
  readonly exhausted: boolean;
}

/** The template of the pool. Finds the types on which each daemon runs. */
export function createTemplate(
  input: PoolInput,
  index: number,
  space: RequirementSpace,
  daemonPods: readonly Pod[],
  seen: SeenSlots = new Map(),
): Template {
  const { pool } = input;
  const labels = Requirements.fromLabels({ ...poolLabels(pool), ...SIMULATED_LABELS });
  const withoutForeign = Requirements.fromSpecs(
    foreignKeys(pool).map((key) => ({ key, operator: "DoesNotExist" })),
  );
  const set = space.intern(
    Requirements.fromSpecs(pool.requirements).and(labels).and(withoutForeign),
  );
  const selections = daemonPods.map((pod) => selectionOf(pod, pool.taints, set, space));
  const rows = rowsByDaemons(input.instanceTypes, space.get(set), selections.flat());
  const table = new TypeTable(rows, space);
  const daemons: PoolDaemon[] = [];
  for (const [at, pod] of daemonPods.entries()) {
    const on = daemonRows(selections[at] ?? [], set, table, space);
    if (!isEmptyBits(on)) daemons.push({ requests: podRequests(pod), ports: hostPorts(pod), on });
  }
  table.reserve(daemons);
  const usable = table.compatible(set).slice();
  return {
    index,
    pool,
    taints: pool.taints,
    set,
    table,
    usable,
    daemons,
    slots: new AttachSlots(table.types, seen),
    limitsLeft: limitsLeftOf(table, remainingLimits(pool.limits, input.usage), usable),
  };
}

/**
 * Charges a planned node against the pool's limits, so that it can become any of the types in `candidates`. Returns the
 * total charge of the node, which is never less than `charged`. karpenter-ts also charges the limit `nodes`.
 */
export function chargeLimits(
  template: Template,
  candidates: Bits,
  charged: Resources = NO_RESOURCES,
): Resources {
  const { table, limitsLeft } = template;
  const remaining: Record<string, number> = {};
  const amounts: Record<string, number> = {};
  let isMore = false;
  for (const name in limitsLeft.remaining) {
    const before = charged[name] ?? 0;
    const amount = Math.max(before, chargeOf(table, candidates, name));
    amounts[name] = amount;
    remaining[name] = (limitsLeft.remaining[name] as number) - (amount - before);
    isMore ||= amount > before;
  }
  if (!isMore) return charged;
  template.limitsLeft = limitsLeftOf(table, remaining, limitsLeft.within);
  return amounts;
}

/** The types that the limits still allow for a node whose charge is `charged` now. Undefined: all types. */
export function affordable(
  { table, limitsLeft: { remaining } }: Template,
  charged: Resources,
): Bits | undefined {
  let types: Bits | undefined;
  for (const name in remaining) {
    const most = (remaining[name] as number) + (charged[name] ?? 0);
    const having = table.withCapacityUpTo(name, most);
    if (having !== undefined) types = types === undefined ? having : intersectionOf(types, having);
  }
  return types;
}

/**
 * The charge for one resource of a node that may become any of these types: their largest amount. `nodes`: at least 1.
 */
function chargeOf(table: TypeTable, candidates: Bits, name: string): number {
  const most = table.mostCapacity(candidates, name);
  return name === "nodes" ? Math.max(1, most) : most;
}

/** Whether the pool has limits. */
export function isLimited({ pool }: Template): boolean {
  for (const _ in pool.limits) return true;
  return false;
}

/** Whether this many of the pool's largest nodes could use up its limits. */
export function mayRunOut(
  { table, limitsLeft: { remaining, within } }: Template,
  nodes: number,
): boolean {
  for (const name in remaining) {
    // On the safe side by one node: after a wrong `false`, a plan could exceed the limits.
    if ((remaining[name] as number) < chargeOf(table, within, name) * (nodes + 1)) return true;
  }
  return false;
}

/** Adds the capacity of a removed node to what is left of the limits, for a what-if question. */
export function creditLimits(template: Template, capacity: Resources): void {
  const { table, limitsLeft, usable } = template;
  const remaining: Record<string, number> = {};
  for (const name in limitsLeft.remaining)
    remaining[name] = (limitsLeft.remaining[name] as number) + (capacity[name] ?? 0);
  template.limitsLeft = limitsLeftOf(table, remaining, usable);
}

/** A copy of the template without limits. */
export function unlimited(template: Template): Template {
  const { table, usable, pool } = template;
  const limitsLeft = limitsLeftOf(table, NO_RESOURCES, usable);
  return { ...template, pool: { ...pool, limits: {} }, limitsLeft };
}

/** Computes what is left of the limits if the pool's nodes use this much. */
export function resetLimits(template: Template, usage: Resources): void {
  const { table, pool, usable } = template;
  template.limitsLeft = limitsLeftOf(table, remainingLimits(pool.limits, usage), usable);
}

/** The smallest requests of daemons on any of these types. */
export function leastDaemonRequests(template: Template, candidates: Bits): Resources {
  if (template.daemons.length === 0) return NO_RESOURCES;
  let least: Record<string, number> | undefined;
  for (const index of bitIndices(candidates)) {
    const requests = template.table.daemonRequests(index);
    if (least === undefined) {
      least = { ...requests };
      continue;
    }
    for (const name in least) {
      least[name] = Math.min(least[name] as number, requests[name] ?? 0);
    }
  }
  return least ?? NO_RESOURCES;
}

/** The required terms of a daemon that the pool's nodes can satisfy. Empty: it does not run on them. */
function selectionOf(
  pod: Pod,
  taints: readonly Taint[],
  set: SetId,
  space: RequirementSpace,
): readonly Requirements[] {
  if (!areTolerated(pod.spec.tolerations, taints)) return [];
  return daemonTerms(pod.spec)
    .filter((term) => isMeantByName(term, undefined))
    .map(({ wanted }) => wanted)
    .filter((one) => space.join(set, space.intern(one)) !== undefined);
}

/** The rows of types on which a daemon with these terms runs. */
function daemonRows(
  selection: readonly Requirements[],
  set: SetId,
  table: TypeTable,
  space: RequirementSpace,
): Bits {
  const rows = noBits(table.size);
  const others = noBits(table.size);
  for (const selected of selection) {
    const wanted = space.intern(selected);
    const joined = space.join(set, wanted);
    if (joined === undefined) continue;
    // Rows are split so that the daemon runs on all offerings of a row or on none.
    const runs = (one: SetId) =>
      table.isAboutOfferings(wanted)
        ? commonBits(table.satisfying(one), table.offered(one))
        : table.satisfying(one);
    uniteBits(rows, runs(joined));
    // The daemon also counts on types that the pool excludes, because a suggested fix may let the pool use these types.
    uniteBits(others, runs(wanted));
  }
  if (isEmptyBits(others)) return rows;
  for (const index of bitIndices(table.satisfying(set))) clearBit(others, index);
  uniteBits(rows, others);
  return rows;
}

/** Whether one more node of this type fits into what is left of the pool's limits. */
export function withinLimits({ limitsLeft }: Template, { capacity }: InstanceType): boolean {
  if (limitsLeft.exhausted) return false;
  for (const name in limitsLeft.remaining) {
    if ((capacity[name] ?? 0) > (limitsLeft.remaining[name] as number)) return false;
  }
  return true;
}

/** The amounts that are left of limits, and the types that fit. `among`: the types that other limits allow. */
function limitsLeftOf(table: TypeTable, remaining: Resources, among: Bits): LimitsLeft {
  const exhausted = (remaining["nodes"] ?? Number.POSITIVE_INFINITY) < 1;
  let within = exhausted ? noBits(table.size) : among;
  for (const name in remaining) {
    const having = table.withCapacityUpTo(name, remaining[name] as number);
    if (having !== undefined) within = intersectionOf(within, having);
  }
  return { remaining, within, exhausted };
}
