/**
 * The status of a class as data: what its selectors matched, and the conditions that follow. Pure. Texts and reasons
 * are upstream's.
 * upstream: pkg/controllers/nodeclass
 */
import type { EC2NodeClass, EC2NodeClassStatus } from "../../../apis/aws/ec2nodeclass.ts";
import { type ConditionChange, condition } from "../../../apis/karpenter/conditions.ts";
import { NODEPOOL_LABEL_KEY } from "../../../apis/karpenter/labels.ts";
import type { Condition } from "../../../apis/meta.ts";
import type { Ami } from "../ami/choose.ts";
import type { SecurityGroup, Subnet } from "../api/network.ts";
import { describeError, isNotFound } from "../errors.ts";
import type { FoundPlacementGroup } from "../placementgroup/placement-groups.ts";
import type { Reservation } from "../reservation/reservations.ts";
import { EKS_CLUSTER_TAG, NODECLAIM_TAG, NODECLASS_TAG } from "../tags/tags.ts";

const RESOLUTION_FAILED = "ResolutionFailed";
const DEPENDENCIES_NOT_READY = "DependenciesNotReady";

/** What was found for a class. A part that could not be read is an Error, and its old status stays. */
export interface Findings {
  readonly subnets: readonly Subnet[] | Error;
  readonly securityGroups: readonly SecurityGroup[] | Error;
  readonly amis: readonly Ami[] | Error;
  readonly instanceProfile: string | Error;
  readonly reservations: readonly Reservation[] | Error;
  /** The placement group of the class. Undefined: it does not exist, or the class selects none. */
  readonly placementGroup: FoundPlacementGroup | undefined | Error;
  /** Why the family has no images for this Kubernetes version. */
  readonly noImages?: string;
}

/** The subnets as `status.subnets` lists them, in the given order. */
export function subnetStatus(
  subnets: readonly Subnet[],
): NonNullable<EC2NodeClassStatus["subnets"]> {
  return subnets.map(({ SubnetId, AvailabilityZone, AvailabilityZoneId }) => ({
    id: SubnetId,
    zone: AvailabilityZone,
    ...(AvailabilityZoneId === undefined ? {} : { zoneID: AvailabilityZoneId }),
  }));
}

/** The security groups as `status.securityGroups` lists them, in the given order. */
export function securityGroupStatus(
  groups: readonly SecurityGroup[],
): NonNullable<EC2NodeClassStatus["securityGroups"]> {
  return groups.map(({ GroupId, GroupName }) => ({ id: GroupId, name: GroupName }));
}

/** The images as `status.amis` lists them, with requirements that say which instance types they fit. */
export function amiStatus(amis: readonly Ami[]): NonNullable<EC2NodeClassStatus["amis"]> {
  return amis.map(({ id, name, deprecated, requirements }) => ({
    id,
    name,
    ...(deprecated ? { deprecated } : {}),
    requirements,
  }));
}

function reservationStatus(
  reservations: readonly Reservation[],
): NonNullable<EC2NodeClassStatus["capacityReservations"]> {
  return reservations.map((one) => ({
    id: one.id,
    availabilityZone: one.zone,
    instanceType: one.instanceType,
    instanceMatchCriteria: one.matchCriteria,
    ownerID: one.ownerId,
    reservationType: one.type,
    interruptible: one.interruptible,
    state: one.state,
    ...(one.endTime === undefined ? {} : { endTime: one.endTime }),
  }));
}

/** The status fields other than conditions. A part that failed or found nothing keeps its old value, or has none. */
export function foundStatus(
  before: EC2NodeClassStatus | undefined,
  findings: Findings,
): EC2NodeClassStatus {
  const { subnets, securityGroups, amis, instanceProfile } = findings;
  const result: Record<string, unknown> = { ...before };
  const put = (key: string, value: unknown): void => {
    if (value instanceof Error) return;
    if (Array.isArray(value) && value.length === 0) delete result[key];
    else result[key] = value;
  };
  put("subnets", subnets instanceof Error ? subnets : subnetStatus(subnets));
  put(
    "securityGroups",
    securityGroups instanceof Error ? securityGroups : securityGroupStatus(securityGroups),
  );
  put("amis", amis instanceof Error ? amis : amiStatus(amis));
  put("instanceProfile", instanceProfile);
  const { reservations } = findings;
  put(
    "capacityReservations",
    reservations instanceof Error ? reservations : reservationStatus(reservations),
  );
  return result;
}

