/**
 * Carries commands out. A command is proposed by the loop, then: its nodes are closed and marked, its
 * replacements created, and once those are initialized its claims deleted. One that cannot go on is taken
 * back: nodes open again, marks off. upstream: pkg/controllers/disruption/queue.go
 */
import { NODE } from "../../apis/core/node.ts";
import { CLAIM_KINDS, claimGeneration } from "../../apis/hub/claim.ts";
import { vocabulary } from "../../apis/hub/generation.ts";
import { isTrue, withCondition, withoutCondition } from "../../apis/karpenter/conditions.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { KubeObject } from "../../apis/meta.ts";
import { formatDuration } from "../../base/duration.ts";
import type { Logger } from "../../base/log.ts";
import type { Candidate } from "../../core/disruption/candidates.ts";
import {
  type Command,
  decisionOf,
  describeCommand,
  describeOlder,
} from "../../core/disruption/command.ts";
import { cordoned, uncordoned } from "../../core/termination/cordon.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requeueAfter,
  source,
} from "../../kube/controller.ts";
import { patchObject } from "../../kube/patch-object.ts";
import { changeClaim, claimRequest, deleteClaim, isDeleting, readClaim } from "../claims.ts";
import { nodes } from "../mirrors.ts";
import { nominationMs } from "../provisioning/nomination.ts";
import { speaksV05 } from "../words.ts";
import type { World } from "../world.ts";
import { createBackoff } from "./backoff.ts";
import { launching, terminating, waitingReadiness } from "./events.ts";
import { commandLabels, disruptedLabels } from "./labels.ts";

const POLL_MS = 1_000;
const TIMEOUT_MS = { perCommand: 80, min: 10 * 60_000, max: 60 * 60_000 } as const;

/** Creates the claims of a plan: the provisioner's way, handed in by all.ts. */
export type CreateReplacements = (
  log: Logger,
  command: Command,
) => Promise<readonly (NodeClaim | Error)[]>;

interface Running {
  readonly id: string;
  readonly command: Command;
  readonly replacements: readonly NodeClaim[];
  readonly startedMs: number;
}

export interface CommandQueue {
  readonly controller: Controller;
  /** Names of the nodes that commands are about. */
  readonly nodeNames: ReadonlySet<string>;
  /** Pools (by id) whose replacements failed of late: none of theirs are to be tried yet. */
  backingOff(nowMs: number): ReadonlySet<string>;
  /** Closes the nodes, creates replacements, and takes the command in. Rejects when it cannot start. */
  start(command: Command): Promise<void>;
}

export function createCommandQueue(world: World, create: CreateReplacements): CommandQueue {
  const running = new Map<string, Running>();
  const nodeNames = new Set<string>();
  const backoff = createBackoff();
  const log = world.log.with({ controller: "disruption.queue" });
  let ask: ((request: Request) => void) | undefined;

  function finish(one: Running): Outcome {
    running.delete(one.id);
    for (const { node } of one.command.candidates) nodeNames.delete(node.name);
    return AWAIT_CHANGE;
  }

  async function advance(request: Request): Promise<Outcome> {
    const one = running.get(request.name);
    if (one === undefined) return AWAIT_CHANGE;
    const state = replacementsState(world, one, running.size);
    if (state === "waiting") return requeueAfter(POLL_MS);
    if (state === "failed") {
      for (const { pool } of one.command.replacements) backoff.failed(pool.id, world.clock.now());
      await rollBack(world, log, one);
      return finish(one);
    }
    for (const { pool } of one.command.replacements) backoff.succeeded(pool.id);
    await Promise.all(one.command.candidates.map((candidate) => remove(world, one, candidate)));
    log.debug("command succeeded", { "command-id": one.id });
    return finish(one);
  }

  return {
    nodeNames,
    backingOff: backoff.pools,
    start: async (command) => {
      const id = world.random.uuid();
      report(world, command, id);
      const marked = await closeNodes(world, command);
      const started = { ...command, candidates: marked };
      const replacements = await replacementsOf(world, log, started, create).catch((error) => {
        for (const { pool } of command.replacements) backoff.failed(pool.id, world.clock.now());
        throw error;
      });
      for (const { node } of marked) nodeNames.add(node.name);
      world.cluster.markForDeletion(...marked.map(({ node }) => node.name));
      protect(world, [...command.targets, ...replacements.map(({ metadata }) => metadata.name)]);
      const startedMs = world.clock.now();
      running.set(id, { id, command: started, replacements, startedMs });
      world.metrics.count("voluntary_disruption_decisions_total", commandLabels(command));
      ask?.({ kind: "", name: id });
    },
    controller: {
      name: "disruption.queue",
      watches: CLAIM_KINDS.map((kind) =>
        source(kind, (claim) => commandsWaitingFor(claim, running.values())),
      ),
      concurrency: 100,
      backoffMs: { base: 1_000, max: 10_000 },
      listen: (handler) => {
        ask = handler;
        return () => {
          ask = undefined;
        };
      },
      reconcile: advance,
    },
  };
}

