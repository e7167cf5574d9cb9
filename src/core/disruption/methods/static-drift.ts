/**
 * Drifted nodes of static pools: each is replaced by a fresh node, wherever its pods fit. Where the pool's
 * `limits.nodes` never leave room for one more, the old node goes first and its place is filled afterwards,
 * one at a time; upstream then never replaces it. Not where that drain would never end. Room that a node on its way out
 * still takes is waited for.
 * upstream: pkg/controllers/disruption/staticdrift.go
 */
import type { Pod } from "../../../apis/core/pod.ts";
import type { Pool } from "../../../apis/hub/pool.ts";
import { isTrue } from "../../../apis/karpenter/conditions.ts";
import { keyOf } from "../../../apis/meta.ts";
import { filterInSteps, type Steps } from "../../../base/steps.ts";
import type { NodeView } from "../../state/node-view.ts";
import type { Candidate } from "../candidates.ts";
import type { Command } from "../command.ts";
import { lastFailed, type Staying } from "../consolidation.ts";
import type { Round } from "../round.ts";
import { countStatic, roomFor } from "../static-pools.ts";
import {
  budgetCounter,
  LOOKED_AT_PER_STEP,
  type Method,
  type Proposal,
  type Remark,
} from "./method.ts";

const isEligible = ({ claim, pool }: Candidate) =>
  pool.replicas !== undefined && isTrue(claim, "Drifted");

export const staticDrift: Method = {
  name: "static drift",
  reason: "Drifted",
  consolidationType: "",
  disruptionClass: "eventual",
  costly: false,
  waits: false,
  isEligible,
  propose,
  validate: (command) => command,
};

function* propose(round: Round): Steps<Proposal> {
  const drifted = yield* filterInSteps(round.candidates, LOOKED_AT_PER_STEP, isEligible);
  const pools = new Map(drifted.map(({ pool }) => [pool.id, pool]));
  const budgets = budgetCounter(round.allowances);
  const commands: Command[] = [];
  const remarks: Remark[] = [];
  let hasSimulated = false;
  // Whether room or a type was missing, which may be back without a sign.
  let lacks = false;
  for (const id of replacedFirst(pools)) {
    const pool = pools.get(id) as Pool;
    if (keptStatic(pool, round) !== undefined) continue;
    const most = mostAtOnce(pool, round.nodes);
    const own = drifted.filter((one) => one.pool.id === id);
    const chosen: Candidate[] = [];
    // They drain together, and what they leave comes back only once they are gone: of one place, or of what a
    // PodDisruptionBudget allows, not each has all.
    const unreplaced = commands.flatMap(({ candidates, replacements }) =>
      replacements.length === 0 ? candidates : [],
    );
    const closed = new Set(
      commands.flatMap(({ candidates, replacements }) =>
        replacements.length === 0 ? [] : candidates.map(({ node }) => node.name),
      ),
    );
    for (const one of own) {
      if (chosen.length >= most.nodes || budgets.left(one) <= 0) continue;
      if (mustMoveFirst(one, unreplaced, round) !== undefined) {
        if (hasSimulated) yield;
        else yield* round.simulator.ready();
        hasSimulated = true;
      }
      // Those of one round count together.
      const others = commands.flatMap(({ candidates }) => candidates);
      const objection =
        round.objection(drifting([...others, ...chosen, one])) ??
        keptByLimit(one, { unreplaced, closed }, round);
      if (objection !== undefined)
        remarks.push({ candidate: one, about: "blocked", message: objection.message });
      else if (budgets.take(one)) chosen.push(one);
    }
    if (chosen.length === 0) continue;
    const replacements = round.planStatic(
      id,
      most.replaced ? chosen.length : 0,
      chosen.map(({ node }) => node.name),
    );
    lacks ||= replacements === undefined || (most.replaced && replacements.length === 0);
    if (replacements === undefined) continue;
    // Limits of cpu, say, may leave room for fewer new nodes than that of nodes does.
    const going = most.replaced ? chosen.slice(0, replacements.length) : chosen;
    for (const [index, candidate] of going.entries()) {
      const replacement = replacements[index];
      const command = drifting([candidate]);
      commands.push(
        replacement === undefined ? command : { ...command, replacements: [replacement] },
      );
    }
  }
  return { commands, remarks, ...(hasSimulated && !lacks ? { costly: true } : {}) };
}

