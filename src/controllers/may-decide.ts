/**
 * Decides whether the cluster may be planned while some claims are not launched. The capacity of such a claim is not
 * known, so upstream waits for all of them. But then one slow cloud, or one claim that is refused again and again,
 * blocks all planning. Here planning goes on after some seconds if two conditions hold. It is known for which pods the
 * claim was planned, so these pods are left out. And no limit depends on the capacity of the claim.
 */
import { claimKind, poolIdOfClaim } from "../apis/hub/claim.ts";
import type { NodeClaim } from "../apis/karpenter/nodeclaim.ts";
import { formatDuration } from "../base/duration.ts";
import { claimRequest, readClaim } from "./claims.ts";
import { poolById } from "./pools.ts";
import type { World } from "./world.ts";

/** Milliseconds to wait for a launch. Most launches take less. */
const LAUNCH_WAIT_MS = 10_000;

/** Milliseconds between log messages about the same wait. */
const SAID_AGAIN_MS = 60_000;
/**
 * Milliseconds after which a claim that the local copy lacks counts as deleted. A new claim may be missing for a
 * moment, and a watch that delivers nothing counts as broken after a minute.
 */
const GONE_MS = 120_000;
/** The most names in one message. */
const NAMED = 5;

/** A wait for claims of one cluster state. Times are those of the monotonic clock. */
interface Wait {
  sinceMs: number | undefined;
  saidMs: number;
  /** Since when the local copy of claims (mirror) lacks a claim, by UID. */
  readonly absentMs: Map<string, number>;
}

const waits = new WeakMap<World["cluster"], Wait>();

/** Whether the cluster state is complete, or lacks only claims that may be ignored. Logs which claims it waits for. */
export function mayDecide(world: World): boolean {
  const { cluster } = world;
  let wait = waits.get(cluster);
  if (cluster.synced && wait === undefined) return true;
  wait ??= { sinceMs: undefined, saidMs: 0, absentMs: new Map() };
  waits.set(cluster, wait);
  forgetGone(world, wait);
  const awaited = cluster.unlaunched().filter((claim) => !isKnown(world, claim));
  if (awaited.length > 0) say(world, wait, awaited);
  else wait.sinceMs = undefined;
  if (cluster.synced) waits.delete(cluster);
  return awaited.length === 0;
}

/** Drops claims that no longer exist. They would block planning if the event of their deletion was missed. */
function forgetGone(world: World, { absentMs }: Wait): void {
  const nowMs = world.clock.elapsedMs();
  for (const claim of world.cluster.unlaunched()) {
    const { name, uid = name } = claim.metadata;
    const mirrored = readClaim(world, claimRequest(claim));
    const kind = claimKind(claim);
    if (mirrored?.metadata.uid === claim.metadata.uid || world.mirrors.viewOf(kind) !== "current") {
      absentMs.delete(uid);
      continue;
    }
    const sinceMs = absentMs.get(uid) ?? nowMs;
    absentMs.set(uid, sinceMs);
    if (nowMs - sinceMs < GONE_MS) continue;
    absentMs.delete(uid);
    if (mirrored === undefined) world.cluster.deleteClaim(name, kind.kind);
    else world.cluster.updateClaim(mirrored);
    world.log.warn("forgot a claim that was awaited and is gone", { name });
  }
}

function say({ log, clock }: World, wait: Wait, awaited: readonly NodeClaim[]): void {
  const nowMs = clock.elapsedMs();
  const isFirst = wait.sinceMs === undefined;
  wait.sinceMs ??= nowMs;
  if (!isFirst && nowMs - wait.saidMs < SAID_AGAIN_MS) return;
  wait.saidMs = nowMs;
  const names = awaited.slice(0, NAMED).map(({ metadata }) => metadata.name);
  const fields = {
    claims: names.join(", "),
    count: awaited.length,
    waited: formatDuration(nowMs - wait.sinceMs),
  };
  // Most launches take only seconds, so the first message is at debug level.
  if (isFirst) log.debug("waiting for claims to be launched", fields);
  else log.info("still waiting for claims to be launched, nothing is planned or disrupted", fields);
}

function isKnown(world: World, claim: NodeClaim): boolean {
  // The creationTimestamp is not used: another computer's clock set it, and this process's clock may be set back.
  const promisedMs = world.cluster.promisedAtMs(claim.metadata.name);
  if (promisedMs === undefined || world.clock.elapsedMs() - promisedMs < LAUNCH_WAIT_MS)
    return false;
  const pool = poolById(world, poolIdOfClaim(claim) ?? "")?.pool;
  return pool === undefined || Object.keys(pool.limits).length === 0;
}