/** A replacement that goes is noticed at once: planning would else make up for it a second time. */
function commandsWaitingFor(claim: KubeObject, running: Iterable<Running>): readonly Request[] {
  const { kind, name } = claimRequest(claim);
  return [...running]
    .filter(({ replacements }) =>
      replacements.map(claimRequest).some((one) => one.kind === kind && one.name === name),
    )
    .map(({ id }) => ({ kind: "", name: id }));
}

/** What is to take the pods must not be disrupted before they are there. */
function protect(world: World, names: readonly string[]): void {
  const untilMs = world.clock.now() + nominationMs(world.settings);
  for (const name of names) world.cluster.nominate(name, untilMs);
}

/** In the words of the command's generation. */
function report(world: World, command: Command, id: string): void {
  const { generation, candidates } = command;
  if (command.reason === "Empty" && candidates.every(({ claim }) => speaksV05(claim))) {
    const log = world.log.with({ controller: "node" });
    for (const { node, pool } of candidates) {
      const after = pool.disruption.consolidateAfter;
      const ttl = formatDuration(after === "Never" ? 0 : after);
      log.info(`Triggering termination after ${ttl} for empty node`, { node: node.name });
    }
    return;
  }
  if (generation !== "v1") {
    const verb = generation === "alpha" ? "deprovisioning" : "disrupting";
    const log = world.log.with({
      controller: generation === "alpha" ? "deprovisioning" : "disruption",
    });
    log.info(`${verb} via ${command.via} ${describeOlder(command)}`);
    return;
  }
  world.log.with({ controller: "disruption" }).info("disrupting node(s)", {
    command: describeCommand(command, id),
    decision: decisionOf(command),
    "disrupted-node-count": candidates.length,
    "replacement-node-count": command.replacements.length,
    "pod-count": candidates.reduce(
      (sum, { reschedulablePods }) => sum + reschedulablePods.length,
      0,
    ),
    "disrupted-nodes": candidates.map(({ node, claim, instanceType, capacityType }) => ({
      Node: { name: node.name },
      NodeClaim: { name: claim.metadata.name },
      "instance-type": instanceType?.name,
      "capacity-type": capacityType,
    })),
    "replacement-nodes": command.replacements.map(({ cheapest }) => cheapest),
  });
}

/** The candidates that could be closed. With replacements all must be, or the command does not start. */
async function closeNodes(world: World, command: Command): Promise<readonly Candidate[]> {
  const errors: unknown[] = [];
  const closed = await Promise.all(
    command.candidates.map(async (candidate) => {
      try {
        await closeNode(world, command, candidate);
        return candidate;
      } catch (error) {
        errors.push(error);
        return undefined;
      }
    }),
  );
  const marked = closed.filter((one) => one !== undefined);
  const partly = errors.length > 0 && (command.replacements.length > 0 || marked.length === 0);
  if (partly) throw new Error("marking nodes as disrupted", { cause: errors[0] });
  return marked;
}

