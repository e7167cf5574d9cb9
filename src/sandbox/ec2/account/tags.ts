/** The call CreateTags, and EC2's rules for tags. */
import type { Tag } from "../../../providers/aws/api/call.ts";
import { AwsError } from "../../../providers/aws/api/call.ts";
import type { Ec2Api } from "../../../providers/aws/api/ec2.ts";
import type { TagSpecification } from "../../../providers/aws/api/launches.ts";
import type { Answers, AwsState } from "./state.ts";
import { setTags } from "./state.ts";

const MAX_TAGS = 50;

/** The simulated EC2 call CreateTags. */
export function tagCalls(state: AwsState): Pick<Answers<Ec2Api>, "createTags"> {
  return {
    createTags(input) {
      checkTagKeys(input.Tags);
      for (const id of input.Resources) checkResource(state, id);
      for (const id of input.Resources) {
        const after = new Set([...(state.tags.get(id)?.keys() ?? [])].filter(isUsers));
        for (const tag of input.Tags) after.add(tag.Key);
        if (after.size > MAX_TAGS) {
          throw new AwsError(
            "TagLimitExceeded",
            `More than ${MAX_TAGS} tags specified for resource ${id}`,
          );
        }
      }
      for (const id of input.Resources) setTags(state, id, input.Tags);
    },
  };
}

function isUsers(key: string): boolean {
  return !key.startsWith("aws:");
}

/** Throws for keys and values that EC2 rejects. */
export function checkTagKeys(tags: readonly Tag[]): void {
  for (const { Key, Value } of tags) {
    if (Key === undefined || Key === "" || Key.length > 127) {
      throw new AwsError(
        "InvalidParameterValue",
        "Tag keys must be between 1 and 127 characters long.",
      );
    }
    if (!isUsers(Key.toLowerCase())) {
      throw new AwsError(
        "InvalidParameterValue",
        `Tag keys starting with 'aws:' are reserved for internal use: ${Key}`,
      );
    }
    if (Value !== undefined && Value.length > 255) {
      throw new AwsError(
        "InvalidParameterValue",
        `Tag value of ${Key} exceeds the maximum length of 255 characters.`,
      );
    }
  }
}

/** The resource types by id prefix, with the error for an id that does not exist. */
const RESOURCES: readonly (readonly [prefix: string, type: string, code: string])[] = [
  ["i-", "instance", "InvalidInstanceID.NotFound"],
  ["vol-", "volume", "InvalidVolume.NotFound"],
  ["subnet-", "subnet", "InvalidSubnetID.NotFound"],
  ["sg-", "security-group", "InvalidGroup.NotFound"],
  ["ami-", "image", "InvalidAMIID.NotFound"],
  ["lt-", "launch-template", "InvalidLaunchTemplateId.NotFound"],
  ["fleet-", "fleet", "InvalidFleetId.NotFound"],
  ["eni-", "network-interface", "InvalidNetworkInterfaceID.NotFound"],
  ["vpc-", "vpc", "InvalidVpcID.NotFound"],
  ["sir-", "spot-instances-request", "InvalidSpotInstanceRequestID.NotFound"],
];

/** EC2's name for the type of resource that an id belongs to. */
export function resourceTypeOf(id: string): string | undefined {
  return RESOURCES.find(([prefix]) => id.startsWith(prefix))?.[1];
}

function checkResource(state: AwsState, id: string): void {
  const resource = RESOURCES.find(([prefix]) => id.startsWith(prefix));
  if (resource === undefined) {
    throw new AwsError("InvalidID", `The ID '${id}' is not valid`);
  }
  if (exists(state, id)) return;
  throw new AwsError(resource[2], `The ${resource[1]} ID '${id}' does not exist`);
}

function exists(state: AwsState, id: string): boolean {
  return (
    state.instances.has(id) ||
    state.volumes.has(id) ||
    state.subnets.has(id) ||
    state.securityGroups.has(id) ||
    state.images.has(id) ||
    state.launchTemplates.has(id) ||
    state.fleets.has(id) ||
    id === state.vpcId ||
    // Network interfaces and spot requests have no records here, only tags. So they exist as long as they
    // have tags.
    state.tags.has(id)
  );
}

/** The tags for one type of resource in these specifications. A later specification wins. */
export function tagsFor(
  specifications: readonly TagSpecification[] | undefined,
  resourceType: string,
): Tag[] {
  const merged = new Map<string, string>();
  for (const specification of specifications ?? []) {
    if (specification.ResourceType !== resourceType) continue;
    for (const tag of specification.Tags) merged.set(tag.Key, tag.Value ?? "");
  }
  return [...merged].map(([Key, Value]) => ({ Key, Value }));
}
