/**
 * Makes kube-scheduler bind the pods of a command to their planned nodes (core/disruption/eviction-order.ts). Pods are
 * evicted in turns, one turn for each target node. Meanwhile other nodes have the taint
 * `karpenter.sh/other-nodes-first` (PreferNoSchedule). This is only a preference: a turn that takes too long is
 * skipped, and then pods may run on any node. A taint that another process left, or that was written late, is removed
 * as soon as it is seen.
 */
import { NODE } from "../../apis/core/node.ts";
import { isTerminating, type Pod } from "../../apis/core/pod.ts";
import { CLAIM_KINDS } from "../../apis/hub/claim.ts";
import { condition } from "../../apis/karpenter/conditions.ts";
import { controllerOf, keyOf } from "../../apis/meta.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { errorText } from "../../base/error-text.ts";
import type { Logger } from "../../base/log.ts";
import { inTurns, TURN_MS } from "../../base/steps.ts";
import { type EvictionTarget, otherNodesWithRoom } from "../../core/disruption/eviction-order.ts";
import { isPutLast, putLast } from "../../core/state/cordon.ts";
import type { NodeView } from "../../core/state/node-view.ts";
import { patchObject } from "../../kube/client/patch-object.ts";
import { createBell } from "../../kube/manager/bell.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requeueAfter,
  source,
} from "../../kube/manager/controller.ts";
import { readClaim } from "../claims.ts";
import { nodes, pods } from "../mirrors.ts";
import type { World } from "../world.ts";
import { type SteeredCommand, SteeredCommands, type SteeringProgress } from "./steered-commands.ts";

const POLL_MS = 500;
/** Time until a failed write of a taint is tried again. */
const RETRY_MS = 5_000;
/** Milliseconds in which the owner of an evicted pod can create a new pod, and the new pod can be bound. */
const REST_MS = 1_000;
/** Maximum number of milliseconds that is spent on one target. */
const MOST_FOR_A_TURN_MS = 10_000;
/**
 * The most milliseconds for all targets of a command. A node that provisioning marked to be filled last keeps the taint
 * for this time after it is initialized, at most. Pods of an interrupted node do not wait at all
 * (node/termination.ts).
 */
const MOST_MS = 90_000;
/** The most targets that have the taint before the pods of their command move. Each taint takes two API requests. */
const MOST_AWAITED = 100;

const SELF: Request = { kind: "", name: "disruption.steering" };

/**
 * Which nodes get the taint. `amongPlanned`: only other targets of the command. `keepOffOthers`: also other nodes with
 * room.
 */
type TaintScope = "amongPlanned" | "keepOffOthers";

/** Steers the pods of running commands to their planned nodes. */
export interface Steering {
  readonly controller: Controller;
  /** Adds a command with its plan. Its pods count as placed until the command ends. */
  plan(id: string, targets: readonly EvictionTarget[]): void;
  /** Adds a command whose plan is not known, because another process made it. Its pods are not steered. */
  promise(id: string, pods: readonly Pod[]): void;
  /**
   * Allows the eviction of the first target's pods, if every target has a Node. Resolves once the taints are written.
   */
  begin(id: string, scope: TaintScope): Promise<void>;
  forget(id: string): void;
  /**
   * Whether the pod may be evicted now: its target's turn has come, the pod is not steered, or its command has been
   * steered for too long.
   */
  mayLeave(pod: Pod): boolean;
  /** Whether a running command has a planned place for the pod. */
  hasPlace(pod: Pod): boolean;
}

interface Parts {
  readonly world: World;
  readonly log: Logger;
  readonly commands: SteeredCommands;
  /** Names of the nodes that have the taint, as far as this process knows. */
  readonly marked: Set<string>;
}

