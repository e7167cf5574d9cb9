/** Resolves a node class for a launch: whether it may be used, and what its selectors match now. */
import type { AwsClass } from "../../../apis/hub/aws-class.ts";
import { condition } from "../../../apis/karpenter/conditions.ts";
import type { NodeClaim } from "../../../apis/karpenter/nodeclaim.ts";
import {
  CreateError,
  InsufficientCapacityError,
  NodeClassNotReadyError,
} from "../../../core/cloudprovider/errors.ts";
import type { InstanceType } from "../../../core/cloudprovider/instance-type.ts";
import type { Ami } from "../ami/choose.ts";
import type { SecurityGroup, Subnet } from "../api/network.ts";
import { describeError, ResolutionError } from "../errors.ts";
import { nodeClassNotFound } from "../events.ts";
import type { InstanceTypes } from "../instancetype/instance-types.ts";
import type { AwsDeps, AwsParts, AwsSettings } from "../parts.ts";
import type { FoundPlacementGroup } from "../placementgroup/placement-groups.ts";
import type { Reservation } from "../reservation/reservations.ts";
import { type FoundClass, notFoundText } from "./class-source.ts";

/** What the selectors of a class match now. */
export interface Resolved {
  readonly subnets: readonly Subnet[];
  readonly securityGroups: readonly SecurityGroup[];
  readonly amis: readonly Ami[];
  readonly reservations: readonly Reservation[];
  readonly placementGroup: FoundPlacementGroup | undefined;
}

/** A placeholder for the image of a launch template that the class names itself. Nothing is known about this image. */
const TEMPLATE_IMAGE: Ami = {
  id: "",
  name: "",
  creationDate: "",
  deprecated: false,
  requirements: [],
};
const TEMPLATE_IMAGES: readonly Ami[] = [TEMPLATE_IMAGE];

/** Finds what the selectors of the class match now. Rejects, with upstream's message, if a selector matches nothing. */
async function resolve(
  parts: AwsParts,
  nodeClass: AwsClass,
  reservedCapacity: boolean,
): Promise<Resolved> {
  const unmanaged = nodeClass.launchTemplateName !== undefined;
  const [subnets, securityGroups, amis, reservations, placementGroup] = await Promise.all([
    parts.subnets.list(nodeClass),
    unmanaged ? [] : parts.securityGroups.list(nodeClass),
    unmanaged ? TEMPLATE_IMAGES : parts.amis.list(nodeClass),
    reservedCapacity ? parts.reservations.list(nodeClass) : [],
    parts.placementGroups.find(nodeClass),
  ]);
  const terms = (list: readonly unknown[]): string => JSON.stringify(list);
  if (subnets.length === 0) {
    throw new ResolutionError(`no subnets exist given constraints ${terms(nodeClass.subnetTerms)}`);
  }
  if (securityGroups.length === 0 && !unmanaged) {
    throw new ResolutionError(
      `no security groups exist given constraints ${terms(nodeClass.securityGroupTerms)}`,
    );
  }
  if (amis.length === 0) {
    const asked = nodeClass.amiTerms.length === 0 ? [nodeClass.amiFamily] : nodeClass.amiTerms;
    throw new ResolutionError(`no amis exist given constraints ${terms(asked)}`);
  }
  if (placementGroup === undefined && nodeClass.placementGroup !== undefined) {
    throw new ResolutionError(
      `no placement group exists given constraints ${JSON.stringify(nodeClass.placementGroup)}`,
    );
  }
  return { subnets, securityGroups, amis, reservations, placementGroup };
}

/** What the selectors of the class match now, and the instance types that follow. */
export async function typesOf(
  { reservedCapacity = true }: AwsSettings,
  parts: AwsParts,
  nodeClass: AwsClass,
  kubelet: Parameters<InstanceTypes["list"]>[1],
): Promise<{ resolved: Resolved; types: readonly InstanceType[] }> {
  const resolved = await resolve(parts, nodeClass, reservedCapacity);
  const types = await parts.instanceTypes.list(nodeClass, kubelet ?? nodeClass.kubelet, resolved);
  return { resolved, types };
}

/** The class if launches may use it, or the error that says why not. */
export function readyClass(
  { events }: AwsDeps,
  found: FoundClass | undefined,
  claim: NodeClaim,
): FoundClass {
  if (found === undefined || found.nodeClass.deleting) {
    const why =
      found === undefined
        ? notFoundText(claim.spec.nodeClassRef)
        : `${found.nodeClass.id} is being deleted`;
    events.publish(nodeClassNotFound(claim));
    throw new InsufficientCapacityError(`resolving node class, ${why}`);
  }
  const ready = condition(found.native, "Ready");
  if (!found.nodeClass.id.startsWith("ec2nodeclass/")) return found;
  const current = ready?.observedGeneration === found.nodeClass.observedGeneration;
  if (ready?.status === "False" || (ready !== undefined && !current)) {
    const why = current ? ready.message : "its status is older than its spec";
    throw new NodeClassNotReadyError(`NodeClass ${found.nodeClass.name} is not ready: ${why}`);
  }
  if (ready?.status !== "True") {
    const message = "NodeClass is in Ready=Unknown";
    throw new CreateError("resolving NodeClass readiness, NodeClass is in Ready=Unknown", {
      reason: "NodeClassReadinessUnknown",
      message: ready?.message === undefined ? message : `${message}, ${ready.message}`,
    });
  }
  return found;
}

/** The error of a launch whose subnets, groups or images could not be found. */
export function resolutionFailed(error: unknown): Error {
  const text = describeError(error);
  return new CreateError(
    `resolving instance types: ${text}`,
    { reason: "InstanceTypeResolutionFailed", message: `Error resolving instance types: ${text}` },
    error,
  );
}
