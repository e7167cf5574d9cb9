/**
 * Nominations: a node or claim on which a plan places a pod is nominated, and for some time it is not disrupted.
 * upstream: pkg/controllers/state
 */
import { claimGeneration } from "../../apis/hub/claim.ts";
import { vocabulary } from "../../apis/hub/generation.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { Settings, World } from "../world.ts";

const MIN_NOMINATION_MS = 10_000;

/** Milliseconds for which a nomination lasts: two batch windows, but at least ten seconds. */
export function nominationMs({ batchMaxMs }: Pick<Settings, "batchMaxMs">): number {
  return Math.max(2 * batchMaxMs, MIN_NOMINATION_MS);
}

/**
 * The names that events use for an existing node or one that is starting, such as `nodeclaim/x` and `node/y`. `name`:
 * that of the Node or its claim.
 */
export function targetsOf({ cluster }: Pick<World, "cluster">, name: string): readonly string[] {
  const view = cluster.node(name);
  const claimed = view?.claim === undefined ? [] : [claimTarget(view.claim)];
  return view?.node === undefined ? claimed : [...claimed, `node/${view.node.metadata.name}`];
}

/** The claim as events name it: `nodeclaim/NAME`, or `machine/NAME`. */
export function claimTarget(claim: NodeClaim): string {
  return `${vocabulary(claimGeneration(claim)).claimNoun}/${claim.metadata.name}`;
}