/**
 * Conditions in upstream's order. A part that could not be read keeps its condition. If it has none yet, the condition
 * says why it is unknown.
 */
export function conditionChanges(
  nodeClass: EC2NodeClass,
  findings: Findings,
): readonly ConditionChange[] {
  const changes: ConditionChange[] = [];
  const list = (
    type: string,
    found: readonly unknown[] | Error,
    reason: string,
    message: string,
  ): void => {
    if (found instanceof Error) changes.push(...unread(nodeClass, type, found));
    else if (found.length > 0) changes.push({ type, status: "True" });
    else changes.push({ type, status: "False", reason, message });
  };
  const { spec } = nodeClass;
  const { noImages } = findings;
  const byAlias = spec.amiSelectorTerms?.some((term) => term.alias !== undefined) === true;
  // If SSM has images nevertheless, as in the sandbox, they are used.
  if (noImages !== undefined && byAlias)
    list("AMIsReady", findings.amis, "UnsupportedAlias", noImages);
  else
    list(
      "AMIsReady",
      findings.amis,
      "AMINotFound",
      `AMISelector did not match any AMIs: ${termsOf(spec, "amiSelectorTerms", "mend the terms, or make images for this Kubernetes version that match them, visible to this account")}`,
    );
  list(
    "SubnetsReady",
    findings.subnets,
    "SubnetsNotFound",
    `SubnetSelector did not match any Subnets: ${termsOf(spec, "subnetSelectorTerms", "mend the terms, or tag subnets so")}`,
  );
  list(
    "SecurityGroupsReady",
    findings.securityGroups,
    "SecurityGroupsNotFound",
    `SecurityGroupSelector did not match any SecurityGroups: ${termsOf(spec, "securityGroupSelectorTerms", "mend the terms, or tag security groups so")}`,
  );
  changes.push(...profile(nodeClass, findings.instanceProfile));
  changes.push(...setAside(nodeClass, findings));
  return [...changes, validation(nodeClass, changes)];
}

/** The messages of conditions that are wrong now and were not `before`. They say what to do. Empty: there are none. */
export function newlyWrong(before: EC2NodeClass, now: EC2NodeClass): string {
  const known = new Set(wrongConditions(before).map(verdict));
  return wrongConditions(now)
    .filter((one) => !known.has(verdict(one)))
    .map(({ type, message }) => `${type}: ${message}`)
    .sort()
    .join("; ");
}

function wrongConditions({ status }: EC2NodeClass): readonly Condition[] {
  return (status?.conditions ?? []).filter((one) => {
    if (one.type === "Ready" || one.reason === DEPENDENCIES_NOT_READY) return false;
    return one.status === "False" || (one.status === "Unknown" && one.reason === RESOLUTION_FAILED);
  });
}

function verdict({ type, status, reason, message }: Condition): string {
  return [type, status, reason, message].join(" ");
}

/** Whether the message of the condition is AWS's, because a resource could not be read. */
export function isInAwsWords({ reason }: ConditionChange): boolean {
  return reason?.endsWith(RESOLUTION_FAILED) === true;
}

/** The end of the message that a selector matches nothing: its terms and what to do, which upstream does not say. */
function termsOf(
  spec: EC2NodeClass["spec"],
  field:
    | "amiSelectorTerms"
    | "subnetSelectorTerms"
    | "securityGroupSelectorTerms"
    | "placementGroupSelector",
  remedy: string,
): string {
  // In v1beta1 a class without amiSelectorTerms uses the images of its amiFamily.
  const byFamily = field === "amiSelectorTerms" && (spec.amiSelectorTerms ?? []).length === 0;
  const asked = byFamily ? "amiFamily" : field;
  return `spec.${asked} is ${JSON.stringify(spec[asked] ?? [])}; ${remedy}`;
}

