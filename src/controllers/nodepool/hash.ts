/**
 * Writes the hash of its template on each pool, so that claims from an older template are recognized. If a new version
 * of Karpenter computes hashes differently, claims get the new hash instead of drifting. Claims of a v1beta1 pool also
 * get the lifetime that their hash contains, because a changed lifetime is no drift there.
 * upstream: pkg/controllers/nodepool/hash/controller.go
 */

import { poolIdOfClaim } from "../../apis/hub/claim.ts";
import { vocabulary } from "../../apis/hub/generation.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import { isTrue } from "../../apis/karpenter/conditions.ts";
import {
  HASHED_LIFETIME_ANNOTATION_KEY,
  NODEPOOL_HASH_VERSION_ANNOTATION_KEY as VERSION,
} from "../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { NodePool } from "../../apis/karpenter/nodepool.ts";
import { NODEPOOL_HASH_VERSION } from "../../apis/karpenter/nodepool-hash.ts";
import type { KubeObject } from "../../apis/meta.ts";
import { filterInSteps, inTurns, type Steps, TURN_MS } from "../../base/steps.ts";
import { lacksHashedLifetime } from "../../core/nodeclaim/drifted.ts";
import { patchObject } from "../../kube/client/patch-object.ts";
import { tryEach } from "../../kube/errors.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
} from "../../kube/manager/controller.ts";
import { changeClaim, claimRequest, listClaimsInSteps, readClaim } from "../claims.ts";
import { isManagedPool, poolSources, readPool } from "../pools.ts";
import type { World } from "../world.ts";

/** Number of claims that are checked in one step. */
const CLAIMS_PER_STEP = 1_024;
/** Number of claims whose hash is computed again in one step. */
const HASHES_PER_STEP = 64;

/**
 * The controller that writes the hash annotation of pools. Drift compares it with that of each claim.
 * upstream: pkg/controllers/nodepool/hash.
 */
export function nodePoolHash(world: World): Controller {
  /** Hashes of v1beta1 pools, by UID, whose claims were already checked. A pool changes often, but its hash rarely. */
  const lookedThrough = new Map<string, string>();
  return {
    name: "nodepool.hash",
    watches: [...poolSources()],
    concurrency: 10,
    reconcile: (request) => reconcile(world, lookedThrough, request),
  };
}

async function reconcile(
  world: World,
  lookedThrough: Map<string, string>,
  request: Request,
): Promise<Outcome> {
  const stored = readPool(world, request);
  if (stored === undefined || !isManagedPool(world, stored.pool)) return AWAIT_CHANGE;
  const { pool, native, kind } = stored;
  const { hashAnnotation } = vocabulary(pool.generation);
  const stamp =
    pool.generation === "alpha"
      ? { [hashAnnotation]: pool.hash }
      : { [hashAnnotation]: pool.hash, [VERSION]: NODEPOOL_HASH_VERSION };
  const version = native.metadata.annotations?.[VERSION];
  if (version !== undefined && version !== NODEPOOL_HASH_VERSION)
    await changeEach(world, claimsOf(world, pool.id), (one) => stampedAnew(one, pool));
  if (pool.generation === "beta" && lookedThrough.get(pool.uid) !== pool.hash) {
    const lifetime = (native as NodePool).spec.template?.spec.expireAfter ?? "Never";
    const note = { [HASHED_LIFETIME_ANNOTATION_KEY]: lifetime };
    await changeEach(world, lackingLifetime(world, pool), (one) =>
      lacksHashedLifetime(one, pool) ? annotated(one, note) : one,
    );
    lookedThrough.set(pool.uid, pool.hash);
  }
  await patchObject(world.kube, kind, native, annotated(native, stamp));
  return AWAIT_CHANGE;
}

async function changeEach(
  world: World,
  claims: Steps<readonly NodeClaim[]>,
  change: (claim: NodeClaim) => NodeClaim,
): Promise<void> {
  await tryEach(await inTurns(world.clock, claims, TURN_MS), async (listed) => {
    // The claim is read again, because it may have changed while others were processed.
    const claim = readClaim(world, claimRequest(listed));
    if (claim !== undefined) await changeClaim(world, claim, change);
  });
}

function* claimsOf(world: World, poolId: string): Steps<readonly NodeClaim[]> {
  const claims = yield* listClaimsInSteps(world);
  return yield* filterInSteps(claims, CLAIMS_PER_STEP, (one) => poolIdOfClaim(one) === poolId);
}

function* lackingLifetime(world: World, pool: Pool): Steps<readonly NodeClaim[]> {
  const claims = yield* claimsOf(world, pool.id);
  return yield* filterInSteps(claims, HASHES_PER_STEP, (one) => lacksHashedLifetime(one, pool));
}

function stampedAnew(claim: NodeClaim, pool: Pool): NodeClaim {
  if (claim.metadata.annotations?.[VERSION] === NODEPOOL_HASH_VERSION) return claim;
  const { hashAnnotation } = vocabulary(pool.generation);
  // A claim that drifted under the old version keeps its old hash, so it still counts as drifted.
  const hash = isTrue(claim, "Drifted") ? {} : { [hashAnnotation]: pool.hash };
  return annotated(claim, { ...hash, [VERSION]: NODEPOOL_HASH_VERSION });
}

function annotated<T extends KubeObject>(object: T, stamp: Readonly<Record<string, string>>): T {
  const annotations = { ...object.metadata.annotations, ...stamp };
  return { ...object, metadata: { ...object.metadata, annotations } };
}