async function closeNode(world: World, command: Command, candidate: Candidate): Promise<void> {
  const words = vocabulary(candidate.generation);
  const node = nodes(world).get(candidate.node.name);
  if (node === undefined) throw new Error(`node ${candidate.node.name} is gone`);
  await patchObject(world.kube, NODE, node, cordoned(node, words));
  const { reason } = command;
  const nowMs = world.clock.now();
  await changeClaim(world, candidate.claim, (claim) =>
    withCondition(
      claim,
      { type: "DisruptionReason", status: "True", reason, message: reason },
      nowMs,
    ),
  );
}

async function replacementsOf(
  world: World,
  log: Logger,
  command: Command,
  create: CreateReplacements,
): Promise<readonly NodeClaim[]> {
  if (command.replacements.length === 0) return [];
  const created = await create(log, command);
  const claims = created.filter((one): one is NodeClaim => !(one instanceof Error));
  const error = created.find((one) => one instanceof Error);
  if (error !== undefined) {
    await Promise.all(claims.map((claim) => deleteClaim(world, claim)));
    throw new Error("launching replacements", { cause: error });
  }
  for (const claim of claims) {
    world.events.publish(launching(claim, claimGeneration(claim), command.reason));
  }
  return claims;
}

function replacementsState(
  world: World,
  { command, replacements, startedMs }: Running,
  commands: number,
): "ready" | "waiting" | "failed" {
  const latest = replacements.map((claim) => readClaim(world, claimRequest(claim)));
  if (latest.some((claim) => claim === undefined || isDeleting(claim))) return "failed";
  const waiting = latest.filter((claim) => claim !== undefined && !isTrue(claim, "Initialized"));
  if (waiting.length === 0) return "ready";
  for (const claim of waiting as NodeClaim[])
    world.events.publish(waitingReadiness(claim, claimGeneration(claim)));
  for (const { claim, generation } of command.candidates)
    world.events.publish(waitingReadiness(claim, generation));
  const { perCommand, min, max } = TIMEOUT_MS;
  const limitMs = Math.min(max, Math.max(min, perCommand * commands));
  return world.clock.now() - startedMs > limitMs ? "failed" : "waiting";
}

async function remove(world: World, { command }: Running, candidate: Candidate): Promise<void> {
  const { claim, generation, node } = candidate;
  const objects: readonly KubeObject[] = node.node === undefined ? [claim] : [node.node, claim];
  world.events.publish(...terminating(objects, generation, command.reason));
  await deleteClaim(world, claim);
  const labels = disruptedLabels(command, candidate);
  world.metrics.count("nodeclaims_disrupted_total", labels);
  world.metrics.count(
    "pods_disruption_initiated_total",
    labels,
    candidate.reschedulablePods.length,
  );
}

async function rollBack(world: World, log: Logger, { id, command }: Running): Promise<void> {
  log.error("failed terminating nodes while executing a disruption command", {
    "command-id": id,
    decision: decisionOf(command),
    "disrupted-node-count": command.candidates.length,
    error: "a replacement is gone or did not become ready in time",
  });
  world.metrics.count("voluntary_disruption_queue_failures_total", commandLabels(command));
  await Promise.all(command.candidates.map((candidate) => reopen(world, candidate)));
  world.cluster.unmarkForDeletion(...command.candidates.map(({ node }) => node.name));
}

/** Takes back what `closeNode` did. */
export async function reopen(
  world: World,
  { node: view, claim, generation }: Pick<Candidate, "node" | "claim" | "generation">,
): Promise<void> {
  const node = nodes(world).get(view.name);
  if (node !== undefined)
    await patchObject(world.kube, NODE, node, uncordoned(node, vocabulary(generation)));
  await changeClaim(world, claim, (one) => withoutCondition(one, "DisruptionReason"));
}