/** The condition InstanceProfileReady. With a missing role nodes never join, so a person must create the role. */
function profile(nodeClass: EC2NodeClass, found: string | Error): readonly ConditionChange[] {
  const type = "InstanceProfileReady";
  if (!(found instanceof Error)) return [ok(type)];
  if (!isNotFound(found)) return unread(nodeClass, type, found);
  const { role = "" } = nodeClass.spec;
  const message = `role ${JSON.stringify(role)} does not exist (${describeError(found)}): create it, or name another in spec.role`;
  return [{ type, status: "False", reason: "RoleNotFound", message }];
}

function setAside(nodeClass: EC2NodeClass, findings: Findings): readonly ConditionChange[] {
  const { placementGroup, reservations } = findings;
  const selector = nodeClass.spec.placementGroupSelector;
  const group = "PlacementGroupReady";
  const missing: ConditionChange = {
    type: group,
    status: "False",
    reason: "PlacementGroupNotFound",
    message: `PlacementGroupSelector did not match any Placement Group: ${termsOf(nodeClass.spec, "placementGroupSelector", "name one that is available in this region, or create it")}`,
  };
  const failed = placementGroup instanceof Error ? placementGroup : undefined;
  return [
    ...(failed !== undefined
      ? [
          {
            type: group,
            status: "False" as const,
            reason: "PlacementGroupResolutionFailed",
            message: describeError(failed),
          },
        ]
      : [selector !== undefined && placementGroup === undefined ? missing : ok(group)]),
    ...(reservations instanceof Error
      ? unread(nodeClass, "CapacityReservationsReady", reservations)
      : [ok("CapacityReservationsReady")]),
  ];
}

function ok(type: string): ConditionChange {
  return { type, status: "True" };
}

function unread(nodeClass: EC2NodeClass, type: string, error: Error): readonly ConditionChange[] {
  const known = condition(nodeClass, type);
  if (known !== undefined && known.status !== "Unknown") return [];
  return [{ type, status: "Unknown", reason: RESOLUTION_FAILED, message: describeError(error) }];
}

const RESTRICTED_TAGS: readonly RegExp[] = [
  /^kubernetes\.io\/cluster\/[0-9A-Za-z][A-Za-z0-9\-_]*$/,
  exact(NODEPOOL_LABEL_KEY),
  exact(EKS_CLUSTER_TAG),
  exact(NODECLASS_TAG),
  exact(NODECLAIM_TAG),
  // AWS reserves these keys and refuses a launch with one.
  /^aws:/i,
];

function exact(key: string): RegExp {
  return new RegExp(`^${key.replaceAll(".", "\\.")}$`);
}

const RESOLVED = ["AMIsReady", "SubnetsReady", "SecurityGroupsReady", "InstanceProfileReady"];

/** The condition ValidationSucceeded. For a part that could not be read now, the earlier condition counts. */
function validation(nodeClass: EC2NodeClass, changes: readonly ConditionChange[]): ConditionChange {
  const type = "ValidationSucceeded";
  const statuses = RESOLVED.map((one) => {
    const now = changes.find((change) => change.type === one) ?? condition(nodeClass, one);
    return now?.status ?? "Unknown";
  });
  const open = ["False" as const, "Unknown" as const].find((status) => statuses.includes(status));
  if (open !== undefined) {
    const message = "Awaiting AMI, Instance Profile, Security Group, and Subnet resolution";
    return { type, status: open, reason: DEPENDENCIES_NOT_READY, message };
  }
  for (const key of Object.keys(nodeClass.spec.tags ?? {}).sort()) {
    const pattern = RESTRICTED_TAGS.find((restricted) => restricted.test(key));
    if (pattern === undefined) continue;
    const message = `"${key}" tag does not pass tag validation requirements: spec.tags may not hold ${pattern}; remove the key`;
    return { type, status: "False", reason: "TagValidationFailed", message };
  }
  return { type, status: "True" };
}
