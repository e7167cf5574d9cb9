/**
 * Replaces drifted nodes of static pools, each by one new node, even if its pods fit elsewhere. If `limits.nodes` has
 * no room for one more node, the old node is kept. With the feature gate TerminateFirstDrift, it is then removed first,
 * unless its drain would never end. Nodes that are being deleted still count against the limit.
 * upstream: pkg/controllers/disruption/staticdrift.go
 */
import type { Pod } from "../../../apis/core/pod.ts";
import type { Pool } from "../../../apis/hub/pool.ts";
import { isTrue } from "../../../apis/karpenter/conditions.ts";
import { keyOf } from "../../../apis/meta.ts";
import { filterInSteps, type Steps } from "../../../base/steps.ts";
import type { PlannedClaim } from "../../provisioning/result.ts";
import type { NodeView } from "../../state/node-view.ts";
import type { Candidate } from "../candidates.ts";
import { type Command, removal } from "../command.ts";
import type { NoCommand } from "../consolidation.ts";
import { budgetCounter } from "../counters.ts";
import type { Round, RoundFacts } from "../round.ts";
import { countStatic, roomFor } from "../static-pools.ts";
import {
  AT_LIMIT,
  RESERVATIONS_FULL,
  type ReservedOnly,
  reservedOnly,
  type TerminateFirstReason,
  usesUnit,
} from "../terminate-first.ts";
import { type Method, type Proposal, type Remark, unchanged } from "./method.ts";

const DRIFTED = { reason: "Drifted", via: "drift" } as const;

const isEligible = ({ claim, pool }: Candidate) =>
  pool.replicas !== undefined && isTrue(claim, "Drifted");

export const staticDrift: Method = {
  name: "static drift",
  reason: "Drifted",
  consolidationType: "",
  disruptionClass: "eventual",
  simulates: false,
  needsValidation: false,
  isEligible,
  propose,
  validate: unchanged,
};

function* propose(round: Round): Steps<Proposal> {
  const { facts, holdOffs, settings } = round;
  const drifted = yield* filterInSteps(facts.candidates, isEligible);
  const pools = new Map(drifted.map(({ pool }) => [pool.id, pool]));
  const budgets = budgetCounter(round.budgets.allowances);
  const commands: Command[] = [];
  const remarks: Remark[] = [];
  let hasSimulated = false;
  // Whether limits or instance types allow no new node. That may change without the facts that the arbiter compares, so
  // the method must run again.
  let lacksRoom = false;
  for (const id of replacedFirst(pools)) {
    const pool = pools.get(id) as Pool;
    if (holdOffs.backingOff.has(id)) continue;
    const most = mostAtOnce(pool, facts.nodes);
    const own = drifted.filter((other) => other.pool.id === id);
    if (!most.replacedFirst && !settings.terminateFirst.drift) {
      remarks.push(...own.map((candidate) => stays(candidate, AT_LIMIT)));
      continue;
    }
    const chosen: Candidate[] = [];
    // Nodes that are removed first drain at the same time: they share room on other nodes and allowed evictions.
    const removedFirst = commands.filter(({ replacements }) => replacements.length === 0);
    const replaced = commands.filter(({ replacements }) => replacements.length > 0);
    const beside: RemovedTogether = {
      unreplaced: removedFirst.flatMap(({ candidates }) => candidates),
      closed: new Set(
        replaced.flatMap(({ candidates }) => candidates.map(({ node }) => node.name)),
      ),
    };
    for (const one of own) {
      if (chosen.length >= most.nodes || budgets.left(one) <= 0) continue;
      if (protectedPodAmong(one, beside, facts) !== undefined) {
        if (hasSimulated) yield;
        else yield* facts.simulator.ready();
        hasSimulated = true;
      }
      const others = commands.flatMap(({ candidates }) => candidates);
      const objection =
        holdOffs.of(removal([...others, ...chosen, one], DRIFTED)) ??
        endlessDrain(one, beside, facts);
      if (objection !== undefined) remarks.push(stays(one, objection.message));
      else if (budgets.take(one)) chosen.push(one);
    }
    if (chosen.length === 0) continue;
    const planned = facts.planStatic({
      poolId: id,
      count: most.replacedFirst ? chosen.length : 0,
      instead: chosen.map(({ node }) => node.name),
    });
    lacksRoom ||= planned === undefined || (most.replacedFirst && planned.newClaims.length === 0);
    if (planned === undefined) continue;
    const { newClaims: replacements, lacks } = planned;
    const isStuck = most.replacedFirst && replacements.length === 0;
    const reserved = isStuck ? reservedOnly(pool, facts.typesOf(id)) : undefined;
    if (reserved?.isFull === true && settings.terminateFirst.drift) {
      const [going, staying] = byReservedUnit(chosen, reserved);
      commands.push(...going);
      remarks.push(...staying);
      continue;
    }
    // A limit on another resource, such as cpu, may leave room for fewer nodes than `limits.nodes`.
    const removed = most.replacedFirst ? chosen.slice(0, replacements.length) : chosen;
    for (const [index, candidate] of removed.entries())
      commands.push(commandOf(candidate, replacements[index]));
    if (lacks !== undefined)
      remarks.push(...chosen.slice(removed.length).map((one) => stays(one, lacks)));
  }
  return { commands, remarks, ...(hasSimulated && !lacksRoom ? { hasSimulated: true } : {}) };
}

