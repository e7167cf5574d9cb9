/**
 * The answer of `karpenter simulate`, as a data format for other programs. docs/reference/simulate.md describes it
 * and has its JSON schema.
 */

import { fromRfc3339, toRfc3339 } from "../../base/clock.ts";
import { counted } from "../../base/counted.ts";
import { atOnce, filterInSteps, flatMapInSteps, type Steps } from "../../base/steps.ts";
import { type CommandAnswer, usd } from "../../core/answers/command-answer.ts";
import { holdText } from "../../core/answers/hold.ts";
import { unpricedHolds } from "../../core/answers/holds.ts";
import { type BufferRoom, bufferRoom } from "../../core/answers/kept-room.ts";
import type { Model } from "../../core/answers/model.ts";
import { commandAnswers } from "../../core/answers/node-answer.ts";
import { ownedNode } from "../../core/answers/owned-node.ts";
import {
  type Ending,
  type PlanPass,
  rehearse,
  removeNodes,
  type Step,
  settle,
} from "../../core/answers/rehearsal.ts";
import type { RehearsalWatch } from "../../core/answers/rehearsal-progress.ts";
import { repairAnswer } from "../../core/answers/repair-answer.ts";
import { type Staying, stayingNodes } from "../../core/answers/staying.ts";
import { type Totals, totalsOf } from "../../core/answers/totals.ts";
import { countNodes } from "../../core/disruption/node-counts.ts";
import { nextCommands } from "../../core/disruption/run-round.ts";
import { expiry, isForced } from "../../core/nodeclaim/expired.ts";
import { planBatchInSteps } from "../../core/planner/plan-batch.ts";
import { realPodsFirst } from "../../core/planner/real-pods-first.ts";
import type { NodeView } from "../../core/state/node-view.ts";
import type { ReadPicture } from "./read-picture.ts";
import { type LeftPending, leftPending, strandedPods } from "./unplaced.ts";

/** The answer of `karpenter simulate`. Prices are micro-dollars an hour. */
export interface Simulated {
  readonly says: string;
  /** Time in RFC 3339. */
  readonly from: string;
  readonly to: string;
  readonly before: Totals;
  readonly after: Totals;
  readonly steps: readonly Step[];
  /** Moves from one node to another. A pod that has no place at the end is in `unplaced` only. */
  readonly podsMoved: number;
  readonly savesMicroUsdPerHour: number;
  /** Pods without a place at the end. Those that wait because of the change come first. */
  readonly unplaced: readonly LeftPending[];
  /** The room that CapacityBuffers have at the end. Absent: the input has none. */
  readonly headroom?: readonly BufferRoom[];
  /** What would block the removal of these nodes in the real cluster. The simulation removes them anyway. */
  readonly against: readonly { readonly node: string; readonly says: string }[];
  /** The conditions of nodes that are assumed to be unhealthy, and what node repair does. */
  readonly unhealthy?: readonly { readonly node: string; readonly says: string }[];
  /** How consolidation ended. Only if it was simulated to its end. */
  readonly ended?: Ending;
  /** Why the nodes stay. Only if consolidation was simulated to its end, and had no command. */
  readonly staying?: readonly Staying[];
  /** What the disruption loop would do next. Empty: nothing, or it is not known because the simulation was stopped. */
  readonly next: readonly CommandAnswer[];
}

/** The changes to simulate. */
export interface Supposed {
  readonly removed: readonly string[];
  readonly zones: readonly string[];
  readonly consolidate: boolean;
  readonly horizonMs: number;
  /**
   * Whether nodes are assumed to be unhealthy. Then the disruption loop runs; without --consolidate it does node repair
   * only.
   */
  readonly repairs: boolean;
  /** Follows the disruption loop, and may end it early. */
  readonly watch?: RehearsalWatch | undefined;
}

/** The start of a simulation, before anything is launched. */
export function modelOf({ picture, planning }: ReadPicture): Model {
  return {
    picture,
    pools: planning.pools,
    made: 0,
  };
}

/**
 * Runs a simulation. `before` is the cluster as read; `start` is the same with changed NodePools, prices and workloads.
 */
export function simulation(...given: Parameters<typeof simulationInSteps>): SimulationEnd {
  return atOnce(simulationInSteps(...given));
}

interface SimulationEnd {
  readonly answer: Simulated;
  readonly after: Model;
}

/** Like {@link simulation}, in steps. */
export function* simulationInSteps(
  before: Model,
  start: Model,
  { removed, zones, consolidate, horizonMs, repairs, watch }: Supposed,
  settings: ReadPicture["settings"],
): Steps<SimulationEnd> {
  const plan: PlanPass = (input) =>
    realPodsFirst(input.pods, (pods) => planBatchInSteps({ ...input, pods }, settings.planner));
  const { nowMs } = start.picture;
  const steps: Step[] = [];
  const views = new Map(start.picture.nodes.map((node) => [node.name, node]));
  // The budgets of the removed nodes need the counts of all nodes. They are kept for this list of nodes.
  if (removed.length > 0) yield* countNodes(start.picture.nodes);
  const against = yield* flatMapInSteps(removed, (name) => objections(start, views.get(name)));
  let model = start;
  if (removed.length > 0) {
    const why = zones.length > 0 ? `removed, zone ${zones.join(", ")} drained` : "removed";
    const gone = yield* removeNodes(model, removed, why);
    model = gone.model;
    steps.push(gone.step);
  }
  let ended: Ending | undefined;
  const unhealthy = repairs ? { unhealthy: unhealthyNodes(start) } : {};
  if (consolidate || repairs) {
    if (!consolidate) model = { ...model, picture: { ...model.picture, onlyRepairs: true } };
    const done = yield* rehearse(model, plan, { untilMs: nowMs + horizonMs, watch });
    model = done.model;
    steps.push(...done.steps);
    ended = done.ended;
  } else {
    const settled = yield* settle(model, plan);
    model = settled.model;
    steps.push(...settled.steps);
  }
  const found = yield* answer(before, model, steps, { against, ended, plan });
  const hasCommand = steps.some(({ kind }) => kind === "command");
  const isIdle = consolidate && ended === "settled" && !hasCommand;
  const staying = isIdle ? { staying: yield* stayingNodes(model.picture) } : {};
  return { answer: { ...found, ...unhealthy, ...staying }, after: model };
}

