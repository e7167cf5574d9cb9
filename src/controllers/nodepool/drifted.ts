/**
 * Writes on a NodePool or Provisioner how many of its nodes have drifted, and why, in the condition Drifted. The
 * condition exists only while a node has drifted. karpenter-ts only; upstream has such a condition only on each
 * NodeClaim.
 */
import { CLAIM_KINDS, poolIdOfClaim } from "../../apis/hub/claim.ts";
import { condition } from "../../apis/karpenter/conditions.ts";
import type { Kind, KubeObject } from "../../apis/meta.ts";
import { driftSummary } from "../../core/nodepool/drift-summary.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  source,
} from "../../kube/manager/controller.ts";
import {
  isManagedPool,
  poolById,
  poolRequest,
  poolSources,
  readPool,
  showOnPool,
} from "../pools.ts";
import type { World } from "../world.ts";

const TYPE = "Drifted";

/** The controller that updates the condition Drifted of pools. */
export function nodePoolDrifted(world: World): Controller {
  return {
    name: "nodepool.drifted",
    watches: [
      ...poolSources(),
      ...CLAIM_KINDS.map((kind) =>
        source(kind as Kind, (claim, event, before) => {
          const isNews = event === "removed" || driftOf(claim) !== driftOf(before);
          return isNews ? requestsFor(world, claim) : [];
        }),
      ),
    ],
    concurrency: 10,
    reconcile: (request) => reconcile(world, request),
  };
}

function driftOf(claim: KubeObject | undefined): string | undefined {
  const found = claim === undefined ? undefined : condition(claim, TYPE);
  return found?.status === "True" ? found.reason : undefined;
}

function requestsFor(world: World, claim: KubeObject): readonly Request[] {
  const id = poolIdOfClaim(claim);
  const stored = id === undefined ? undefined : poolById(world, id);
  return stored === undefined ? [] : [poolRequest(stored.pool)];
}

async function reconcile(world: World, request: Request): Promise<Outcome> {
  const stored = readPool(world, request);
  if (stored === undefined || !isManagedPool(world, stored.pool)) return AWAIT_CHANGE;
  const { pool } = stored;
  const claims = CLAIM_KINDS.flatMap(
    (kind) => world.mirrors.of(kind as Kind).list() as readonly KubeObject[],
  ).filter((claim) => poolIdOfClaim(claim) === pool.id);
  const message = driftSummary(claims.map(driftOf));
  const drifted = { status: "True", reason: "NodesDrifted" } as const;
  await showOnPool(world, stored, {
    type: TYPE,
    shown: message === undefined ? undefined : { ...drifted, message },
  });
  return AWAIT_CHANGE;
}
