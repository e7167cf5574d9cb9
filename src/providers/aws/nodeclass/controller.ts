/**
 * Keeps the status of EC2NodeClasses: subnets, security groups, images, instance profile, and the conditions that make
 * the class Ready. Writes its hash and holds its finalizer. On deletion it waits for the claims of the class, then
 * deletes profile and launch templates. Runs when a class changes and when a claim is deleted.
 */

import { EC2_NODE_CLASS, type EC2NodeClass } from "../../../apis/aws/ec2nodeclass.ts";
import {
  ANNOTATION_EC2NODECLASS_HASH_VERSION,
  EC2NODECLASS_TERMINATION_FINALIZER,
} from "../../../apis/aws/labels.ts";
import { type AwsClass, soundClass } from "../../../apis/hub/aws-class.ts";
import { CLAIM_KINDS, toClaim } from "../../../apis/hub/claim.ts";
import {
  type ConditionChange,
  condition,
  initializeConditions,
  inSteadyWords,
  withConditionChanges,
} from "../../../apis/karpenter/conditions.ts";
import { NODE_CLAIM } from "../../../apis/karpenter/nodeclaim.ts";
import type { KubeObject } from "../../../apis/meta.ts";
import { StandingProblems } from "../../../base/standing-problems.ts";
import { ContestedChanges } from "../../../kube/client/contested-changes.ts";
import { addFinalizer, hasFinalizer, removeFinalizer } from "../../../kube/client/finalizer.ts";
import { patchObject } from "../../../kube/client/patch-object.ts";
import { tryEach } from "../../../kube/errors.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  requeueAfter,
  source,
} from "../../../kube/manager/controller.ts";
import { unsupportedFamily } from "../ami/families.ts";
import { hashAnnotations } from "../drift.ts";
import { describeError, isNotFound, ResolutionError } from "../errors.ts";
import {
  deletionFailed,
  nodeClassNotReady,
  waitingOnInstances,
  waitingOnNodeClaims,
} from "../events.ts";
import type { AwsDeps, AwsParts } from "../parts.ts";
import { nodeClassOf } from "./class-source.ts";
import { specProblem } from "./spec-check.ts";
import {
  conditionChanges,
  type Findings,
  foundStatus,
  isInAwsWords,
  newlyWrong,
} from "./status.ts";
import type { TrialRefusal } from "./trials.ts";

/**
 * Interval of reading subnets, security groups, images and so on again. Each of these has a cache with a time of
 * its own.
 */
const REFRESH_MS = 60_000;
const VALIDATION = "ValidationSucceeded";
/** A deleted claim wakes this controller. This interval is for a change that was missed. */
const WAIT_FOR_CLAIMS_MS = 600_000;
/** Interval of checks for instances without a claim, because no event reports their end. */
const WAIT_FOR_INSTANCES_MS = 60_000;

/** Keeps status, conditions and finalizer of EC2NodeClasses. */
export function nodeClassController(deps: AwsDeps, parts: AwsParts): Controller {
  const name = "nodeclass";
  const log = deps.log.with({ controller: name });
  const roles = new StandingProblems(log, deps.clock);
  const contested = new ContestedChanges(deps.clock);
  return {
    name,
    concurrency: 10,
    watches: [
      source(EC2_NODE_CLASS),
      ...CLAIM_KINDS.map((kind) =>
        source(kind, (claim, event) => {
          const ref = toClaim(claim).spec.nodeClassRef;
          if (event !== "removed" || ref.kind !== EC2_NODE_CLASS.kind) return [];
          return [{ kind: EC2_NODE_CLASS.kind, name: ref.name }];
        }),
      ),
    ],
    reconcile: async ({ name }) => {
      const nodeClass = deps.mirrors.of(EC2_NODE_CLASS).get(name);
      if (nodeClass === undefined) {
        roles.over(name);
        return AWAIT_CHANGE;
      }
      if (nodeClass.metadata.deletionTimestamp !== undefined) return finish(deps, parts, nodeClass);
      if (!hasFinalizer(nodeClass, EC2NODECLASS_TERMINATION_FINALIZER)) {
        const { waitMs, times } = contested.next(nodeClass);
        if (waitMs > 0) return requeueAfter(waitMs);
        if (times > 1)
          log.warn("another program has taken the finalizer off, putting it on again", {
            EC2NodeClass: { name },
            finalizer: EC2NODECLASS_TERMINATION_FINALIZER,
            times,
          });
      }
      return follow(deps, parts, nodeClass, roles);
    },
  };
}

