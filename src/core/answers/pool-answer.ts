/** The answer about one NodePool: its nodes and limits, what its budgets allow and when, and its next command. */

import type { Pool } from "../../apis/hub/pool.ts";
import { formatResource, formatResources } from "../../apis/resources.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { counted } from "../../base/counted.ts";
import { formatDuration } from "../../base/duration.ts";
import { eachInSteps, filterInSteps, type Steps } from "../../base/steps.ts";
import { within } from "../../base/within.ts";
import { type CommandReason, savingsMicroUsd } from "../disruption/command.ts";
import type { Picture } from "../disruption/make-round.ts";
import { type FoundCommands, nextCommands } from "../disruption/run-round.ts";
import { isReplacedFirst } from "../nodeclaim/expired.ts";
import type { PoolInput } from "../provisioning/scheduling-input.ts";
import { usageOf } from "../state/pool-usage.ts";
import type { BrakeAnswer } from "./brake-answer.ts";
import { type Allowed, allowedNow, type BudgetAnswer, budgetAnswers } from "./budget-answer.ts";
import { REASONS } from "./calendar.ts";
import { type CommandAnswer, usd } from "./command-answer.ts";
import type { HoldKind } from "./hold.ts";
import { poolObject } from "./hold.ts";
import { holdsOf } from "./holds.ts";
import { launchStop } from "./launch-stop.ts";
import { type MoveAnswer, moveAnswers } from "./move-answer.ts";
import { commandAnswers } from "./node-answer.ts";
import { ownedNode } from "./owned-node.ts";

/** The answer of `karpenter explain nodepool -o json`. The format stays compatible. */
export interface PoolAnswer {
  readonly kind: "NodePool" | "Provisioner";
  readonly name: string;
  readonly at: string;
  readonly says: string;
  readonly ready: boolean;
  /** Why the pool can launch no node, whatever the pods are. Absent: it can. */
  readonly launchesNothing?: string;
  /** Why voluntary disruption of the pool's nodes is paused. Absent: it is not paused. */
  readonly paused?: string;
  /** Which other provider serves the pool, so that Karpenter ignores it. Absent: no other does. */
  readonly otherProvider?: string;
  /** The brake, which stops involuntary terminations in the whole cluster. Absent: it is off. */
  readonly brake?: BrakeAnswer;
  readonly nodes: { readonly total: number; readonly leaving: number; readonly wanted?: number };
  readonly priceMicroUsdPerHour: number;
  /** The limits, sorted by resource. Amounts are Kubernetes quantities. */
  readonly limits: readonly {
    readonly resource: string;
    readonly used: string;
    readonly limit: string;
    readonly percent: number;
  }[];
  readonly usage: Readonly<Record<string, string>>;
  readonly policy: {
    readonly consolidationPolicy: string;
    readonly consolidateAfter: string;
    readonly expireAfter: string;
  };
  readonly budgets: readonly BudgetAnswer[];
  readonly disruptions: readonly Allowed[];
  /**
   * The earliest time in `disruptions`, as RFC 3339. Absent: the pool has no node, or a person must change something
   * first.
   */
  readonly nextAllowedDisruption?: string;
  /**
   * Why the pool's nodes are not disrupted. For each kind of hold that is first for some nodes: their number and at
   * most five names.
   */
  readonly held: readonly {
    readonly block: HoldKind;
    readonly count: number;
    readonly nodes: readonly string[];
  }[];
  /** Recent commands that moved pods to the pool's nodes. */
  readonly moves: readonly MoveAnswer[];
  /** What the last repack of the pool saved. Absent: there was no recent repack. */
  readonly repack?: string;
  /** The next commands that affect nodes of this pool. If there are none, the next commands in the cluster. */
  readonly next: readonly CommandAnswer[];
}

const MOST_NAMED = 5;

/** Facts that the answers about all pools share. */
export interface PoolAside {
  readonly next: FoundCommands | undefined;
  readonly brake: BrakeAnswer | undefined;
  /** By id: why pools are not used for launches. A pool is not among them because it is static. */
  readonly unused: ReadonlyMap<string, string>;
}

