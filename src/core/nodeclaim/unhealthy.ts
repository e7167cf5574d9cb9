/**
 * When a node that reports itself broken is given up, and when repair must hold back because too many
 * are broken at once: then it is rather the network, or the control plane, than the nodes.
 * upstream: pkg/controllers/node/health/controller.go
 */
import type { Node } from "../../apis/core/node.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import type { RepairPolicy } from "../cloudprovider/cloud-provider.ts";

/** Share of a pool (or, for claims without one, of the cluster) that may be broken; rounded up. */
const MOST_BROKEN_PERCENT = 20;

export interface Ailment {
  readonly conditionType: string;
  readonly conditionStatus: string;
  readonly sinceMs: number;
  /** From here on the node may be repaired. */
  readonly dueMs: number;
}

/** The condition by which the node is given up first; undefined: nothing ails it. */
export function ailment(node: Node, policies: readonly RepairPolicy[]): Ailment | undefined {
  let first: Ailment | undefined;
  for (const { conditionType, conditionStatus, tolerationMs } of policies) {
    const found = node.status?.conditions?.find(({ type }) => type === conditionType);
    if (found === undefined || found.status !== conditionStatus) continue;
    const sinceMs = fromRfc3339(found.lastTransitionTime);
    if (sinceMs === undefined) continue;
    const dueMs = sinceMs + tolerationMs;
    if (first === undefined || dueMs < first.dueMs)
      first = { conditionType, conditionStatus, sinceMs, dueMs };
  }
  return first;
}

/** Whether more of these nodes are broken, for however short a time, than repair may trust. */
export function tooManyBroken(nodes: readonly Node[], policies: readonly RepairPolicy[]): boolean {
  const broken = nodes.filter((node) => ailment(node, policies) !== undefined).length;
  return isTooMany(broken, nodes.length);
}

function isTooMany(broken: number, nodes: number): boolean {
  return broken > Math.ceil((nodes * MOST_BROKEN_PERCENT) / 100);
}

/** One node, as far as it tells of its neighbours. */
interface Ward {
  /** Absent: of no pool. */
  readonly poolId: string | undefined;
  readonly isBroken: boolean;
}

interface Tally {
  nodes: number;
  broken: number;
}

/** The same, kept for each pool instead of counted each time: a broken network makes ten thousand ask at once. */
export class BrokenCount {
  readonly #wards = new Map<string, Ward>();
  /** By pool id; of all under undefined. */
  readonly #tallies = new Map<string | undefined, Tally>();

  put(name: string, ward: Ward): void {
    const before = this.#wards.get(name);
    if (before?.poolId === ward.poolId && before?.isBroken === ward.isBroken) return;
    this.remove(name);
    this.#wards.set(name, ward);
    this.#count(ward, 1);
  }

  remove(name: string): void {
    const before = this.#wards.get(name);
    if (before === undefined) return;
    this.#wards.delete(name);
    this.#count(before, -1);
  }

  /** Of the nodes of this pool (by id), or of all there are. */
  tooMany(poolId: string | undefined): boolean {
    const { nodes, broken } = this.#tallies.get(poolId) ?? { nodes: 0, broken: 0 };
    return isTooMany(broken, nodes);
  }

  #count({ poolId, isBroken }: Ward, by: 1 | -1): void {
    for (const id of poolId === undefined ? [undefined] : [poolId, undefined]) {
      const tally = this.#tallies.get(id) ?? { nodes: 0, broken: 0 };
      tally.nodes += by;
      if (isBroken) tally.broken += by;
      if (tally.nodes === 0) this.#tallies.delete(id);
      else this.#tallies.set(id, tally);
    }
  }
}
