/**
 * Creates planned claims, after a last check of their pools, read from the API server. Used by the provisioner, by
 * static pools, and by disruption for replacements. A claim that is refused does not prevent the others.
 */
import { claimGeneration, claimKind, toClaim } from "../../apis/hub/claim.ts";
import { vocabulary } from "../../apis/hub/generation.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { KubeObject } from "../../apis/meta.ts";
import { formatResources } from "../../apis/resources.ts";
import { errorText } from "../../base/error-text.ts";
import type { Logger } from "../../base/log.ts";
import { turnIsOver } from "../../base/steps.ts";
import { limitExceeded } from "../../core/nodepool/limits.ts";
import { claimManifest } from "../../core/provisioning/manifest.ts";
import type { PlannedClaim } from "../../core/provisioning/result.ts";
import { livePool, poolById } from "../pools.ts";
import { claimFields, poolFields, some } from "../words.ts";
import type { World } from "../world.ts";

/**
 * Creates the claims. Returns for each plan, in order, the created claim or an Error. `reason`: label of the metric.
 * `annotations`: added to each claim.
 */
export async function createClaims(
  world: World,
  log: Logger,
  planned: readonly PlannedClaim[],
  reason: string,
  annotations: Readonly<Record<string, string>> = {},
): Promise<readonly (NodeClaim | Error)[]> {
  // All names are drawn before the first request, so that they do not depend on the order of responses.
  const suffixes = planned.map(() => world.random.suffix());
  // Limits are checked before the first claim is created. The plan respects them, so its claims must not count against
  // each other here.
  const refusals = await poolRefusals(world, planned);
  const send = async (plan: PlannedClaim, suffix: string): Promise<NodeClaim | Error> => {
    try {
      const why = refusals.get(plan.pool.id);
      if (why !== undefined) throw new Error(why);
      const manifest = annotated(claimManifest(plan, suffix), annotations);
      return await createClaim(world, log, plan, manifest, reason);
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  };
  const sent: Promise<NodeClaim | Error>[] = [];
  for (const [index, plan] of planned.entries()) {
    // Sending takes long: a claim names hundreds of instance types, and there may be thousands of claims.
    if (turnIsOver(world.clock)) await world.clock.sleep(0);
    sent.push(send(plan, suffixes[index] as string));
  }
  return Promise.all(sent);
}

/**
 * Why pools of the plan may get no node, by pool id. Each pool is read once from the API server. The local copy may be
 * outdated: the pool may be gone or replaced, or its limits may be lower now.
 */
async function poolRefusals(
  world: World,
  planned: readonly PlannedClaim[],
): Promise<ReadonlyMap<string, string>> {
  const ids = [...new Set(planned.map(({ pool }) => pool.id))];
  const read = await Promise.all(ids.map((id) => readLive(world, id)));
  const found = new Map<string, string>();
  for (const [index, id] of ids.entries()) {
    const live = read[index] as Pool | string;
    const why =
      typeof live === "string" ? live : limitExceeded(live.limits, world.cluster.poolUsage(id));
    if (why !== undefined) found.set(id, why);
  }
  return found;
}

/** The pool as read from the API server, or why it may get no node. */
async function readLive(world: World, id: string): Promise<Pool | string> {
  const stored = poolById(world, id);
  if (stored === undefined) return `${id} is gone`;
  const live = await livePool(world, stored).catch(errorText);
  if (typeof live === "string") return `cannot read ${id} before a node is created: ${live}`;
  if (live === undefined) return `the API server has no ${id}, or another one than we know`;
  const { replicas } = stored.pool;
  if (replicas === undefined || (live.replicas ?? 0) >= replicas) return live;
  return `the API server asks for fewer replicas of ${id} than we know`;
}

async function createClaim(
  world: World,
  log: Logger,
  plan: PlannedClaim,
  manifest: KubeObject,
  reason: string,
): Promise<NodeClaim> {
  const { pool } = plan;
  if (poolById(world, pool.id) === undefined) throw new Error(`${pool.id} is gone`);
  const kind = claimKind(manifest);
  const arrive = world.cluster.expectClaim({ claim: toClaim(manifest), pods: plan.pods });
  const created = await world.kube.create(kind, manifest).then(toClaim, (error: unknown) => {
    arrive(undefined);
    throw error;
  });
  // The cluster state gets the claim at once, because the next pass must not plan for the same pods.
  arrive(created);
  log.info(`created ${vocabulary(claimGeneration(created)).claimNoun}`, {
    ...poolFields(pool),
    ...claimFields(created),
    requests: formatResources(plan.requests),
    "instance-types": some(plan.instanceTypes.map(({ name }) => name)),
  });
  world.metrics.count("nodeclaims_created_total", {
    reason,
    nodepool: pool.name,
    min_values_relaxed: String(plan.minValuesRelaxed),
  });
  return created;
}

function annotated(object: KubeObject, more: Readonly<Record<string, string>>): KubeObject {
  const annotations = { ...object.metadata.annotations, ...more };
  return { ...object, metadata: { ...object.metadata, annotations } };
}
