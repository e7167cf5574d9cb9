/**
 * Step 3 of a claim's life: once the registered Node is usable, labels it and sets Initialized. Also sets
 * ConsistentStateFound if the Node has the promised resources. The condition's reason says what is missing. Changes of
 * the Node reconcile the claim again.
 * upstream: pkg/controllers/nodeclaim/lifecycle/initialization.go
 */
import { NODE } from "../../../apis/core/node.ts";
import { claimGeneration } from "../../../apis/hub/claim.ts";
import { vocabulary } from "../../../apis/hub/generation.ts";
import { condition, isTrue, withCondition } from "../../../apis/karpenter/conditions.ts";
import { NODE_INITIALIZED_LABEL_KEY } from "../../../apis/karpenter/labels.ts";
import { isRebooting, type NodeClaim } from "../../../apis/karpenter/nodeclaim.ts";
import type { ResourceSlice } from "../../../apis/resource/kinds.ts";
import { shapeIssues, withConsistency } from "../../../core/nodeclaim/consistent.ts";
import { initialization } from "../../../core/nodeclaim/initialized.ts";
import { registration } from "../../../core/nodeclaim/registered.ts";
import { patchObject } from "../../../kube/client/patch-object.ts";
import { deviceKinds, nodes } from "../../mirrors.ts";
import { claimLog } from "../../words.ts";
import type { World } from "../../world.ts";
import { done, type StepResult } from "./step.ts";

/** Sets Initialized once the Node is ready, has no startup taints, and has the requested resources. */
export async function initialize(world: World, claim: NodeClaim): Promise<StepResult> {
  const providerId = claim.status?.providerID;
  // Until it is initialized, v1 writes Unknown, and older API versions write False.
  const waiting = claimGeneration(claim) === "v1" ? "Unknown" : "False";
  const known = condition(claim, "Initialized")?.status;
  if (known !== "Unknown" && known !== waiting) return done(claim);
  if (!isTrue(claim, "Registered") || providerId === undefined) return done(claim);
  // The node is rebooting: its new boot is not Ready yet, or was not seen.
  if (isRebooting(claim)) return done(claim);
  const nowMs = world.clock.now();
  const found = registration(nodes(world).byIndex("providerId", providerId));
  if (found.state !== "found") {
    const { reason, message } = found;
    return done(
      withCondition(claim, { type: "Initialized", status: waiting, reason, message }, nowMs),
    );
  }
  const verdict = initialization(claim, found.node, publishedSlices(world));
  if (!verdict.ok) {
    const { reason, message } = verdict;
    return done(
      withCondition(claim, { type: "Initialized", status: waiting, reason, message }, nowMs),
    );
  }
  const { metadata } = found.node;
  const labels = { ...metadata.labels, [NODE_INITIALIZED_LABEL_KEY]: "true" };
  const node = await patchObject(world.kube, NODE, found.node, {
    ...found.node,
    metadata: { ...metadata, labels },
  });
  if (node === undefined) return done(claim);
  const generation = claimGeneration(claim);
  const initialized = withCondition(claim, { type: "Initialized", status: "True" }, nowMs);
  // A consistent node is recorded in the same write; nodeclaim.consistency reports inconsistent ones.
  const consistent = shapeIssues(initialized, node).length === 0;
  return {
    ...done(consistent ? withConsistency(initialized, [], nowMs) : initialized),
    stored: () => {
      const log = claimLog(world.log, "nodeclaim.lifecycle", claim);
      const message = `initialized ${vocabulary(generation).claimNoun}`;
      const fields = { "provider-id": providerId, allocatable: node.status?.allocatable };
      if (generation === "alpha") log.debug(message, fields);
      else log.info(message, fields);
    },
  };
}

/** The ResourceSlices of the local copy. Undefined: ResourceClaims are ignored, so no node waits for its devices. */
export function publishedSlices(world: World): readonly ResourceSlice[] | undefined {
  const isPlanned = world.settings.compileSelector !== undefined;
  return isPlanned ? deviceKinds(world).slices.list() : undefined;
}
