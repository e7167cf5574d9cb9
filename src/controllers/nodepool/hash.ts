/**
 * Stamps each pool with the hash of its template, so that claims made from an older one can be told.
 * When the way of hashing changes, claims are stamped anew instead of drifting.
 * upstream: pkg/controllers/nodepool/hash/controller.go
 */
import { poolIdOfClaim } from "../../apis/hub/claim.ts";
import { vocabulary } from "../../apis/hub/generation.ts";
import { isTrue } from "../../apis/karpenter/conditions.ts";
import { NODEPOOL_HASH_VERSION_ANNOTATION_KEY } from "../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { NODEPOOL_HASH_VERSION } from "../../apis/karpenter/nodepool-hash.ts";
import type { KubeObject } from "../../apis/meta.ts";
import { filterInSteps, inTurns, type Steps, TURN_MS } from "../../base/steps.ts";
import { patchObject } from "../../kube/client/patch-object.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
} from "../../kube/manager/controller.ts";
import { changeClaim, claimRequest, listClaimsInSteps, readClaim } from "../claims.ts";
import { isManagedPool, poolSources, readPool } from "../pools.ts";
import type { World } from "../world.ts";

/** That are only looked at. */
const CLAIMS_PER_STEP = 1_024;

export function nodePoolHash(world: World): Controller {
  return {
    name: "nodepool.hash",
    watches: [...poolSources()],
    concurrency: 10,
    reconcile: (request) => reconcile(world, request),
  };
}

async function reconcile(world: World, request: Request): Promise<Outcome> {
  const stored = readPool(world, request);
  if (stored === undefined || !isManagedPool(world, stored.pool)) return AWAIT_CHANGE;
  const { pool, native, kind } = stored;
  const { hashAnnotation } = vocabulary(pool.generation);
  const versionKey = NODEPOOL_HASH_VERSION_ANNOTATION_KEY;
  const stamp =
    pool.generation === "alpha"
      ? { [hashAnnotation]: pool.hash }
      : { [hashAnnotation]: pool.hash, [versionKey]: NODEPOOL_HASH_VERSION };
  const version = native.metadata.annotations?.[versionKey];
  if (version !== undefined && version !== NODEPOOL_HASH_VERSION) {
    for (const listed of await inTurns(world.clock, claimsOf(world, pool.id), TURN_MS)) {
      // As it is by now: there may be a hundred thousand before it.
      const claim = readClaim(world, claimRequest(listed));
      if (claim === undefined) continue;
      if (claim.metadata.annotations?.[versionKey] === NODEPOOL_HASH_VERSION) continue;
      await changeClaim(world, claim, (one) => {
        // A claim that has drifted by the old way keeps its hash: it stays drifted.
        const hash = isTrue(one, "Drifted") ? {} : { [hashAnnotation]: pool.hash };
        return annotated(one, { ...hash, [versionKey]: NODEPOOL_HASH_VERSION });
      });
    }
  }
  await patchObject(world.kube, kind, native, annotated(native, stamp));
  return AWAIT_CHANGE;
}

function* claimsOf(world: World, poolId: string): Steps<readonly NodeClaim[]> {
  const claims = yield* listClaimsInSteps(world);
  return yield* filterInSteps(claims, CLAIMS_PER_STEP, (one) => poolIdOfClaim(one) === poolId);
}

function annotated<T extends KubeObject>(object: T, stamp: Readonly<Record<string, string>>): T {
  const annotations = { ...object.metadata.annotations, ...stamp };
  return { ...object, metadata: { ...object.metadata, annotations } };
}
