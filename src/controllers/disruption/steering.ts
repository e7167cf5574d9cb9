/**
 * Brings the pods of a command, be it for savings, drift or expiry, to the nodes of its plan
 * (core/disruption/eviction-order.ts): lets drains move only the pods whose turn it is, and keeps the taint
 * `karpenter.sh/other-nodes-first` on the nodes whose turn it is not. A wish, never a rule: whatever takes too
 * long is passed over, and after a while everything goes as it does without. A taint that nobody wants any more,
 * left by another process or written late, is taken away as soon as it is seen.
 */

import { NODE } from "../../apis/core/node.ts";
import { isTerminating, type Pod } from "../../apis/core/pod.ts";
import { CLAIM_KINDS } from "../../apis/hub/claim.ts";
import { condition } from "../../apis/karpenter/conditions.ts";
import { keyOf } from "../../apis/meta.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { errorText } from "../../base/error-text.ts";
import type { Logger } from "../../base/log.ts";
import { inTurns, TURN_MS } from "../../base/steps.ts";
import { type EvictionTarget, otherNodesWithRoom } from "../../core/disruption/eviction-order.ts";
import { ownerOf } from "../../core/disruption/moves.ts";
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
import { type Course, Courses, type Going } from "./steered-commands.ts";

const POLL_MS = 500;
/** Until a taint that could not be taken away is tried again. */
const RETRY_MS = 5_000;
/** A moved pod's new one is made, and has found its node, within so long. */
const REST_MS = 1_000;
const MOST_FOR_A_STOP_MS = 10_000;
/** In all. A node whose machine the cloud takes back meanwhile is not held up at all (node/termination.ts). */
const MOST_MS = 90_000;
/** Nodes put last at a time for commands that have not begun: each costs two requests. */
const MOST_AWAITED = 100;

const SELF: Request = { kind: "", name: "disruption.steering" };

/**
 * `amongPlanned`: of several nodes that are to take pods each gets its own; where there is but one there is nothing
 * to steer. `keepOffOthers`: other nodes with room are put last, too.
 */
type Manner = "amongPlanned" | "keepOffOthers";

export interface Steering {
  readonly controller: Controller;
  /** Takes a command's plan in: until it is over, its pods have a place. */
  plan(id: string, stops: readonly EvictionTarget[]): void;
  /** The same where the plan is not known any more: another process made it. Nobody steers the pods then. */
  promise(id: string, pods: readonly Pod[]): void;
  /** All nodes are there: the first turn begins. Resolves once kube-scheduler was told. */
  begin(id: string, manner: Manner): Promise<void>;
  /** The command came to nothing. */
  forget(id: string): void;
  /** Whether it is the pod's turn to leave, or nobody steers it. */
  mayLeave(pod: Pod): boolean;
  /** Whether a command that is under way has a place for it. */
  hasPlace(pod: Pod): boolean;
}

export function createSteering(world: World): Steering {
  const courses = new Courses();
  /** Names of the nodes that bear the taint, as far as is known here. */
  const marked = new Set<string>();
  const log = world.log.with({ controller: SELF.name });
  const bell = createBell();

  async function reconcile(): Promise<Outcome> {
    const nowMs = world.clock.elapsedMs();
    const waiting = courses.going().length > 0 ? ownersWaiting(world) : new Set<string>();
    for (const [id, { stops, going }] of courses.entries()) {
      if (going === undefined) continue;
      advance(world, { stops, going, waiting }, nowMs);
      if (going.turn === stops.length || isTooLong(going, nowMs)) courses.end(id);
    }
    await mark(world, log, marked, toPutLast(world, courses, marked));
    if (courses.going().length > 0) return requeueAfter(POLL_MS);
    if (marked.size === 0) return AWAIT_CHANGE;
    return requeueAfter(filledLast(world, marked).length > 0 ? POLL_MS : RETRY_MS);
  }

  return {
    plan: (id, stops) => {
      if (stops.length === 0) return;
      const turns = stops.map((stop) => stop.pods);
      courses.add(id, stops, turns);
    },
    promise: (id, pods) => courses.add(id, [], [pods]),
    begin: async (id, manner) => {
      const hasTurns = await setOut(world, courses, id, manner);
      // Also where nobody steers its pods: its nodes may bear the mark from when it waited.
      await mark(world, log, marked, toPutLast(world, courses, marked));
      if (hasTurns) bell.ring(SELF);
    },
    forget: (id) => courses.end(id),
    mayLeave: (pod) => {
      const found = courses.steered(pod);
      const going = found?.course.going;
      if (found === undefined || going === undefined) return true;
      return found.turn <= going.turn || isTooLong(going, world.clock.elapsedMs());
    },
    hasPlace: (pod) => courses.steered(pod) !== undefined,
    controller: {
      name: SELF.name,
      watches: [
        source(NODE, (node, event) => {
          const { name } = node.metadata;
          if (event === "removed") return [];
          const isNews = isPutLast(node) && !marked.has(name);
          if (isNews) marked.add(name);
          // A node that comes is told before it takes pods that are on their way elsewhere.
          const comes = event === "added" && courses.going().length > 0;
          return isNews || comes ? [SELF] : [];
        }),
      ],
      concurrency: 1,
      listen: bell.listen,
      reconcile,
    },
  };
}

