/**
 * The Drifted condition of one claim, called by nodeclaim.disruption. Checks that need a call to the cloud are repeated
 * only if the pool or the class has changed, or after five minutes. upstream:
 * pkg/controllers/nodeclaim/disruption/drift.go
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

/** What the cloud said of a claim, and of which state of things. */
interface Answer {
  readonly asked: string;
  readonly atMs: number;
  readonly reason: string | undefined;
}

/** Keeps the condition Drifted. */
export interface DriftCheck {
  /** Sets or takes off the condition; looks again in five minutes at the latest. */
  check(claim: NodeClaim, pool: Pool): Promise<Outcome>;
  /** The claim is gone or going. */
  forget(request: Request): void;
}

/** A check that asks the cloud again after some minutes; equal answers cost no write. */
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
    if (known?.asked === asked && nowMs - known.atMs < RECHECK_MS) return known.reason;
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
    if (isTypeGone(claim, await world.cloud.getInstanceTypes(pool))) return "InstanceTypeNotFound";
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

function claimKey(claim: NodeClaim): string {
  const { kind, name } = claimRequest(claim);
  return `${kind}/${name}`;
}

/** Alpha and beta have a switch; v1 has none. */
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
 * The class was edited a moment ago and its status does not know yet: nothing can be launched from it, and the
 * replacement of a node that is called drifted now would fail.
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
