/**
 * Step 2 of a claim's life: finds the Node with the claim's provider id and gives it the claim's labels, annotations,
 * taints, owner and finalizer. From then on Registered stays True.
 * upstream: pkg/controllers/nodeclaim/lifecycle/registration.go
 */
import { NODE } from "../../../apis/core/node.ts";
import { claimGeneration } from "../../../apis/hub/claim.ts";
import { vocabulary } from "../../../apis/hub/generation.ts";
import { condition, withCondition } from "../../../apis/karpenter/conditions.ts";
import { TOPOLOGY_ZONE_LABEL_KEY, UNREGISTERED_TAINT_KEY } from "../../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../../apis/karpenter/nodeclaim.ts";
import { joinedNode, registration } from "../../../core/nodeclaim/registered.ts";
import { withCreatedLabels } from "../../../core/state/claim-plans.ts";
import { putLast } from "../../../core/state/cordon.ts";
import { patchObject } from "../../../kube/client/patch-object.ts";
import { NotStoredError } from "../../../kube/errors.ts";
import { requeueAfter } from "../../../kube/manager/controller.ts";
import { nodes } from "../../mirrors.ts";
import { claimLog, nodeFields, poolLabel } from "../../words.ts";
import type { World } from "../../world.ts";
import { unregisteredTaintMissing } from "../events.ts";
import { tellPool } from "./pool-health.ts";
import { done, type Memory, type StepResult } from "./step.ts";

/** Milliseconds until the cloud is called again for the labels of the instance. */
const ASK_AGAIN_MS = 5_000;

/** Copies the claim's labels, annotations and taints to its Node, and sets Registered. */
export async function register(
  world: World,
  given: NodeClaim,
  { tracker }: Memory,
): Promise<StepResult> {
  const providerId = given.status?.providerID;
  if (condition(given, "Registered")?.status !== "Unknown" || providerId === undefined) {
    return done(given);
  }
  const found = registration(nodes(world).byIndex("providerId", providerId));
  const nowMs = world.clock.now();
  if (found.state !== "found") {
    const { reason, message } = found;
    const status = found.state === "ambiguous" ? "False" : "Unknown";
    return done(withCondition(given, { type: "Registered", status, reason, message }, nowMs));
  }
  const placed = await withLabelsOfRunning(world, given);
  if ("outcome" in placed) return placed;
  const { claim } = placed;
  const generation = claimGeneration(claim);
  const log = claimLog(world.log, "nodeclaim.lifecycle", claim);
  // Nodes of older API versions start without the taint karpenter.sh/unregistered.
  if (found.taintMissing && generation === "v1") {
    log.error("node claim registration error", {
      error: "missing karpenter.sh/unregistered taint",
    });
    world.events.publish(unregisteredTaintMissing(claim));
  }
  const joined = joinedNode(withCreatedLabels(claim, world.cluster.plans.of(claim)), found.node);
  // Steering removes the taint after the planned pods are bound (controllers/disruption/steering.ts).
  const isLast = world.cluster.placements.isFilledLast(claim.metadata.name);
  const marked = isLast ? putLast(joined, true) : joined;
  const node = await patchObject(world.kube, NODE, found.node, marked);
  // The Node was deleted in between. Its removal from the local copy reconciles the claim again.
  if (node === undefined) return done(claim);
  if ((node.spec?.taints ?? []).some(({ key }) => key === UNREGISTERED_TAINT_KEY))
    throw new NotStoredError(`the registration of Node ${node.metadata.name}`);
  const named = { ...claim, status: { ...claim.status, nodeName: node.metadata.name } };
  const registered = withCondition(named, { type: "Registered", status: "True" }, nowMs);
  return {
    ...done(registered),
    stored: async () => {
      const message = `registered ${vocabulary(generation).claimNoun}`;
      const fields = { ...nodeFields(generation, node), "provider-id": providerId };
      if (generation === "v1") log.info(message, fields);
      else log.debug(message, fields);
      world.metrics.count("nodes_created_total", {
        nodepool: poolLabel(claim.metadata),
        zone: claim.metadata.labels?.[TOPOLOGY_ZONE_LABEL_KEY] ?? "",
      });
      await tellPool(world, tracker, claim);
    },
  };
}

/** The claim, with labels that only its running instance has. Else why the registration must wait. */
async function withLabelsOfRunning(
  { cloud, clock }: World,
  claim: NodeClaim,
): Promise<StepResult | { readonly claim: NodeClaim }> {
  try {
    const labels = await cloud.labelsOfRunning(claim);
    if (labels !== undefined) {
      if (Object.keys(labels).length === 0) return { claim };
      const { metadata } = claim;
      return {
        claim: { ...claim, metadata: { ...metadata, labels: { ...metadata.labels, ...labels } } },
      };
    }
  } catch (error) {
    return { ...done(claim), error };
  }
  const message = "the cloud does not tell yet where it placed the instance";
  const waiting = {
    type: "Registered",
    status: "Unknown",
    reason: "AwaitingPlacement",
    message,
  } as const;
  return done(withCondition(claim, waiting, clock.now()), requeueAfter(ASK_AGAIN_MS));
}
