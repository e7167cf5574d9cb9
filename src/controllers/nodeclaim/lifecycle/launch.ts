/**
 * Step 1: asks the cloud for the instance while Launched is Unknown. What was launched is remembered by
 * the claim's UID, so that a status that could not be stored never buys a second instance. A cloud that
 * is out of capacity, or a class that is not ready, gives the claim up: its pods are planned anew.
 * upstream: pkg/controllers/nodeclaim/lifecycle/launch.go
 */

import { claimGeneration } from "../../../apis/hub/claim.ts";
import { vocabulary } from "../../../apis/hub/generation.ts";
import { condition, inSteadyWords, withCondition } from "../../../apis/karpenter/conditions.ts";
import {
  CAPACITY_TYPE_LABEL_KEY,
  INSTANCE_TYPE_LABEL_KEY,
  TOPOLOGY_ZONE_LABEL_KEY,
} from "../../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../../apis/karpenter/nodeclaim.ts";
import { errorText } from "../../../base/error-text.ts";
import {
  CreateError,
  InsufficientCapacityError,
  NodeClassNotReadyError,
} from "../../../core/cloudprovider/errors.ts";
import { AWAIT_CHANGE } from "../../../kube/manager/controller.ts";
import { deleteClaim } from "../../claims.ts";
import { claimLog, poolLabel, speaksV05 } from "../../words.ts";
import type { World } from "../../world.ts";
import { countDisrupted } from "../disrupted.ts";
import { insufficientCapacity } from "../events.ts";
import { done, type Memory, type StepResult } from "./step.ts";

/** How long a launched instance is remembered; by then its status is stored or the claim is gone. */
const REMEMBER_MS = 60 * 60_000;
const MESSAGE_LENGTH = 300;

export async function launch(
  world: World,
  claim: NodeClaim,
  { launches: cache }: Memory,
): Promise<StepResult> {
  const uid = claim.metadata.uid ?? claim.metadata.name;
  if (condition(claim, "Launched")?.status !== "Unknown") {
    cache.delete(uid);
    return done(claim);
  }
  const nowMs = world.clock.now();
  let launched = cache.get(uid)?.launched;
  if (launched === undefined) {
    try {
      launched = await world.cloud.create(claim);
    } catch (error) {
      return failed(world, claim, error);
    }
    for (const [key, { untilMs }] of cache) if (untilMs <= nowMs) cache.delete(key);
    cache.set(uid, { launched, untilMs: nowMs + REMEMBER_MS });
    report(world, claim, launched);
  }
  const hydrated = withInstance(claim, launched);
  return done(withCondition(hydrated, { type: "Launched", status: "True" }, world.clock.now()));
}

function report(world: World, claim: NodeClaim, launched: NodeClaim): void {
  const { labels } = launched.metadata;
  const { providerID, nodeName = "", allocatable } = launched.status ?? {};
  const type = labels?.[INSTANCE_TYPE_LABEL_KEY];
  const zone = labels?.[TOPOLOGY_ZONE_LABEL_KEY];
  const capacityType = labels?.[CAPACITY_TYPE_LABEL_KEY];
  if (speaksV05(claim)) {
    const id = providerID?.slice(providerID.lastIndexOf("/") + 1);
    world.log
      .with({ controller: "provisioning" })
      .info(
        `Launched instance: ${id}, hostname: ${nodeName}, type: ${type}, zone: ${zone}, capacityType: ${capacityType}`,
        { provisioner: poolLabel(claim.metadata) },
      );
    return;
  }
  claimLog(world.log, "nodeclaim.lifecycle", claim).info(
    `launched ${vocabulary(claimGeneration(claim)).claimNoun}`,
    {
      "provider-id": providerID,
      "instance-type": type,
      zone,
      "capacity-type": capacityType,
      allocatable,
    },
  );
}

/** The claim's own labels win over the instance's; of annotations the instance's win. */
function withInstance(claim: NodeClaim, launched: NodeClaim): NodeClaim {
  const { providerID, imageID, capacity, allocatable } = launched.status ?? {};
  return {
    ...claim,
    metadata: {
      ...claim.metadata,
      labels: { ...launched.metadata.labels, ...claim.metadata.labels },
      annotations: { ...claim.metadata.annotations, ...launched.metadata.annotations },
    },
    status: {
      ...claim.status,
      ...(providerID === undefined ? {} : { providerID }),
      ...(imageID === undefined ? {} : { imageID }),
      ...(capacity === undefined ? {} : { capacity }),
      ...(allocatable === undefined ? {} : { allocatable }),
    },
  };
}

async function failed(world: World, claim: NodeClaim, error: unknown): Promise<StepResult> {
  const log = claimLog(world.log, "nodeclaim.lifecycle", claim);
  const noun = vocabulary(claimGeneration(claim)).claimNoun;
  const text = errorText(error);
  if (error instanceof InsufficientCapacityError || error instanceof NodeClassNotReadyError) {
    const short = error instanceof InsufficientCapacityError;
    if (short) world.events.publish(insufficientCapacity(claim, cut(text)));
    log.error(`failed launching ${noun}`, { error: text });
    await deleteClaim(world, claim);
    countDisrupted(world, claim, short ? "insufficient_capacity" : "nodeclass_not_ready");
    return { claim, outcome: AWAIT_CHANGE, ended: true };
  }
  const reason = error instanceof CreateError ? error.conditionReason : "LaunchFailed";
  const message = error instanceof CreateError ? error.conditionMessage : text;
  const after = withCondition(
    claim,
    inSteadyWords(claim, { type: "Launched", status: "Unknown", reason, message: cut(message) }),
    world.clock.now(),
  );
  const wrapped = new Error(`launching ${noun}`, { cause: error });
  wrapped.name = "LaunchError";
  return { claim: after, outcome: AWAIT_CHANGE, error: wrapped };
}

function cut(text: string): string {
  return text.length > MESSAGE_LENGTH ? `${text.slice(0, MESSAGE_LENGTH)}...` : text;
}
