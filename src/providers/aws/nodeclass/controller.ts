/**
 * Keeps an EC2NodeClass' status true to AWS: subnets, security groups, images, instance profile, and the
 * conditions that make it Ready. Stamps the hash, holds the finalizer, and on deletion waits for the
 * class' claims before it removes profile and launch templates. Woken by the class and by claims that go.
 */
import { EC2_NODE_CLASS, type EC2NodeClass } from "../../../apis/aws/ec2nodeclass.ts";
import { EC2NODECLASS_TERMINATION_FINALIZER } from "../../../apis/aws/labels.ts";
import { toAwsClass } from "../../../apis/hub/aws-class.ts";
import { initializeConditions, withConditionChanges } from "../../../apis/karpenter/conditions.ts";
import { NODE_CLAIM } from "../../../apis/karpenter/nodeclaim.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  requeueAfter,
  source,
} from "../../../kube/controller.ts";
import { addFinalizer, hasFinalizer, removeFinalizer } from "../../../kube/finalizer.ts";
import { patchObject } from "../../../kube/patch-object.ts";
import { hashAnnotations } from "../drift.ts";
import { describeError, ResolutionError } from "../errors.ts";
import { waitingOnNodeClaims } from "../events.ts";
import type { AwsDeps, AwsParts } from "../parts.ts";
import { conditionChanges, type Findings, foundStatus } from "./status.ts";

/** Subnets are looked at again each minute; the other answers are cached as long. */
const REFRESH_MS = 60_000;
/** Claims that go wake us; this is for a change we missed. */
const WAIT_FOR_CLAIMS_MS = 600_000;

export function nodeClassController(deps: AwsDeps, parts: AwsParts): Controller {
  return {
    name: "nodeclass",
    concurrency: 10,
    watches: [
      source(EC2_NODE_CLASS),
      source(NODE_CLAIM, (claim, event) => {
        const ref = claim.spec.nodeClassRef;
        if (event !== "removed" || ref.kind !== EC2_NODE_CLASS.kind) return [];
        return [{ kind: EC2_NODE_CLASS.kind, name: ref.name }];
      }),
    ],
    reconcile: async ({ name }) => {
      const nodeClass = deps.mirrors.of(EC2_NODE_CLASS).get(name);
      if (nodeClass === undefined) return AWAIT_CHANGE;
      return nodeClass.metadata.deletionTimestamp === undefined
        ? follow(deps, parts, nodeClass)
        : finish(deps, parts, nodeClass);
    },
  };
}

async function follow(deps: AwsDeps, parts: AwsParts, native: EC2NodeClass): Promise<Outcome> {
  const held = await addFinalizer(
    deps.kube,
    EC2_NODE_CLASS,
    native,
    EC2NODECLASS_TERMINATION_FINALIZER,
  );
  if (held === undefined) return AWAIT_CHANGE;
  const nodeClass = toAwsClass(held);
  const findings = await find(parts, held);
  const nowMs = deps.clock.now();
  const annotated: EC2NodeClass = {
    ...held,
    kind: EC2_NODE_CLASS.kind,
    metadata: {
      ...held.metadata,
      annotations: { ...held.metadata.annotations, ...hashAnnotations(nodeClass) },
    },
    status: foundStatus(held.status, findings),
  };
  const after = withConditionChanges(
    initializeConditions(annotated, nowMs),
    conditionChanges(held, findings),
    nowMs,
  );
  await patchObject(deps.kube, EC2_NODE_CLASS, held, after);
  const failed = Object.values(findings).filter((part) => part instanceof Error);
  if (failed.length > 0) {
    throw new ResolutionError(`resolving ec2nodeclass, ${failed.map(describeError).join("; ")}`, {
      cause: failed[0],
    });
  }
  return requeueAfter(REFRESH_MS);
}

async function find(parts: AwsParts, native: EC2NodeClass): Promise<Findings> {
  const nodeClass = toAwsClass(native);
  const [subnets, securityGroups, amis, instanceProfile] = await Promise.all([
    orError(parts.subnets.list(nodeClass)),
    orError(parts.securityGroups.list(nodeClass)),
    orError(parts.amis.list(nodeClass)),
    orError(parts.profiles.ensure(nodeClass)),
  ]);
  return { subnets, securityGroups, amis, instanceProfile };
}

async function orError<T>(promise: Promise<T>): Promise<T | Error> {
  try {
    return await promise;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

async function finish(deps: AwsDeps, parts: AwsParts, native: EC2NodeClass): Promise<Outcome> {
  if (!hasFinalizer(native, EC2NODECLASS_TERMINATION_FINALIZER)) return AWAIT_CHANGE;
  const claims = deps.mirrors
    .of(NODE_CLAIM)
    .list()
    .filter(({ spec: { nodeClassRef: ref } }) => {
      return ref.kind === EC2_NODE_CLASS.kind && ref.name === native.metadata.name;
    })
    .map((claim) => claim.metadata.name);
  if (claims.length > 0) {
    deps.events.publish(waitingOnNodeClaims(native, claims));
    return requeueAfter(WAIT_FOR_CLAIMS_MS);
  }
  const nodeClass = toAwsClass(native);
  if (nodeClass.role !== undefined) await parts.profiles.delete(nodeClass);
  await parts.templates.deleteOf(nodeClass.name);
  await removeFinalizer(deps.kube, EC2_NODE_CLASS, native, EC2NODECLASS_TERMINATION_FINALIZER);
  return AWAIT_CHANGE;
}