/** Creates the controller that writes the taints, and the functions for the command queue and for drains. */
export function createSteering(world: World): Steering {
  const commands = new SteeredCommands();
  const marked = new Set<string>();
  const log = world.log.with({ controller: SELF.name });
  const parts: Parts = { world, log, commands, marked };
  const bell = createBell();

  async function reconcile(): Promise<Outcome> {
    const nowMs = world.clock.elapsedMs();
    const waiting = commands.inProgress().length > 0 ? ownersWaiting(world) : new Set<string>();
    for (const [id, { targets, progress }] of commands.entries()) {
      if (progress === undefined) continue;
      advance(world, { targets, progress, waiting }, nowMs);
      if (progress.turn === targets.length || isTooLong(progress, nowMs)) commands.end(id);
    }
    await writeTaints(parts);
    if (commands.inProgress().length > 0) return requeueAfter(POLL_MS);
    if (marked.size === 0) return AWAIT_CHANGE;
    return requeueAfter(filledLast(world, marked).length > 0 ? POLL_MS : RETRY_MS);
  }

  return {
    plan: (id, targets) => {
      if (targets.length === 0) return;
      const turns = targets.map((target) => target.pods);
      commands.add(id, targets, turns);
    },
    promise: (id, pods) => commands.add(id, [], [pods]),
    begin: async (id, scope) => {
      const hasTurns = await startTurns(parts, id, scope);
      // The taints are written even if the pods are not steered: targets of the command may still have the taint.
      await writeTaints(parts);
      if (hasTurns) bell.ring(SELF);
    },
    forget: (id) => commands.end(id),
    mayLeave: (pod) => {
      const found = commands.steered(pod);
      const progress = found?.command.progress;
      if (found === undefined || progress === undefined) return true;
      return found.turn <= progress.turn || isTooLong(progress, world.clock.elapsedMs());
    },
    hasPlace: (pod) => commands.steered(pod) !== undefined,
    controller: {
      name: SELF.name,
      watches: [
        source(NODE, (node, event) => {
          const { name } = node.metadata;
          if (event === "removed") return [];
          const isNews = isPutLast(node) && !marked.has(name);
          if (isNews) marked.add(name);
          // A new node gets the taint before it takes pods that are planned for other nodes.
          const comes = event === "added" && commands.inProgress().length > 0;
          return isNews || comes ? [SELF] : [];
        }),
      ],
      concurrency: 1,
      listen: bell.listen,
      reconcile,
    },
  };
}

/**
 * Starts the first turn of a command. Returns false in these cases:
 * - The command is not known (it has no plan, or was rolled back), or its first turn has started before.
 * - A target has no Node, or there are too few targets. Then its pods are not steered.
 */
async function startTurns(
  { world, commands }: Parts,
  id: string,
  scope: TaintScope,
): Promise<boolean> {
  const command = commands.of(id);
  // The first turn has started before: the queue calls this again after an error. The pods have waited long enough.
  if (command === undefined || command.progress !== undefined) return false;
  const targets = nodesOf(world, command.targets);
  const names = new Set(targets?.map(({ name }) => name));
  if (targets === undefined || names.size < (scope === "amongPlanned" ? 2 : 1)) {
    commands.end(id);
    return false;
  }
  const others = scope === "amongPlanned" ? [] : await othersThan(world, names, command.pods);
  // Another controller may have rolled the command back during the `await`.
  if (commands.of(id) !== command || command.progress !== undefined) return false;
  const nowMs = world.clock.elapsedMs();
  command.progress = { nodes: targets, others, sinceMs: nowMs, turn: 0, turnSinceMs: nowMs };
  return true;
}

function othersThan(
  world: World,
  names: ReadonlySet<string>,
  pods: readonly Pod[],
): Promise<readonly string[]> {
  return inTurns(world.clock, otherNodesWithRoom(world.cluster.nodes(), names, pods), TURN_MS);
}

function isTooLong({ sinceMs }: SteeringProgress, nowMs: number): boolean {
  return nowMs - sinceMs > MOST_MS;
}

/** The nodes of the targets. Undefined: a target has no Node. */
function nodesOf(
  world: World,
  targets: readonly EvictionTarget[],
): readonly NodeView[] | undefined {
  const found = targets.flatMap(({ name }) => nodeNamed(world, name) ?? []);
  return found.length === targets.length ? found : undefined;
}

/**
 * Starts the turn of the next target once the new pods of the current target are bound, or once that takes too long.
 */
function advance(
  world: World,
  {
    targets,
    progress,
    waiting,
  }: Pick<SteeredCommand, "targets"> & {
    readonly progress: SteeringProgress;
    readonly waiting: ReadonlySet<string>;
  },
  nowMs: number,
): void {
  const target = targets[progress.turn];
  if (target === undefined) return;
  if (!isDone(world, target, waiting)) delete progress.doneSinceMs;
  else progress.doneSinceMs ??= nowMs;
  const isOver = nowMs - (progress.doneSinceMs ?? nowMs) >= REST_MS;
  if (!isOver && nowMs - progress.turnSinceMs < MOST_FOR_A_TURN_MS) return;
  progress.turn++;
  progress.turnSinceMs = nowMs;
  delete progress.doneSinceMs;
}

/** UIDs of the owners that have a pending pod. Collected once for all commands. */
function ownersWaiting(world: World): ReadonlySet<string> {
  return new Set(world.cluster.unboundPods().map((pod) => controllerOf(pod)?.uid ?? ""));
}