/** The answer about one pool. */
export function* poolAnswer(
  picture: Picture,
  input: PoolInput,
  { next, brake, unused }: PoolAside,
): Steps<PoolAnswer> {
  const { nowMs } = picture;
  const { pool } = input;
  const own = yield* filterInSteps(picture.nodes, ({ poolId }) => poolId === pool.id);
  const owned: NonNullable<ReturnType<typeof ownedNode>>[] = [];
  yield* eachInSteps(own, (node) => {
    const found = ownedNode(picture, node);
    if (found !== undefined) owned.push(found);
  });
  const price = owned.reduce((sum, { candidate }) => sum + (candidate?.priceMicroUsd ?? 0), 0);
  const pause = picture.paused(pool);
  const reasons = [
    ...REASONS,
    ...(isReplacedFirst(pool, picture.expiry) ? (["Expired"] as const) : []),
    ...(picture.settings.repair === undefined ? [] : (["Unhealthy"] as const)),
  ];
  const allowed = reasons.map((reason) => allowedFor(picture, pool, reason));
  const disruptions = own.length > 0 ? allowed : allowed.map((one) => unlessNow(one, nowMs));
  const soonest = disruptions.flatMap((one) => one.nextAllowedDisruption ?? []).sort()[0];
  const usage = usageOf(picture.nodes, pool.id);
  const { policy, consolidateAfter, expireAfter } = pool.disruption;
  const stop = yield* stopOf(picture, input, unused);
  const disruption = { stop, pause: pause?.message, disruptions, soonest, nowMs };
  return {
    kind: pool.generation === "alpha" ? "Provisioner" : "NodePool",
    name: pool.name,
    at: toRfc3339(nowMs),
    says: sentence(pool, { nodes: own.length, price }, disruption),
    ready: pool.ready && !unused.has(pool.id),
    ...(stop === undefined ? {} : { launchesNothing: stop }),
    ...(pause === undefined
      ? {}
      : { [pause.kind === "otherProvider" ? "otherProvider" : "paused"]: pause.message }),
    ...(brake === undefined ? {} : { brake }),
    nodes: {
      total: own.length,
      leaving: own.filter(({ deleting }) => deleting).length,
      ...(pool.replicas === undefined ? {} : { wanted: pool.replicas }),
    },
    priceMicroUsdPerHour: price,
    limits: Object.keys(pool.limits)
      .sort()
      .map((resource) => {
        const [used, limit] = [usage[resource] ?? 0, pool.limits[resource] as number];
        return {
          resource,
          used: formatResource(resource, used),
          limit: formatResource(resource, limit),
          percent: limit === 0 ? 100 : Math.round((100 * used) / limit),
        };
      }),
    usage: formatResources(usage),
    policy: {
      consolidationPolicy: policy,
      consolidateAfter: consolidateAfter === "Never" ? "Never" : formatDuration(consolidateAfter),
      expireAfter: expireAfter === "Never" ? "Never" : formatDuration(expireAfter),
    },
    budgets: budgetAnswers(pool, nowMs),
    disruptions,
    ...(soonest === undefined ? {} : { nextAllowedDisruption: soonest }),
    held: yield* heldBy(picture, owned),
    moves: moveAnswers(picture, own),
    ...repackSays(picture, pool),
    next: yield* nextOf(picture, pool, next),
  };
}

/** What budgets allow for the reason. Zero if the policy of the pool excludes this reason. */
function allowedFor(picture: Picture, pool: Pool, reason: CommandReason): Allowed {
  const { nextAllowedDisruption, ...byBudgets } = allowedNow(picture, pool, reason);
  const says = picture.paused(pool) === undefined ? neverFor(pool, reason) : undefined;
  if (says !== undefined) return { ...byBudgets, allowed: 0, says };
  return {
    ...byBudgets,
    ...(nextAllowedDisruption === undefined ? {} : { nextAllowedDisruption }),
  };
}

/** Without the time if it is now: a pool that has no node has none to disrupt now. */
function unlessNow({ nextAllowedDisruption: at, ...rest }: Allowed, nowMs: number): Allowed {
  return at === undefined || at === toRfc3339(nowMs)
    ? rest
    : { ...rest, nextAllowedDisruption: at };
}

/** Why no node of the pool is ever disrupted for this reason. Undefined: nodes may be. */
function neverFor(
  { replicas, disruption: { policy, consolidateAfter } }: Pool,
  reason: CommandReason,
): string | undefined {
  if (reason !== "Empty" && reason !== "Underutilized") return undefined;
  if (replicas !== undefined) return "a pool with replicas is not consolidated";
  if (policy === "none" || consolidateAfter === "Never") return "consolidation is disabled";
  return reason === "Underutilized" && policy === "WhenEmpty"
    ? "only empty nodes go (policy WhenEmpty)"
    : undefined;
}