/** Number of nodes in one step of work that takes some microseconds for each. */
const NODES_PER_STEP = 256;

/** Notes about what the simulation ignores, if the input has it. */
export function* leftOut(
  { picture, pools }: Model,
  { to }: Pick<Simulated, "to">,
): Steps<string[]> {
  const owners = new Map(pools.map(({ pool }) => [pool.id, pool]));
  const toMs = fromRfc3339(to) ?? 0;
  const ending = yield* filterInSteps(picture.nodes, NODES_PER_STEP, ({ claim, poolId = "" }) => {
    const end = claim === undefined ? undefined : expiry(claim, owners.get(poolId), picture.expiry);
    return end !== undefined && isForced(end, toMs);
  });
  const ends = ending.length;
  const late = picture.nodes.filter(({ managed, initialized }) => managed && !initialized).length;
  return [
    ...(ends === 0
      ? []
      : [`${counted(ends, "node")} would expire before the end; this is not simulated`]),
    ...(late === 0
      ? []
      : [`${counted(late, "node")} not ready yet, and assumed to stay not ready`]),
  ];
}

function* answer(
  before: Model,
  model: Model,
  steps: readonly Step[],
  rest: {
    readonly against: Simulated["against"];
    readonly ended: Ending | undefined;
    readonly plan: PlanPass;
  },
): Steps<Simulated> {
  const was = yield* totalsOf(before);
  const is = yield* totalsOf(model);
  const moves = steps.flatMap((step) => step.moves);
  const saves = was.priceMicroUsdPerHour - is.priceMicroUsdPerHour;
  const unplaced = yield* leftPending(before, model, rest.plan);
  // A pod that left its node and has no place at the end counts as a pod without a place, and not as moved, too.
  const left = new Set(unplaced.map(({ pod }) => pod));
  const podsMoved = moves.filter(
    ({ pod, from, to }) => from !== undefined && from !== to && !left.has(pod),
  ).length;
  const commands = steps.filter(({ kind }) => kind === "command").length;
  const headroom = bufferRoom(model.picture);
  // A stopped simulation has no time for one more round.
  const hasNoNext = rest.ended === "settled" || rest.ended === "stopped";
  return {
    says: sentence([was, is], rest.ended === undefined ? undefined : commands, {
      podsMoved,
      unplaced,
    }),
    from: toRfc3339(before.picture.nowMs),
    to: toRfc3339(model.picture.nowMs),
    before: was,
    after: is,
    steps,
    podsMoved,
    savesMicroUsdPerHour: saves,
    unplaced,
    ...(headroom.length === 0 ? {} : { headroom }),
    against: rest.against,
    ...(rest.ended === undefined ? {} : { ended: rest.ended }),
    next: hasNoNext ? [] : commandAnswers(yield* nextCommands(model.picture)),
  };
}

/**
 * The sentence about the result. `commands` is undefined without --consolidate, because then the disruption loop is
 * not simulated.
 */
function sentence(
  [was, is]: readonly [before: Totals, after: Totals],
  commands: number | undefined,
  { podsMoved, unplaced }: Pick<Simulated, "podsMoved" | "unplaced">,
): string {
  const money = `${usd(was.priceMicroUsdPerHour)} -> ${usd(is.priceMicroUsdPerHour)} an hour`;
  const nodes = `${was.nodes} -> ${counted(is.nodes, "node")}`;
  const loop =
    commands === undefined
      ? "no disruption simulated (--consolidate)"
      : counted(commands, "disruption command");
  const moved = `${counted(podsMoved, "pod")} moved, ${loop}`;
  const lost = strandedPods(unplaced).length;
  const anyway = unplaced.length - lost;
  const waits = lost === 0 ? "" : `, ${counted(lost, "pod")} without a place because of this`;
  const waited = anyway === 0 ? "" : `, ${counted(anyway, "pod")} without a place in any case`;
  return `${nodes}, ${money}, ${moved}${waits}${waited}`;
}

function unhealthyNodes({ picture }: Model): readonly { node: string; says: string }[] {
  return picture.nodes.flatMap((node) => {
    const owned = ownedNode(picture, node);
    const { repair } = picture.settings;
    const repairs = { policies: repair?.policies ?? [], isOn: true, isLegacy: false };
    const found = owned && repairAnswer(picture, owned, repairs);
    return found === undefined ? [] : [{ node: node.name, says: found.says }];
  });
}

/** What blocks the removal of a node, except for prices and waits. */
function objections({ picture }: Model, node: NodeView | undefined): Simulated["against"] {
  const owned = node === undefined ? undefined : ownedNode(picture, node);
  if (owned === undefined) return [];
  return unpricedHolds(picture, owned)
    .filter(({ block }) =>
      ["annotation", "pod", "pdb", "budget", "paused", "otherProvider"].includes(block),
    )
    .map((hold) => ({ node: owned.node.name, says: holdText(hold) }));
}