/** Writes what the selectors of the class find to its status. `roles`: missing roles, by class. */
async function follow(
  deps: AwsDeps,
  parts: AwsParts,
  native: EC2NodeClass,
  roles: StandingProblems,
): Promise<Outcome> {
  const held = await addFinalizer(
    deps.kube,
    EC2_NODE_CLASS,
    native,
    EC2NODECLASS_TERMINATION_FINALIZER,
  );
  if (held === undefined) return AWAIT_CHANGE;
  const nodeClass = nodeClassOf(held);
  const findings = await find(deps, parts, held);
  const trial = await tried(deps, parts, held, findings);
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
  const changes = trial.changes.map((one) => (isInAwsWords(one) ? inSteadyWords(held, one) : one));
  const after = withConditionChanges(initializeConditions(annotated, nowMs), changes, nowMs);
  await restamp(deps, nodeClass);
  await patchObject(deps.kube, EC2_NODE_CLASS, held, after);
  // The event is published once, not at each reconcile. The events of the conditions tell when the class is Ready
  // again.
  const why = newlyWrong(held, after);
  if (why !== "") deps.events.publish(nodeClassNotReady(native, why));
  // A missing role is no failed reconcile, which would be logged each minute: the condition already says what to do.
  const lost = isNotFound(findings.instanceProfile) ? findings.instanceProfile : undefined;
  const { name } = native.metadata;
  if (lost === undefined) roles.over(name);
  else {
    const fields = { EC2NodeClass: { name }, error: describeError(lost) };
    roles.tell(name, "role of the class not found", fields);
  }
  const failed = [...Object.values(findings), trial.error].filter(
    (one) => one instanceof Error && one !== lost,
  );
  if (failed.length > 0) {
    throw new ResolutionError(`resolving ec2nodeclass, ${failed.map(describeError).join("; ")}`, {
      cause: failed[0],
    });
  }
  return requeueAfter(REFRESH_MS);
}

/** The conditions from these findings. If all are good, dry runs add whether AWS would allow a launch. */
async function tried(
  deps: AwsDeps,
  parts: AwsParts,
  native: EC2NodeClass,
  findings: Findings,
): Promise<{ readonly changes: readonly ConditionChange[]; readonly error?: Error }> {
  const changes = conditionChanges(soundClass(native).value, findings);
  const at = changes.findIndex((one) => one.type === VALIDATION);
  const nodeClass = nodeClassOf(native);
  const resolved = changes[at]?.status === "True";
  const problem = await orError(problemOf(deps, parts, nodeClass, resolved));
  // The dry run gave no result: the old condition stays, and the check is repeated.
  if (problem instanceof Error) return { changes: changes.toSpliced(at, 1), error: problem };
  if (problem !== undefined)
    return { changes: changes.with(at, { type: VALIDATION, status: "False", ...problem }) };
  if (!resolved || deps.settings.disableDryRun === true) return { changes };
  const { subnets, securityGroups, amis, instanceProfile } = findings;
  if (
    subnets instanceof Error ||
    securityGroups instanceof Error ||
    amis instanceof Error ||
    instanceProfile instanceof Error
  ) {
    return { changes };
  }
  const verdict = await orError(
    parts.trials.of({ nodeClass, subnets, securityGroups, amis, instanceProfile }),
  );
  if (verdict === undefined) return { changes };
  if (verdict instanceof Error) return { changes: changes.toSpliced(at, 1), error: verdict };
  return { changes: changes.with(at, { type: VALIDATION, status: "False", ...verdict }) };
}

/** The first fault in the class: in its fields, or, once everything it selects was found, for an instance type. */
async function problemOf(
  deps: AwsDeps,
  parts: AwsParts,
  nodeClass: AwsClass,
  resolved: boolean,
): Promise<TrialRefusal | undefined> {
  if (nodeClass.unreadable !== undefined)
    return { reason: "SpecUnreadable", message: nodeClass.unreadable };
  const problem = await specProblem(deps, parts, nodeClass);
  if (problem !== undefined || !resolved) return problem;
  const text = await parts.instanceTypes.expressionProblem(nodeClass);
  if (text === undefined) return undefined;
  return { reason: "KubeletExpressionEvaluationFailed", message: `spec.kubelet.${text}` };
}

