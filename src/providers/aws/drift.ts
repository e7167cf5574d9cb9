/**
 * Whether a launched instance still matches its node class: first by the hash of the static fields, then by what the
 * selectors match now. A list or description of EC2 may be short or wrong. So a difference is drift only if EC2 proves
 * it when it is asked by ID. Pure; the first reason found is returned.
 * upstream: pkg/cloudprovider/drift.go
 */
import {
  ANNOTATION_EC2NODECLASS_HASH,
  ANNOTATION_EC2NODECLASS_HASH_VERSION,
  ANNOTATION_NODETEMPLATE_HASH,
  LABEL_PLACEMENT_GROUP_ID,
} from "../../apis/aws/labels.ts";
import type { AwsClass } from "../../apis/hub/aws-class.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import type { InstanceType } from "../../core/cloudprovider/instance-type.ts";
import { type Ami, amiFor } from "./ami/choose.ts";
import type { Image } from "./api/images-and-types.ts";
import type { Instance } from "./api/instances.ts";
import type { SecurityGroup, Subnet } from "./api/network.ts";
import type { CapacityReservation } from "./api/reservations.ts";
import type { FoundPlacementGroup } from "./placementgroup/placement-groups.ts";
import type { Reservation } from "./reservation/reservations.ts";
import type { Proof } from "./selection/proven-lists.ts";

/**
 * The version of the class hash. Only karpenter-ts uses it, so claims that another product created never count as
 * drifted here.
 */
const CLASS_HASH_VERSION = "ts1";

/** What a claim was launched from, and what its node class requires now. */
export interface DriftInput {
  readonly claim: NodeClaim;
  readonly nodeClass: AwsClass;
  readonly type: InstanceType | undefined;
  readonly amis: readonly Ami[];
  /** IDs of the images that `amis` were chosen from. */
  readonly candidates: ReadonlySet<string>;
  readonly subnets: readonly Subnet[];
  readonly securityGroups: readonly SecurityGroup[];
  readonly instance: Instance | undefined;
  readonly reservations: readonly Reservation[];
  readonly placementGroup: FoundPlacementGroup | undefined;
}

/** Annotations with the hash of the class, for a class or a claim. */
export function hashAnnotations(nodeClass: AwsClass): Readonly<Record<string, string>> {
  return nodeClass.id.startsWith("ec2nodeclass/")
    ? {
        [ANNOTATION_EC2NODECLASS_HASH]: nodeClass.hash,
        [ANNOTATION_EC2NODECLASS_HASH_VERSION]: CLASS_HASH_VERSION,
      }
    : { [ANNOTATION_NODETEMPLATE_HASH]: nodeClass.hash };
}

/** The drift reason if the hash of the node class changed after the claim was created. Undefined: it did not. */
export function staticDrift(claim: NodeClaim, nodeClass: AwsClass): string | undefined {
  const own = claim.metadata.annotations ?? {};
  const expected = hashAnnotations(nodeClass);
  const version = own[ANNOTATION_EC2NODECLASS_HASH_VERSION];
  if (version !== expected[ANNOTATION_EC2NODECLASS_HASH_VERSION]) return undefined;
  for (const key of [ANNOTATION_EC2NODECLASS_HASH, ANNOTATION_NODETEMPLATE_HASH]) {
    if (own[key] === undefined || expected[key] === undefined) continue;
    if (own[key] !== expected[key]) return "NodeClassDrift";
  }
  return undefined;
}

/** The kinds of objects for which EC2 is asked by ID, because a node differs from its class. */
export type ProvenKind = "amis" | "subnets" | "securityGroups" | "reservations";

/** A difference between a node and its class. It is drift only if EC2 proves it. */
export interface NodeDifference {
  readonly reason: "AMIDrift" | "SecurityGroupDrift" | "SubnetDrift" | "CapacityReservationDrift";
  readonly kind: ProvenKind;
  /** IDs that the node has and the class does not select. */
  readonly has: readonly string[];
  /** IDs that the class selects and the node lacks. */
  readonly lacks: readonly string[];
}

/** Facts that were read because of a difference. */
export interface Evidence {
  /** What EC2 proves about each ID of the differences. */
  readonly proofs: Readonly<Record<ProvenKind, Proofs>>;
  /** The instance, as EC2 describes it a second time. */
  readonly again: Instance | undefined;
}

type Proofs = ReadonlyMap<
  string,
  Proof<Partial<Subnet> & Partial<CapacityReservation> & Partial<Image>>
>;

/**
 * How image, security groups, subnet and reservation differ from what the class selects now. Empty lists of images,
 * security groups and subnets are no difference, because the class is not ready then.
 * upstream: pkg/cloudprovider/drift.go.
 */
