/**
 * Whether a launched instance still matches its node class: first by the hash of the static fields, then by what the
 * selectors match now. Pure; the first reason found is returned.
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
import type { InstanceType } from "../../core/cloudprovider/instance-type.ts";
import { type Ami, amiFor } from "./ami/choose.ts";
import type { Instance } from "./api/instances.ts";
import type { SecurityGroup, Subnet } from "./api/network.ts";
import type { FoundPlacementGroup } from "./placementgroup/placement-groups.ts";
import type { Reservation } from "./reservation/reservations.ts";

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

/**
 * The drift reason if image, subnet, security groups or reservation no longer match; undefined if they do.
 * upstream: pkg/cloudprovider/drift.go.
 */
export function dynamicDrift(input: DriftInput): string | undefined {
  const { claim, type, amis, subnets, securityGroups, instance } = input;
  const { reservations, placementGroup } = input;
  const image = claim.status?.imageID;
  if (type !== undefined && image !== undefined && image !== "" && amis.length > 0) {
    if (amiFor(type, amis)?.id !== image) return "AMIDrift";
  }
  if (instance === undefined) return undefined;
  const has = instance.SecurityGroups.map((group) => group.GroupId).sort();
  const wants = securityGroups.map((group) => group.GroupId).sort();
  if (wants.length > 0 && has.join() !== wants.join()) return "SecurityGroupDrift";
  const inSubnet = subnets.some((subnet) => subnet.SubnetId === instance.SubnetId);
  if (subnets.length > 0 && instance.SubnetId !== undefined && !inSubnet) return "SubnetDrift";
  const reservation = instance.CapacityReservationId;
  if (reservation !== undefined && !reservations.some((one) => one.id === reservation)) {
    return "CapacityReservationDrift";
  }
  const group = claim.metadata.labels?.[LABEL_PLACEMENT_GROUP_ID];
  if (group !== placementGroup?.id) return "PlacementGroupDrift";
  return undefined;
}