/** Ids: where others come first, the old nodes are closed at once, which those that go before others come must know. */
function replacedFirst(pools: ReadonlyMap<string, Pool>): readonly string[] {
  const hasRoom = (id: string) => {
    const pool = pools.get(id) as Pool;
    return roomFor(pool, pool.replicas ?? 0) > 0;
  };
  const ids = [...pools.keys()].sort();
  return [...ids.filter(hasRoom), ...ids.filter((id) => !hasRoom(id))];
}

/** Why no node of a static pool goes for drift now, whatever budgets say; undefined: nothing keeps all of them. */
export function keptStatic(
  { id, name }: Pool,
  { backingOff }: Pick<Round, "backingOff">,
): Staying | undefined {
  const untilMs = backingOff.get(id);
  return untilMs === undefined
    ? undefined
    : { kind: "backingOff", message: lastFailed(name), untilMs };
}

/** Others that go at the same time. */
interface Beside {
  /** Before what is to take their place: their pods need room, too. */
  readonly unreplaced: readonly Candidate[];
  /** Names of those behind what takes their place, and their pods: they take no others from now on. */
  readonly closed?: ReadonlySet<string>;
}

/**
 * Why a node does not go before another takes its place: a pod of its must run elsewhere before it may go, and not all
 * have a place there. The node would drain for ever: what is to come has room in the limits only once it is gone.
 */
export function keptByLimit(
  one: Candidate,
  { unreplaced, closed }: Beside,
  round: Pick<Round, "keptPods" | "simulator">,
): Staying | undefined {
  const pod = mustMoveFirst(one, unreplaced, round);
  if (pod === undefined) return undefined;
  const { homeless } = round.simulator.without([...unreplaced, one], { closed });
  if (homeless.length === 0) return undefined;
  const others = unreplaced.map(({ node }) => node.name);
  const beside = others.length === 0 ? "" : `, while ${others.join(", ")} goes`;
  const full = `limits.nodes leaves no room for another node before this one is gone${beside}`;
  const why = `pod "${keyOf(pod)}" may go only once another of its workload runs`;
  return { kind: "noPlace", message: `${full}, and ${why}: ${homeless.join("; ")}` };
}

/** The first such pod of nodes that go before others come; undefined: none is, or this node goes afterwards. */
function mustMoveFirst(
  one: Candidate,
  unreplaced: readonly Candidate[],
  { keptPods }: Pick<Round, "keptPods">,
): Pod | undefined {
  if (roomFor(one.pool, one.pool.replicas ?? 0) > 0) return undefined;
  // Its own are named before theirs.
  const [first] = keptPods([one, ...unreplaced]);
  return first;
}

/** How many nodes may go together, and whether others come first. */
export function mostAtOnce(pool: Pool, nodes: readonly NodeView[]) {
  const { active, leavingByCommand, deleting } = countStatic(pool, nodes);
  const replicas = pool.replicas ?? 0;
  const replaced = roomFor(pool, replicas) > 0;
  // A pool on its way to another size comes first.
  if (active.length + leavingByCommand !== replicas) return { nodes: 0, replaced };
  if (replaced) return { nodes: roomFor(pool, replicas + deleting), replaced };
  const whole = leavingByCommand + deleting === 0 && active.every(({ initialized }) => initialized);
  return { nodes: whole ? 1 : 0, replaced };
}

/** At least one. */
function drifting(candidates: readonly Candidate[]): Command {
  return {
    reason: "Drifted",
    consolidationType: "",
    via: "drift",
    generation: (candidates[0] as Candidate).generation,
    candidates,
    replacements: [],
    targets: [],
    validateAfterMs: 0,
  };
}