export function differences(input: DriftInput): readonly NodeDifference[] {
  const { claim, type, amis, subnets, securityGroups, instance, reservations } = input;
  const found: NodeDifference[] = [];
  const image = claim.status?.imageID;
  if (type !== undefined && image !== undefined && image !== "" && amis.length > 0) {
    const wanted = amiFor(type, amis)?.id;
    const lacks = wanted === undefined ? [] : [wanted];
    if (wanted !== image) found.push({ reason: "AMIDrift", kind: "amis", has: [image], lacks });
  }
  if (instance === undefined) return found;
  const has = instance.SecurityGroups.map((group) => group.GroupId).sort();
  const wants = securityGroups.map((group) => group.GroupId).sort();
  if (wants.length > 0 && has.join() !== wants.join())
    found.push({
      reason: "SecurityGroupDrift",
      kind: "securityGroups",
      has: has.filter((id) => !wants.includes(id)),
      lacks: wants.filter((id) => !has.includes(id)),
    });
  const subnet = instance.SubnetId;
  if (subnet !== undefined && subnets.length > 0 && subnets.every((one) => one.SubnetId !== subnet))
    found.push({ reason: "SubnetDrift", kind: "subnets", has: [subnet], lacks: [] });
  const id = instance.CapacityReservationId;
  if (id !== undefined && reservations.every((one) => one.id !== id))
    found.push({
      reason: "CapacityReservationDrift",
      kind: "reservations",
      has: [id],
      lacks: [],
    });
  return found;
}

/**
 * The first difference that is proven. `doubted`: the others before it, of which EC2's answers are missing or
 * contradict each other. `input`: what the class selects after EC2 was asked by ID.
 */
export function provenDrift(
  input: DriftInput,
  evidence: Evidence,
): { readonly reason: string | undefined; readonly doubted: readonly NodeDifference[] } {
  const doubted: NodeDifference[] = [];
  for (const one of differences(input)) {
    if (isProven(one, input, evidence)) return { reason: one.reason, doubted };
    doubted.push(one);
  }
  const group = input.claim.metadata.labels?.[LABEL_PLACEMENT_GROUP_ID];
  const isMoved = input.instance !== undefined && group !== input.placementGroup?.id;
  return { reason: isMoved ? "PlacementGroupDrift" : undefined, doubted };
}

function isProven(one: NodeDifference, input: DriftInput, { proofs, again }: Evidence): boolean {
  const proofOf = (id: string) => proofs[one.kind].get(id);
  if (one.kind === "amis") return isImageProven(one, input, proofs.amis);
  const { instance } = input;
  if (instance === undefined || again === undefined || !isSameDescription(instance, again))
    return false;
  if (one.kind === "securityGroups") {
    // Each instance has at least one group, and all its groups exist.
    const isSound =
      instance.SecurityGroups.length > 0 &&
      one.has.every((id) => ["refused", "selected"].includes(proofOf(id)?.verdict ?? ""));
    const isOut = one.has.some((id) => proofOf(id)?.verdict === "refused");
    return isSound && (isOut || one.lacks.some((id) => proofOf(id)?.verdict === "selected"));
  }
  const zone = instance.Placement.AvailabilityZone;
  // The subnet and the reservation of a running instance exist, and are in its zone.
  return one.has.every((id) => {
    const proof = proofOf(id);
    return (
      proof?.verdict === "refused" &&
      (proof.one?.AvailabilityZone ?? zone) === zone &&
      (proof.one?.InstanceType ?? instance.InstanceType) === instance.InstanceType
    );
  });
}

/**
 * Whether it is proven that the node's image is not the one that its type gets now. If no image fits the type, it must
 * be proven that the class does not select the node's image. A parameter of SSM counts as missing only if SSM says so.
 */
function isImageProven({ has, lacks }: NodeDifference, input: DriftInput, proofs: Proofs): boolean {
  const { candidates } = input;
  const isOut = has.every((id) => {
    const verdict = proofs.get(id)?.verdict;
    if (verdict === "unanswered") return lacks.length > 0 && areNewer(lacks, input, proofs);
    // If the image was no candidate when the newer one was chosen, it might be the better of the two.
    if (verdict === "selected") return candidates.has(id);
    return verdict !== undefined && verdict !== "doubted";
  });
  if (!isOut) return false;
  return lacks.every((id) => proofs.get(id)?.verdict === "selected");
}

/**
 * Whether EC2 describes these images as created after the node. EC2 says nothing about a deregistered image. A newer
 * image then proves that the node's image is not the newest.
 */
function areNewer(images: readonly string[], { claim }: DriftInput, proofs: Proofs): boolean {
  const launchedMs = fromRfc3339(claim.metadata.creationTimestamp);
  return images.every((id) => {
    const madeMs = fromRfc3339(proofs.get(id)?.one?.CreationDate);
    return launchedMs !== undefined && madeMs !== undefined && madeMs > launchedMs;
  });
}

function isSameDescription(a: Instance, b: Instance): boolean {
  const groups = ({ SecurityGroups }: Instance): string =>
    SecurityGroups.map(({ GroupId }) => GroupId)
      .sort()
      .join();
  return (
    groups(a) === groups(b) &&
    a.SubnetId === b.SubnetId &&
    a.CapacityReservationId === b.CapacityReservationId
  );
}