/** Whether the pods of this target are evicted and replaced. `waiting`: UIDs of the owners that have a pending pod. */
function isDone(
  world: World,
  { pods: planned, owners }: EvictionTarget,
  waiting: ReadonlySet<string>,
): boolean {
  const isThere = (pod: Pod) => {
    const now = pods(world).get(keyOf(pod));
    return now?.metadata.uid === pod.metadata.uid && !isTerminating(now as Pod);
  };
  if (planned.some(isThere)) return false;
  return ![...owners].some((uid) => waiting.has(uid));
}

/**
 * Names of the nodes that must have the taint: targets of later turns, other nodes with room (`keepOffOthers`), targets
 * of commands whose pods do not move yet, and nodes to be filled last. While no pods move, targets keep a taint that
 * they have, but get no new one. Otherwise each of hundreds of commands would taint the targets of all later commands
 * again.
 */
function toPutLast(
  world: World,
  commands: SteeredCommands,
  marked: ReadonlySet<string>,
): ReadonlySet<string> {
  const progress = commands.inProgress();
  if (progress.length === 0 && marked.size === 0) return new Set();
  const last = filledLast(world, marked);
  const awaited = [...commands.awaited()].flatMap((name) => nodeNamed(world, name) ?? []);
  const managedTargets = awaited.filter(({ managed, deleting }) => managed && !deleting);
  const awaiting = managedTargets.slice(0, MOST_AWAITED).map(({ name }) => name);
  const byCommands =
    progress.length > 0
      ? putLastBy(progress, awaiting)
      : new Set(awaiting.filter((name) => marked.has(name)));
  return new Set([...byCommands, ...last]);
}

/**
 * Those of the nodes with the taint that provisioning marked to be filled last. They keep the taint until the pods
 * planned for them are bound, at most `MOST_MS` after they are initialized.
 */
function filledLast(world: World, marked: ReadonlySet<string>): readonly string[] {
  return [...marked].filter((name) => {
    const { claim } = world.cluster.node(name) ?? {};
    if (claim === undefined || !world.cluster.placements.isFilledLast(claim.metadata.name))
      return false;
    const ready = condition(claim, "Initialized");
    const readyMs = ready?.status === "True" ? fromRfc3339(ready.lastTransitionTime) : undefined;
    return readyMs === undefined || world.clock.now() - readyMs < MOST_MS;
  });
}

/**
 * The node with this name, or the node of the claim with this name. Uses an index, because it is called twice a second.
 */
function nodeNamed(world: World, name: string): NodeView | undefined {
  const own = world.cluster.node(name);
  if (own?.node !== undefined) return own;
  const claims = CLAIM_KINDS.flatMap(({ kind }) => readClaim(world, { kind, name }) ?? []);
  const ids = claims.flatMap(({ status }) => status?.providerID ?? []);
  const [node] = ids.flatMap((id) => nodes(world).byIndex("providerId", id));
  const found = node === undefined ? undefined : world.cluster.node(node.metadata.name);
  return found?.node === undefined ? undefined : found;
}

/**
 * Names of nodes that kube-scheduler should use last: targets of later turns, and other nodes with room. `awaiting`:
 * targets of commands whose pods do not move yet. Of the targets, only managed nodes are tainted.
 */
function putLastBy(
  commands: readonly SteeringProgress[],
  awaiting: readonly string[],
): ReadonlySet<string> {
  const last = new Set<string>(awaiting);
  const first = new Set<string>();
  for (const progress of commands) {
    // The same node may be the target of several turns.
    const upcoming = new Set(progress.nodes.slice(progress.turn + 1).map(({ name }) => name));
    for (const [index, { name, managed }] of progress.nodes.entries()) {
      if (index === progress.turn || (index < progress.turn && !upcoming.has(name)))
        first.add(name);
      else if (managed) last.add(name);
    }
    for (const name of progress.others) last.add(name);
  }
  for (const name of first) last.delete(name);
  return last;
}

/**
 * Adds missing taints and removes those that are no longer needed. A failed write is tried again at the next reconcile.
 */
async function writeTaints({ world, log, commands, marked }: Parts): Promise<void> {
  const wanted = toPutLast(world, commands, marked);
  const changes = [...new Set([...marked, ...wanted])].filter(
    (name) => marked.has(name) !== wanted.has(name),
  );
  await Promise.all(
    changes.map(async (name) => {
      const isLast = wanted.has(name);
      if (isLast) marked.add(name);
      const node = nodes(world).get(name);
      try {
        if (node !== undefined) await patchObject(world.kube, NODE, node, putLast(node, isLast));
        if (!isLast) marked.delete(name);
      } catch (error) {
        if (isLast) marked.delete(name);
        const text = errorText(error);
        log.debug("failed writing the other-nodes-first taint on a node", {
          Node: { name },
          error: text,
        });
      }
    }),
  );
}