function repackSays({ ledger, nowMs }: Picture, { id }: Pool): Pick<PoolAnswer, "repack"> {
  const outcome = ledger.outcome(id, nowMs);
  if (outcome === undefined) return {};
  const { predictedMicroUsd, realisedMicroUsd, overrun } = outcome;
  const untilMs = ledger.repackHoldOffEndsMs(id, nowMs);
  const rests = untilMs === undefined ? "" : `; not repacked until ${toRfc3339(untilMs)}`;
  const hurdle =
    overrun === 0
      ? ""
      : `; the next must save enough even if what comes costs ${(overrun * 100).toFixed(1)} % more than planned`;
  const says = `the last moves of several nodes saved ${usd(realisedMicroUsd)} of ${usd(predictedMicroUsd)} an hour${rests}${hurdle}`;
  return { repack: says };
}

function* heldBy(
  picture: Picture,
  owned: readonly NonNullable<ReturnType<typeof ownedNode>>[],
): Steps<PoolAnswer["held"]> {
  const byBlock = new Map<HoldKind, string[]>();
  yield* eachInSteps(owned, 1, (one) => {
    const [first] = holdsOf(picture, one);
    if (first === undefined) return;
    within(byBlock, first.block, () => []).push(one.node.name);
  });
  return [...byBlock]
    .map(([block, nodes]) => ({ block, count: nodes.length, nodes: nodes.slice(0, MOST_NAMED) }))
    .sort((a, b) => b.count - a.count || (a.block < b.block ? -1 : 1));
}

/** The next command in the cluster. If it affects other pools only, the next command for this pool alone. */
function* nextOf(
  picture: Picture,
  pool: Pool,
  next: FoundCommands | undefined,
): Steps<readonly CommandAnswer[]> {
  const isOurs = (found: FoundCommands | undefined) =>
    found?.commands.some(({ candidates }) => candidates.some((one) => one.pool.id === pool.id));
  if (next === undefined || isOurs(next)) return ours(next, pool);
  const others = picture.nodes.filter(({ poolId }) => poolId !== pool.id).map(({ name }) => name);
  const queued = new Set([...picture.queued, ...others]);
  return ours(yield* nextCommands({ ...picture, queued }), pool);
}

function ours(found: FoundCommands | undefined, pool: Pool): readonly CommandAnswer[] {
  if (found === undefined) return [];
  const commands = found.commands
    .filter(({ candidates }) => candidates.some((one) => one.pool.id === pool.id))
    .toSorted((a, b) => savingsMicroUsd(b) - savingsMicroUsd(a));
  return commandAnswers({ ...found, commands });
}

/** Why the pool can launch nothing. Undefined: it can, or its types are not known because it is static. */
function* stopOf(
  picture: Picture,
  input: PoolInput,
  unused: ReadonlyMap<string, string>,
): Steps<string | undefined> {
  const { pool, instanceTypes } = input;
  // The sentence about another provider already says that Karpenter ignores the pool.
  if (picture.paused(pool)?.kind === "otherProvider") return undefined;
  const why = unused.get(pool.id);
  if (why !== undefined) return why;
  if (pool.replicas !== undefined && instanceTypes.length === 0) return undefined;
  return yield* launchStop(input, picture.scheduling);
}

interface SaidOfPool {
  readonly stop: string | undefined;
  readonly pause: string | undefined;
  readonly disruptions: readonly Allowed[];
  readonly soonest: string | undefined;
  readonly nowMs: number;
}

/** The first line. What keeps the pool from launching comes first, because its owner must act. */
function sentence(
  pool: Pool,
  { nodes, price }: { readonly nodes: number; readonly price: number },
  { stop, pause, disruptions, soonest, nowMs }: SaidOfPool,
): string {
  const { kind, name } = poolObject(pool);
  const has = `has ${counted(nodes, "node")} for ${usd(price)} an hour`;
  const head =
    stop === undefined
      ? `${kind} ${name} ${has}`
      : `${kind} ${name} can launch no ${nodes === 0 ? "" : "further "}node: ${stop}; it ${has}`;
  if (pause !== undefined) return `${head}; ${pause}`;
  if (nodes === 0) return head;
  const first = disruptions.find(({ reason }) => neverFor(pool, reason) === undefined);
  if (soonest === undefined) return `${head}; ${first?.says ?? "nothing is allowed"}`;
  return soonest === toRfc3339(nowMs)
    ? `${head}; a disruption is allowed now`
    : `${head}; next allowed disruption: ${soonest}`;
}
