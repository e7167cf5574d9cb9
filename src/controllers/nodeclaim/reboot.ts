/**
 * Reboots the instances of claims for which node repair requested that. The node is cordoned and drained, the cloud
 * reboots the instance, and the node is uncordoned after its next boot. If that fails, the claim is deleted, and its
 * pods are planned again. core/repair/reboot-step.ts decides what the next step is.
 * upstream: pkg/controllers/nodeclaim/reboot/controller.go
 */
import { NODE, type Node } from "../../apis/core/node.ts";
import type { Pod } from "../../apis/core/pod.ts";
import { isSameTaint, tolerates } from "../../apis/core/tolerations.ts";
import { withCondition, withoutCondition } from "../../apis/karpenter/conditions.ts";
import {
  NODE_INITIALIZED_LABEL_KEY,
  REBOOT_PRE_BOOT_ID_ANNOTATION_KEY,
  REBOOT_TERMINATION_GRACE_PERIOD_ANNOTATION_KEY,
  REBOOTING_NO_SCHEDULE_TAINT,
} from "../../apis/karpenter/labels.ts";
import { isRebooting, type NodeClaim, REBOOTING } from "../../apis/karpenter/nodeclaim.ts";
import { errorText } from "../../base/error-text.ts";
import {
  type RebootResult,
  type RebootStep,
  rebootGraceMs,
  rebootIssuedMs,
  rebootRequestedMs,
  rebootStep,
} from "../../core/repair/reboot-step.ts";
import { type Drain, drain } from "../../core/termination/drain.ts";
import { changeObject } from "../../kube/client/change-object.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requeueAfter,
  source,
} from "../../kube/manager/controller.ts";
import {
  changeClaim,
  claimRequestsOfNode,
  claimSources,
  isDeleting,
  isManagedClaim,
  readClaim,
} from "../claims.ts";
import { boundDrain } from "../disruption/repairs.ts";
import { deleteClaim } from "../ending/delete-claim.ts";
import { HELD_RETRY_MS } from "../ending/ended.ts";
import { standingNodes } from "../ending/live-reads.ts";
import { permitReboot } from "../ending/permit-reboot.ts";
import { earlierNow } from "../ending/two-clocks.ts";
import { nodes, pods } from "../mirrors.ts";
import type { EvictionQueue } from "../node/eviction-queue.ts";
import { claimLog } from "../words.ts";
import type { World } from "../world.ts";
import { rebootFailed, rebootObserved } from "./events.ts";

const ASK_AGAIN_MS = 5_000;

/** The facts that one step of a reboot needs. */
interface Rebooted {
  readonly claim: NodeClaim;
  readonly node: Node | undefined;
  readonly plan: Drain;
}

interface Parts {
  readonly world: World;
  readonly queue: EvictionQueue;
  /** When this process first called the cloud for a reboot, by UID of the claim. */
  readonly asked: Map<string, number>;
}

/** The controller that carries out the reboots requested by node repair. upstream: pkg/controllers/nodeclaim/reboot. */
export function reboot(world: World, queue: EvictionQueue): Controller {
  const parts: Parts = { world, queue, asked: new Map() };
  return {
    name: "nodeclaim.reboot",
    watches: [...claimSources(), source(NODE, claimRequestsOfNode(world))],
    concurrency: 10,
    reconcile: (request) => reconcile(parts, request),
  };
}

async function reconcile(parts: Parts, request: Request): Promise<Outcome> {
  const { world, asked } = parts;
  const claim = readClaim(world, request);
  if (claim === undefined || !isManagedClaim(world, claim)) return AWAIT_CHANGE;
  const uid = uidOf(claim);
  if (!isRebooting(claim) || isDeleting(claim)) {
    asked.delete(uid);
    return AWAIT_CHANGE;
  }
  const node = nodeOf(world, claim);
  const nowMs = earlierNow(world);
  const plan = drain({ nowMs, deadlineMs: undefined, pods: podsOn(world, node) });
  const one: Rebooted = { claim, node, plan };
  const askedMs = asked.get(uid);
  const facts = { claim, node, nowMs, podsToEvict: plan.waiting, askedMs };
  return apply(parts, one, rebootStep(facts));
}

async function apply(parts: Parts, one: Rebooted, step: RebootStep): Promise<Outcome> {
  const { world, queue } = parts;
  const { claim, node, plan } = one;
  if (step.do === "wait") return requeueAfter(step.afterMs);
  if (step.do === "end") return end(parts, one, step);
  if (node === undefined) return AWAIT_CHANGE;
  if (step.do === "open") {
    await openNode(world, node);
    world.events.publish(rebootObserved(claim));
    return requeueAfter(step.afterMs);
  }
  if (step.do === "note") return noteIssued(world, claim, node);
  await closeNode(world, node);
  if (step.do === "drain") {
    const reason = "Unhealthy";
    queue.add(node, plan.evict, {
      deadlineMs: undefined,
      reason,
      isListed: false,
      ...(step.endMs === undefined ? {} : { untilMs: step.endMs }),
    });
    return requeueAfter(step.afterMs);
  }
  return ask(parts, { claim, node }, step.preBootId);
}

