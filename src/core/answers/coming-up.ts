/** Explains what a node that is starting waits for, and when its claim times out. */
import { condition, isTrue } from "../../apis/karpenter/conditions.ts";
import { DO_NOT_DISRUPT_ANNOTATION_KEY } from "../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { toRfc3339 } from "../../base/clock.ts";
import type { Block } from "../disruption/candidates.ts";
import type { Picture } from "../disruption/make-round.ts";
import { due, heldBy } from "../nodeclaim/liveness.ts";
import type { NodeView } from "../state/node-view.ts";
import type { Hold } from "./hold.ts";

/**
 * What the node waits for, as a sentence for an answer about pods that are planned for it. Undefined: the node is
 * initialized, or has no NodeClaim.
 */
export function notReady(picture: Timed, view: NodeView): string | undefined {
  const { name, claim } = view;
  if (claim === undefined || view.initialized) return undefined;
  return awaited(picture, view, claim, `${name}, which is not ready yet`).says;
}

type Timed = Pick<Picture, "initializationTimeoutMs" | "nowMs"> & {
  readonly scheduling: Pick<Picture["scheduling"], "devices">;
};

/** The explanation to add if a node is blocked because it is starting. Undefined: the block has another cause. */
export function comingUp(
  picture: Timed,
  view: NodeView,
  claim: NodeClaim,
  { kind, message }: Block,
): Pick<Hold, "says" | "until"> | undefined {
  // A claim without a Node has the blocks noNode and notInitialized. Only noNode gets an explanation.
  if (kind !== (view.node === undefined ? "noNode" : "notInitialized")) return undefined;
  return awaited(picture, view, claim, message);
}

function awaited(
  { initializationTimeoutMs, nowMs, scheduling }: Timed,
  { node, pods }: NodeView,
  claim: NodeClaim,
  head: string,
): Pick<Hold, "says" | "until"> {
  const nodes = node === undefined ? [] : [node];
  const slices = scheduling.devices?.slices;
  const limit = { initializationTimeoutMs, watchedForMs: undefined, nowMs };
  const facts = { claim, nodes, pods, slices, ...limit };
  const step = condition(claim, awaitedOf(claim));
  const why = step?.message || step?.reason;
  const says = why === undefined ? head : `${head}: ${why}`;
  const end = due(facts);
  if (end === undefined) return { says };
  const by = heldBy(facts, end);
  if (by !== undefined) {
    const keeps = by === "pods" ? "its pods protect" : `${DO_NOT_DISRUPT_ANNOTATION_KEY} protects`;
    return { says: `${says}; ${keeps} it from being deleted` };
  }
  const until = toRfc3339(end.atMs);
  // The controller counts this timeout from its own start if the process started later. That time is not known here.
  const when =
    end.reason === "initialization_timeout"
      ? `deleted if this lasts, not before ${until}`
      : `deleted at ${until} if this lasts`;
  return { says: `${says}; ${when}`, until };
}

/** The first of Launched, Registered and Initialized that is not true for the claim. */
function awaitedOf(claim: NodeClaim): string {
  return ["Launched", "Registered"].find((one) => !isTrue(claim, one)) ?? "Initialized";
}