/**
 * Another version of the product computes other hashes. Its claims get the new hash, so that an upgrade alone is no
 * drift. A claim that had drifted before keeps its hash and stays drifted.
 */
async function restamp(deps: AwsDeps, nodeClass: AwsClass): Promise<void> {
  const wanted = hashAnnotations(nodeClass);
  const version = wanted[ANNOTATION_EC2NODECLASS_HASH_VERSION] as string;
  const claims = deps.mirrors.of(NODE_CLAIM).list();
  await tryEach(claims, async (claim) => {
    const { nodeClassRef } = toClaim(claim).spec;
    if (nodeClassRef.kind !== EC2_NODE_CLASS.kind || nodeClassRef.name !== nodeClass.name) return;
    const own = claim.metadata.annotations ?? {};
    const stamped = own[ANNOTATION_EC2NODECLASS_HASH_VERSION];
    if (stamped === undefined || stamped === version) return;
    const drifted = condition(claim, "Drifted")?.status === "True";
    const annotations = {
      ...own,
      [ANNOTATION_EC2NODECLASS_HASH_VERSION]: version,
      ...(drifted ? {} : wanted),
    };
    const after = { ...claim, metadata: { ...claim.metadata, annotations } };
    await patchObject(deps.kube, NODE_CLAIM, claim, after);
  });
}

/** Claims of every generation that name the class, by name. */
function claimsOf(deps: AwsDeps, className: string): readonly KubeObject[] {
  return CLAIM_KINDS.flatMap((kind) => deps.mirrors.of(kind).list() as readonly KubeObject[])
    .filter((claim) => names(claim, className))
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}

function names(claim: KubeObject, className: string): boolean {
  const ref = toClaim(claim).spec.nodeClassRef;
  return ref.kind === EC2_NODE_CLASS.kind && ref.name === className;
}

/** NodeClaims as the API server lists them now. Machines (v1alpha5) never name an EC2NodeClass. */
async function listClaims({ kube }: AwsDeps): Promise<readonly KubeObject[]> {
  return (await kube.list(NODE_CLAIM)).items;
}

async function find(deps: AwsDeps, parts: AwsParts, native: EC2NodeClass): Promise<Findings> {
  const nodeClass = nodeClassOf(native);
  const { reservedCapacity = true } = deps.settings;
  const [subnets, securityGroups, amis, instanceProfile, reservations, placementGroup, version] =
    await Promise.all([
      orError(parts.subnets.list(nodeClass)),
      orError(parts.securityGroups.list(nodeClass)),
      orError(parts.amis.list(nodeClass)),
      orError(parts.profiles.ensure(nodeClass)),
      orError(reservedCapacity ? parts.reservations.list(nodeClass) : Promise.resolve([])),
      orError(parts.placementGroups.find(nodeClass)),
      orError(parts.facts.kubernetesVersion()),
    ]);
  const found = { subnets, securityGroups, amis, instanceProfile, reservations, placementGroup };
  const noImages =
    typeof version === "string" ? unsupportedFamily(nodeClass.amiFamily, version) : undefined;
  return noImages === undefined ? found : { ...found, noImages };
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
  const claims = claimsOf(deps, native.metadata.name).map((claim) => claim.metadata.name);
  if (claims.length > 0) {
    deps.events.publish(waitingOnNodeClaims(native, claims));
    return requeueAfter(WAIT_FOR_CLAIMS_MS);
  }
  // Running nodes need the role of the profile, and a mirror does not prove that no claim is left.
  const left = (await listClaims(deps)).filter((claim) => names(claim, native.metadata.name));
  if (left.length > 0) return requeueAfter(WAIT_FOR_CLAIMS_MS);
  const nodeClass = nodeClassOf(native);
  try {
    const users = nodeClass.role === undefined ? [] : await parts.profiles.delete(nodeClass);
    if (users.length > 0) {
      deps.events.publish(waitingOnInstances(native, users));
      return requeueAfter(WAIT_FOR_INSTANCES_MS);
    }
    await parts.templates.deleteOf(nodeClass.name);
  } catch (error) {
    deps.events.publish(deletionFailed(native, describeError(error)));
    throw error;
  }
  deps.metrics.forget("ec2nodeclasses_userdata_bytes", { nodeclass: nodeClass.name });
  await removeFinalizer(deps.kube, EC2_NODE_CLASS, native, EC2NODECLASS_TERMINATION_FINALIZER);
  return AWAIT_CHANGE;
}