async function ask(
  { world, asked }: Parts,
  { claim, node }: Pick<Rebooted, "claim"> & { readonly node: Node },
  preBootId: string,
): Promise<Outcome> {
  const uid = uidOf(claim);
  if (!asked.has(uid)) {
    const live = await permitReboot(world, { claim, node, isClosed: true });
    if (typeof live === "string") return leave({ world, asked }, { claim, node });
    asked.set(uid, earlierNow(world));
    world.metrics.count("involuntary_ends_total", { act: "reboot" });
  }
  const key = REBOOT_PRE_BOOT_ID_ANNOTATION_KEY;
  const noted = await changeClaim(world, claim, (latest) => ({
    ...latest,
    metadata: {
      ...latest.metadata,
      annotations: { ...latest.metadata.annotations, [key]: preBootId },
    },
  }));
  if (noted === undefined) return AWAIT_CHANGE;
  // The id is the same for each try, so that a cloud that remembers operations reboots only once.
  const operation = `${uid}-${rebootRequestedMs(claim)}-${preBootId}`;
  try {
    await world.cloud.reboot(claim, operation);
  } catch (error) {
    const message = errorText(error);
    if (isFinal(error))
      return end(
        { world, asked },
        { claim: noted, node },
        { result: "provider_error", message, isRefused: true },
      );
    claimLog(world.log, "nodeclaim.reboot", claim).error("failed rebooting", { error: message });
    return requeueAfter(ASK_AGAIN_MS);
  }
  return noteIssued(world, noted, node);
}

/** Cancels the reboot and uncordons the node: it has recovered, a reboot is not permitted now, or the claim is gone. */
async function leave(
  { world, asked }: Pick<Parts, "world" | "asked">,
  { claim, node }: Pick<Rebooted, "claim" | "node">,
): Promise<Outcome> {
  if (node !== undefined) await openNode(world, node);
  const left = (latest: NodeClaim) =>
    ["DisruptionReason", REBOOTING].reduce(withoutCondition, withoutReboot(latest));
  await changeClaim(world, claim, left);
  asked.delete(uidOf(claim));
  claimLog(world.log, "nodeclaim.reboot", claim).info("not rebooting the node, it stays");
  return AWAIT_CHANGE;
}

function isFinal(error: unknown): boolean {
  const names = ["NodeClaimNotFoundError", "RebootRefusedError"];
  return error instanceof Error && names.includes(error.name);
}

async function noteIssued(world: World, claim: NodeClaim, node: Node): Promise<Outcome> {
  const nowMs = world.clock.now();
  await changeClaim(world, claim, (latest) =>
    withCondition(
      withCondition(
        latest,
        {
          type: REBOOTING,
          status: "True",
          reason: "RebootIssued",
          message: "waiting for the next boot of the node",
        },
        nowMs,
      ),
      { type: "Initialized", status: "Unknown", reason: "Rebooting", message: "node is rebooting" },
      nowMs,
    ),
  );
  await changeObject(world.kube, NODE, node, (latest) => {
    const { [NODE_INITIALIZED_LABEL_KEY]: _, ...labels } = latest.metadata.labels ?? {};
    return { ...latest, metadata: { ...latest.metadata, labels } };
  });
  return requeueAfter(1);
}

interface RebootEnd {
  readonly result: RebootResult;
  readonly message: string;
  /** Whether the cloud said that it will not reboot the instance. */
  readonly isRefused?: boolean;
}

/**
 * Whether the reboot has failed, judged by the claim and its Node on the API server. The local copy may lack a Node
 * that has come back.
 */
async function isOverNow(
  world: World,
  claim: NodeClaim,
  askedMs: number | undefined,
): Promise<boolean> {
  const { providerID: providerId, nodeName } = claim.status ?? {};
  const standing = await standingNodes(world, { providerId, names: [nodeName] });
  const node = standing.find((one) => !isDeleting(one));
  const facts = { claim, node, podsToEvict: 0, askedMs, nowMs: earlierNow(world) };
  const step = rebootStep(facts);
  return step.do === "end" && isReplaced(step.result);
}

function isReplaced(result: RebootResult): boolean {
  return result === "provider_error" || result === "recovery_timeout";
}

