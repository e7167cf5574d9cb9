/**
 * Whether a running instance is what a launch of a claim would create now. Then the claim gets this instance
 * instead of a new one. Pure. In doubt the answer is no, which costs at most a second instance. User data cannot be
 * compared, so the instance may have the user data that the class had some minutes before.
 */
import { CAPACITY_TYPE_LABEL_KEY } from "../../../apis/karpenter/labels.ts";
import { amiFor } from "../ami/choose.ts";
import type { Instance } from "../api/instances.ts";
import { fromTagList, launchTags, type TagSettings } from "../tags/tags.ts";
import { candidates } from "./candidates.ts";
import { asksForEnclaves, efaCount, type LaunchInput, offeringOf, tenancyOf } from "./launch.ts";
import { instanceClaim, type Launched } from "./to-claim.ts";

/** What the launch of the instance resulted in. Undefined: a launch now would create another kind of instance. */
export function launchedBefore(
  instance: Instance,
  input: LaunchInput,
  settings: TagSettings,
): Launched | undefined {
  const { claim, nodeClass, amis } = input;
  if (isSpecial(instance, input) || !isTaggedFor(instance, input, settings)) return undefined;
  const zone = instance.Placement.AvailabilityZone;
  const found = candidates(claim, input.types, new Set([zone]));
  const type = found?.types.find((one) => one.type.name === instance.InstanceType)?.type;
  if (found === undefined || type === undefined || efaCount(claim, type) > 0) return undefined;
  const tenancy = tenancyOf(claim, nodeClass);
  const isSame =
    found.capacityType === instanceClaim(instance, "").metadata.labels?.[CAPACITY_TYPE_LABEL_KEY] &&
    amiFor(type, amis)?.id === instance.ImageId &&
    (tenancy ?? "default") === (instance.Placement.Tenancy ?? "default") &&
    isConnectedAs(instance, input);
  if (!isSame) return undefined;
  const { InstanceId: instanceId, ImageId: imageId } = instance;
  const { capacityType } = found;
  const offering = offeringOf(found, type, zone);
  const where = { tenancy, placement: undefined };
  return { instanceId, type, zone, capacityType, offering, ...where, imageId, efaCount: 0 };
}

/**
 * Whether the launch or the instance has something that is rare or cannot be compared. Then the claim gets a new
 * instance.
 */
function isSpecial(instance: Instance, { claim, nodeClass, placementGroup }: LaunchInput): boolean {
  return (
    nodeClass.launchTemplateName !== undefined ||
    placementGroup !== undefined ||
    instance.Placement.GroupId !== undefined ||
    instance.CapacityReservationId !== undefined ||
    !["pending", "running"].includes(instance.State.Name) ||
    nodeClass.enclaves ||
    asksForEnclaves(claim)
  );
}

/** Whether the instance has the tags of this class, pool and cluster. */
function isTaggedFor(
  { Tags }: Instance,
  { claim, nodeClass }: LaunchInput,
  settings: TagSettings,
): boolean {
  const has = fromTagList(Tags);
  return Object.entries(launchTags(nodeClass, claim, settings)).every(
    ([key, value]) => has[key] === value,
  );
}

function isConnectedAs(
  { SecurityGroups, SubnetId, IamInstanceProfile }: Instance,
  { securityGroups, subnets, instanceProfile }: LaunchInput,
): boolean {
  const ids = (groups: readonly { readonly GroupId: string }[]): string =>
    groups
      .map(({ GroupId }) => GroupId)
      .sort()
      .join();
  return (
    ids(SecurityGroups) === ids(securityGroups) &&
    subnets.some((subnet) => subnet.SubnetId === SubnetId) &&
    IamInstanceProfile?.Arn.split("/").at(-1) === instanceProfile
  );
}
