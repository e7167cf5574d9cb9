/**
 * Updates the condition Drifted of one claim, for nodeclaim.disruption. The cloud is called again only if the pool or
 * the class has changed, or after five minutes.
 * upstream: pkg/controllers/nodeclaim/disruption/drift.go
 */
import { claimGeneration } from "../../apis/hub/claim.ts";
import type { Generation } from "../../apis/hub/generation.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import {
  type Conditioned,
  condition,
  isTrue,
  withCondition,
  withoutCondition,
} from "../../apis/karpenter/conditions.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { isTypeGone, mayCheckType, poolDrift } from "../../core/nodeclaim/drifted.ts";
import {
  AWAIT_CHANGE,
  type Outcome,
  type Request,
  requeueAfter,
} from "../../kube/manager/controller.ts";
import { changeClaim, claimRequest } from "../claims.ts";
import { nodeClasses } from "../mirrors.ts";
import { claimLog } from "../words.ts";
import type { World } from "../world.ts";

const RECHECK_MS = 5 * 60_000;
const TYPE_RECHECK_MS = 30 * 60_000;

/** What the cloud answered about a claim, and the versions of pool and class at that time. */
interface Answer {
  readonly asked: string;
  readonly atMs: number;
  readonly reason: string | undefined;
}

/** Updates the condition Drifted of claims. */
export interface DriftCheck {
  /** Sets or removes the condition. The next check is due in five minutes at the latest. */
  check(claim: NodeClaim, pool: Pool): Promise<Outcome>;
  /** Drops what is kept about a claim. Call it when the claim is deleted. */
  forget(request: Request): void;
}

/** Creates the drift check. It writes a claim only if the result has changed. */
export function createDriftCheck(world: World): DriftCheck {
  const answers = new Map<string, Answer>();
  const typesSeenMs = new Map<string, number>();

  async function reasonOf(claim: NodeClaim, pool: Pool): Promise<string | undefined> {
    const own = poolDrift(claim, pool);
    if (own !== undefined) return own;
    const key = claimKey(claim);
    const nowMs = world.clock.now();
    const asked = `${pool.hash} ${pool.observedGeneration} ${nodeClassOf(world, claim)?.metadata.resourceVersion}`;
    const known = answers.get(key);
    // A command that finds that its node fits again removes the condition (controllers/disruption/opened.ts). Then the
    // earlier answer does not count any more.
    const isRevoked = known?.reason !== undefined && condition(claim, "Drifted") === undefined;
    if (known?.asked === asked && !isRevoked && nowMs - known.atMs < RECHECK_MS)
      return known.reason;
    const reason = (await typeReason(claim, pool, nowMs)) ?? (await world.cloud.isDrifted(claim));
    answers.set(key, { asked, atMs: nowMs, reason });
    return reason;
  }

  async function typeReason(
    claim: NodeClaim,
    pool: Pool,
    nowMs: number,
  ): Promise<string | undefined> {
    const key = claimKey(claim);
    if (!mayCheckType(claim, nowMs)) return undefined;
    if (nowMs - (typesSeenMs.get(key) ?? Number.NEGATIVE_INFINITY) < TYPE_RECHECK_MS)
      return undefined;
    const isMissing = isTypeGone(claim, await world.cloud.getInstanceTypes(pool));
    if (isMissing && (await world.cloud.isTypeGone(claim))) return "InstanceTypeNotFound";
    typesSeenMs.set(key, nowMs);
    return undefined;
  }

  return {
    check: async (claim, pool) => {
      if (isBehind(nodeClassOf(world, claim))) return requeueAfter(RECHECK_MS);
      const launched = isTrue(claim, "Launched") && isOn(world, claimGeneration(claim));
      const reason = launched ? await reasonOf(claim, pool) : undefined;
      await settle(world, claim, reason);
      return launched ? requeueAfter(RECHECK_MS) : AWAIT_CHANGE;
    },
    forget: ({ kind, name }) => {
      answers.delete(`${kind}/${name}`);
      typesSeenMs.delete(`${kind}/${name}`);
    },
  };
}

/**
 * Whether the claim still differs from its pool and class. The cloud is asked again, before the claim of a drifted node
 * is deleted. While the status of an edited class is behind, the earlier answer counts.
 */
export async function stillDrifts(world: World, claim: NodeClaim, pool: Pool): Promise<boolean> {
  if (isBehind(nodeClassOf(world, claim)) || poolDrift(claim, pool) !== undefined) return true;
  const isGone = condition(claim, "Drifted")?.reason === "InstanceTypeNotFound";
  if (isGone && (await world.cloud.isTypeGone(claim))) return true;
  return (await world.cloud.isDrifted(claim)) !== undefined;
}

function claimKey(claim: NodeClaim): string {
  const { kind, name } = claimRequest(claim);
  return `${kind}/${name}`;
}

/** Whether drift is enabled for this API version. For v1alpha5 and v1beta1 it can be switched off. */
function isOn({ settings: { gates } }: World, generation: Generation): boolean {
  if (generation === "v1") return true;
  return generation === "beta" ? gates.betaDrift : gates.alphaDrift;
}

function nodeClassOf(world: World, claim: NodeClaim): Conditioned | undefined {
  const { group, kind, name } = claim.spec.nodeClassRef;
  const found = world.cloud.nodeClassKinds.find((one) => one.group === group && one.kind === kind);
  return found === undefined ? undefined : nodeClasses(world, found).get(name);
}

/**
 * Whether the class was just edited and its status does not reflect that yet. Nothing can be launched from the class
 * then, so the replacement of a drifted node would fail.
 */
function isBehind(nodeClass: Conditioned | undefined): boolean {
  const seen = nodeClass && condition(nodeClass, "Ready")?.observedGeneration;
  return seen !== undefined && seen !== nodeClass?.metadata.generation;
}

async function settle(world: World, claim: NodeClaim, reason: string | undefined): Promise<void> {
  const known = condition(claim, "Drifted");
  const log = claimLog(world.log, "nodeclaim.disruption", claim);
  if (reason === undefined) {
    if (known === undefined) return;
    await changeClaim(world, claim, (one) => withoutCondition(one, "Drifted"));
    log.debug("removing drifted status condition, not drifted");
    return;
  }
  if (known?.status === "True" && known.reason === reason) return;
  await changeClaim(world, claim, (one) =>
    withCondition(one, { type: "Drifted", status: "True", reason }, world.clock.now()),
  );
  if (known?.status !== "True") log.debug("marking drifted", { reason });
}