/**
 * For a pool whose reservations are all full. A node that uses a unit of them is removed first, and its replacement
 * uses the same unit. The other nodes are kept.
 */
function byReservedUnit(
  chosen: readonly Candidate[],
  reserved: ReservedOnly,
): readonly [readonly Command[], readonly Remark[]] {
  const going = chosen.filter((one) => usesUnit(one, reserved));
  const staying = chosen.filter((one) => !going.includes(one));
  return [
    going.map((one) => goingFirst(one, "no-reserved-capacity")),
    staying.map((one) => stays(one, RESERVATIONS_FULL)),
  ];
}

function stays(candidate: Candidate, message: string): Remark {
  return { candidate, about: "blocked", message };
}

function commandOf(candidate: Candidate, replacement: PlannedClaim | undefined): Command {
  return replacement === undefined
    ? goingFirst(candidate, "static-at-limit")
    : { ...removal([candidate], DRIFTED), replacements: [replacement] };
}

function goingFirst(candidate: Candidate, terminateFirst: TerminateFirstReason): Command {
  return { ...removal([candidate], DRIFTED), terminateFirst };
}

/**
 * The ids of the pools, those with room for replacements first. Their nodes are tainted at once, so pods of nodes that
 * are removed before their replacement do not move there.
 */
function replacedFirst(pools: ReadonlyMap<string, Pool>): readonly string[] {
  const hasRoom = (id: string) => {
    const pool = pools.get(id) as Pool;
    return roomFor(pool, pool.replicas ?? 0) > 0;
  };
  const ids = [...pools.keys()].sort();
  return [...ids.filter(hasRoom), ...ids.filter((id) => !hasRoom(id))];
}

/** Other nodes that are removed at the same time. */
interface RemovedTogether {
  /** Nodes that are removed before they are replaced. Their pods need room elsewhere, too. */
  readonly unreplaced: readonly Candidate[];
  /** Names of nodes that are replaced before they are removed. They are tainted immediately and take no more pods. */
  readonly closed?: ReadonlySet<string>;
}

/**
 * Why the node must not be removed before it is replaced: its drain would never end. One of its pods may be evicted
 * only after a new pod of its workload runs, and the pods have no place on other nodes. `limits.nodes` allows no new
 * node before the removal.
 */
export function endlessDrain(
  one: Candidate,
  beside: RemovedTogether,
  facts: Pick<RoundFacts, "protectedPods" | "simulator">,
): NoCommand | undefined {
  const { unreplaced, closed } = beside;
  const pod = protectedPodAmong(one, beside, facts);
  if (pod === undefined) return undefined;
  const { unplaced } = facts.simulator.without([...unreplaced, one], { closed });
  if (unplaced.length === 0) return undefined;
  const others = unreplaced.map(({ node }) => node.name);
  const whileOthers = others.length === 0 ? "" : `, while ${others.join(", ")} goes`;
  const full = `limits.nodes leaves no room for another node before this one is gone${whileOthers}`;
  const why = `pod "${keyOf(pod)}" may go only once another of its workload runs`;
  return { kind: "noPlace", message: `${full}, and ${why}: ${unplaced.join("; ")}` };
}

/**
 * The first pod of these nodes that may be evicted only after a new pod of its workload runs. Undefined: there is none,
 * or the node is replaced first.
 */
function protectedPodAmong(
  one: Candidate,
  { unreplaced }: RemovedTogether,
  { protectedPods }: Pick<RoundFacts, "protectedPods">,
): Pod | undefined {
  if (roomFor(one.pool, one.pool.replicas ?? 0) > 0) return undefined;
  const [first] = protectedPods([one, ...unreplaced]);
  return first;
}

/** How many nodes of the pool may be disrupted at the same time, and whether they are replaced first. */
export function mostAtOnce(
  pool: Pool,
  nodes: readonly NodeView[],
): { readonly nodes: number; readonly replacedFirst: boolean } {
  const { active, leavingByCommand, deleting } = countStatic(pool, nodes);
  const replicas = pool.replicas ?? 0;
  const replacedFirst = roomFor(pool, replicas) > 0;
  // A pool that has too many or too few nodes is scaled first. Its drifted nodes are replaced after that.
  if (active.length + leavingByCommand !== replicas) return { nodes: 0, replacedFirst };
  if (replacedFirst) return { nodes: roomFor(pool, replicas + deleting), replacedFirst };
  const isWhole =
    leavingByCommand + deleting === 0 && active.every(({ initialized }) => initialized);
  return { nodes: isWhole ? 1 : 0, replacedFirst };
}