/** Finishes the reboot, whether it succeeded or failed. */
async function end(
  { world, asked }: Pick<Parts, "world" | "asked">,
  { claim, node }: Pick<Rebooted, "claim" | "node">,
  { result, message, isRefused = false }: RebootEnd,
): Promise<Outcome> {
  const log = claimLog(world.log, "nodeclaim.reboot", claim);
  const isDeleted = isReplaced(result);
  if (isDeleted) {
    const graceMs = rebootGraceMs(claim);
    const ended = await deleteClaim(world, claim, "rebootFailed", {
      stillHolds: async (live) =>
        isRebooting(live) && (isRefused || (await isOverNow(world, live, asked.get(uidOf(claim))))),
      prepare: (live) => boundDrain(world, live, graceMs === "unreadable" ? undefined : graceMs),
    });
    if (ended === "held") return requeueAfter(HELD_RETRY_MS);
    // The node recovered, or somebody else deleted the node or cancelled its reboot.
    if (ended === "changed") return requeueAfter(HELD_RETRY_MS);
    if (ended !== "ended") return AWAIT_CHANGE;
    log.info("reboot failed, replacing node", { error: message });
  }
  const isWell = result === "succeeded";
  if (node !== undefined) await openNode(world, node);
  const nowMs = world.clock.now();
  await changeClaim(world, claim, (latest) => {
    const over = withCondition(
      withoutReboot(latest),
      {
        type: REBOOTING,
        status: "False",
        reason: isWell ? "RebootSucceeded" : "RebootFailed",
        message,
      },
      nowMs,
    );
    // A deleted claim keeps its disruption reason.
    return isDeleted ? over : withoutCondition(over, "DisruptionReason");
  });
  asked.delete(uidOf(claim));
  // The event of the boot may have been published when the node came back. Then it is not published again (dedupeMs).
  world.events.publish(isWell ? rebootObserved(claim) : rebootFailed(claim, message));
  log.info("reboot reached terminal outcome", { result });
  const seconds = (sinceMs: number) => Math.max(0, nowMs - sinceMs) / 1_000;
  world.metrics.count("nodes_reboots_total", { result });
  const tookSeconds = seconds(rebootRequestedMs(claim));
  world.metrics.observe("nodes_reboot_duration_seconds", { result }, tookSeconds);
  const issuedMs = rebootIssuedMs(claim);
  if (isWell && issuedMs !== undefined)
    world.metrics.observe("nodes_reboot_recovery_duration_seconds", {}, seconds(issuedMs));
  return AWAIT_CHANGE;
}

function withoutReboot(claim: NodeClaim): NodeClaim {
  const {
    [REBOOT_PRE_BOOT_ID_ANNOTATION_KEY]: _boot,
    [REBOOT_TERMINATION_GRACE_PERIOD_ANNOTATION_KEY]: _grace,
    ...annotations
  } = claim.metadata.annotations ?? {};
  return { ...claim, metadata: { ...claim.metadata, annotations } };
}

async function closeNode(world: World, node: Node): Promise<void> {
  await changeObject(world.kube, NODE, node, (latest) => {
    const taints = latest.spec?.taints ?? [];
    if (taints.some((taint) => isSameTaint(taint, REBOOTING_NO_SCHEDULE_TAINT))) return latest;
    return {
      ...latest,
      spec: { ...latest.spec, taints: [...taints, REBOOTING_NO_SCHEDULE_TAINT] },
    };
  });
}

async function openNode(world: World, node: Node): Promise<void> {
  await changeObject(world.kube, NODE, node, (latest) => {
    const taints = latest.spec?.taints ?? [];
    const others = taints.filter((taint) => !isSameTaint(taint, REBOOTING_NO_SCHEDULE_TAINT));
    if (others.length === taints.length) return latest;
    return { ...latest, spec: { ...latest.spec, taints: others } };
  });
}

/** The Node of the claim. Undefined if it is being deleted. */
function nodeOf(world: World, { status }: NodeClaim): Node | undefined {
  const found = nodes(world).byIndex("providerId", status?.providerID ?? "");
  return found.find((node) => !isDeleting(node));
}

/**
 * The pods to evict before the reboot. Pods that tolerate the taint are left out: new pods in their place would be
 * bound to the node again at once.
 */
function podsOn(world: World, node: Node | undefined): readonly Pod[] {
  if (node === undefined) return [];
  return pods(world)
    .byIndex("node", node.metadata.name)
    .filter(({ spec }) => !tolerates(spec.tolerations, REBOOTING_NO_SCHEDULE_TAINT));
}

function uidOf({ metadata }: NodeClaim): string {
  return metadata.uid ?? metadata.name;
}