/** A command's first turn begins. False when it has no course, or a node of it is not there: nobody steers it then. */
async function setOut(
  world: World,
  courses: Courses,
  id: string,
  manner: Manner,
): Promise<boolean> {
  const course = courses.of(id);
  // Going already: the command is tried again after an error, its pods have waited long enough.
  if (course === undefined || course.going !== undefined) return false;
  const stops = nodesOf(world, course.stops);
  const names = new Set(stops?.map(({ name }) => name));
  if (stops === undefined || names.size < (manner === "amongPlanned" ? 2 : 1)) {
    courses.end(id);
    return false;
  }
  const others = manner === "amongPlanned" ? [] : await othersThan(world, names, course.pods);
  // Others had their turns: it may have come to nothing.
  if (courses.of(id) !== course || course.going !== undefined) return false;
  const nowMs = world.clock.elapsedMs();
  course.going = { nodes: stops, others, sinceMs: nowMs, turn: 0, turnSinceMs: nowMs };
  return true;
}

function othersThan(
  world: World,
  names: ReadonlySet<string>,
  pods: readonly Pod[],
): Promise<readonly string[]> {
  return inTurns(world.clock, otherNodesWithRoom(world.cluster.nodes(), names, pods), TURN_MS);
}

function isTooLong({ sinceMs }: Going, nowMs: number): boolean {
  return nowMs - sinceMs > MOST_MS;
}

/** Undefined when one of them is not there. */
function nodesOf(world: World, stops: readonly EvictionTarget[]): readonly NodeView[] | undefined {
  const found = stops.flatMap(({ name }) => nodeNamed(world, name) ?? []);
  return found.length === stops.length ? found : undefined;
}

/** To the next stop once the new pods of this one have been placed, or it takes too long. */
function advance(
  world: World,
  {
    stops,
    going,
    waiting,
  }: Pick<Course, "stops"> & {
    readonly going: Going;
    readonly waiting: ReadonlySet<string>;
  },
  nowMs: number,
): void {
  const stop = stops[going.turn];
  if (stop === undefined) return;
  if (!isDone(world, stop, waiting)) delete going.doneSinceMs;
  else going.doneSinceMs ??= nowMs;
  const isOver = nowMs - (going.doneSinceMs ?? nowMs) >= REST_MS;
  if (!isOver && nowMs - going.turnSinceMs < MOST_FOR_A_STOP_MS) return;
  going.turn++;
  going.turnSinceMs = nowMs;
  delete going.doneSinceMs;
}

/** UIDs of owners that have a pod without a node. Looked up once for all courses: many may be going. */
function ownersWaiting(world: World): ReadonlySet<string> {
  return new Set(world.cluster.unboundPods().map((pod) => ownerOf(pod)?.uid ?? ""));
}

/** `waiting`: as {@link ownersWaiting}. */
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
 * Names of the nodes whose turn it is not; those of commands that have not begun, too, be they new or there before.
 * While nobody is on the way no other is marked, and none of these loses its mark: of hundreds of commands, one after
 * the other, each would mark anew what all that come after it wait for.
 */
function toPutLast(
  world: World,
  courses: Courses,
  marked: ReadonlySet<string>,
): ReadonlySet<string> {
  const going = courses.going();
  if (going.length === 0 && marked.size === 0) return new Set();
  const last = filledLast(world, marked);
  const come = [...courses.awaited()].flatMap((name) => nodeNamed(world, name) ?? []);
  const ours = come.filter(({ managed, deleting }) => managed && !deleting);
  const awaiting = ours.slice(0, MOST_AWAITED).map(({ name }) => name);
  const byCommands =
    going.length > 0
      ? putLastBy(going, awaiting)
      : new Set(awaiting.filter((name) => marked.has(name)));
  return new Set([...byCommands, ...last]);
}

/** Those of the marked nodes that wait for the pods that provisioning planned for them. */
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

/** The node that is called so, or whose claim is. Asked twice a second, with a hundred thousand nodes around it. */
function nodeNamed(world: World, name: string): NodeView | undefined {
  const own = world.cluster.node(name);
  if (own?.node !== undefined) return own;
  const claims = CLAIM_KINDS.flatMap(({ kind }) => readClaim(world, { kind, name }) ?? []);
  const ids = claims.flatMap(({ status }) => status?.providerID ?? []);
  const [node] = ids.flatMap((id) => nodes(world).byIndex("providerId", id));
  const found = node === undefined ? undefined : world.cluster.node(node.metadata.name);
  return found?.node === undefined ? undefined : found;
}

/** `awaiting`: nodes whose command has no turns yet. Nodes that are not ours are left as they are. */
function putLastBy(courses: readonly Going[], awaiting: readonly string[]): ReadonlySet<string> {
  const last = new Set<string>(awaiting);
  const first = new Set<string>();
  for (const going of courses) {
    // A node may have had a turn and have another one.
    const upcoming = new Set(going.nodes.slice(going.turn + 1).map(({ name }) => name));
    for (const [index, { name, managed }] of going.nodes.entries()) {
      if (index === going.turn || (index < going.turn && !upcoming.has(name))) first.add(name);
      else if (managed) last.add(name);
    }
    for (const name of going.others) last.add(name);
  }
  for (const name of first) last.delete(name);
  return last;
}

/** What cannot be written is tried again at the next look. */
async function mark(
  world: World,
  log: Logger,
  marked: Set<string>,
  wanted: ReadonlySet<string>,
): Promise<void> {
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
