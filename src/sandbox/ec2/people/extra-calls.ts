/**
 * Calls that people make with the AWS CLI and Karpenter never makes: show tags, volumes, launch template
 * versions and the region, and remove tags.
 */
import type { Filter, Tag } from "../../../providers/aws/api/call.ts";
import { AwsError } from "../../../providers/aws/api/call.ts";
import type { PageRequest } from "../account/filters.ts";
import { applyFilters, pageOf } from "../account/filters.ts";
import type { AwsState, VolumeRecord } from "../account/state.ts";
import { awsTime, tagsOf } from "../account/state.ts";
import { resourceTypeOf } from "../account/tags.ts";
import type { TemplateReference } from "../instances/launch-templates.ts";
import { findTemplate, resolveVersion } from "../instances/launch-templates.ts";
import { pick } from "../instances/network.ts";

interface Described extends PageRequest {
  readonly Filters?: readonly Filter[];
}

interface VersionsInput extends TemplateReference {
  readonly Versions?: readonly string[];
}

const TAG_FILTERS: ReadonlySet<string> = new Set(["key", "value", "resource-id", "resource-type"]);
const VOLUME_FILTERS: ReadonlySet<string> = new Set([
  "volume-id",
  "attachment.instance-id",
  "availability-zone",
  "volume-type",
  "size",
]);

/** The calls by method name. */
export function extraCalls(state: AwsState): Readonly<Record<string, (input: never) => unknown>> {
  return {
    describeTags: (input: Described) => describeTags(state, input),
    describeVolumes(input: Described & { readonly VolumeIds?: readonly string[] }) {
      const wanted = pick(state.volumes, input.VolumeIds, "InvalidVolume.NotFound", "volume");
      const kept = applyFilters(wanted, input.Filters, VOLUME_FILTERS, (volume) => ({
        tags: state.tags.get(volume.id),
        fields: {
          "volume-id": volume.id,
          "attachment.instance-id": volume.instanceId,
          "availability-zone": volume.zone,
          "volume-type": volume.type,
          size: String(volume.sizeGib),
        },
      }));
      const page = pageOf(kept, input, { limit: 1000 });
      return { Volumes: page.items.map((volume) => toVolume(state, volume)), ...page.next };
    },
    describeLaunchTemplateVersions(input: VersionsInput) {
      const record = findTemplate(state, input);
      const versions = input.Versions ?? record.versions.map((_, index) => String(index + 1));
      return {
        LaunchTemplateVersions: versions.map((version) => {
          const { data, number } = resolveVersion(record, version);
          return {
            LaunchTemplateId: record.id,
            LaunchTemplateName: record.name,
            VersionNumber: number,
            CreateTime: awsTime(record.createdMs),
            DefaultVersion: number === 1,
            LaunchTemplateData: data,
          };
        }),
      };
    },
    deleteTags(input: { readonly Resources: readonly string[]; readonly Tags?: readonly Tag[] }) {
      for (const id of input.Resources) deleteTags(state, id, input.Tags);
    },
    describeRegions: () => ({
      Regions: [
        {
          RegionName: state.region,
          Endpoint: `ec2.${state.region}.amazonaws.com`,
          OptInStatus: "opt-in-not-required",
        },
      ],
    }),
  };
}

function describeTags(state: AwsState, input: Described): unknown {
  const all = [...state.tags.keys()].sort().flatMap((ResourceId) =>
    tagsOf(state, ResourceId).map((tag) => ({
      ...tag,
      ResourceId,
      ResourceType: resourceTypeOf(ResourceId) ?? "unknown",
    })),
  );
  const kept = applyFilters(all, input.Filters, TAG_FILTERS, (tag) => ({
    tags: new Map([[tag.Key, tag.Value]]),
    fields: {
      key: tag.Key,
      value: tag.Value,
      "resource-id": tag.ResourceId,
      "resource-type": tag.ResourceType,
    },
  }));
  const page = pageOf(kept, input, { limit: 1000 });
  return { Tags: page.items, ...page.next };
}

function toVolume(state: AwsState, volume: VolumeRecord): unknown {
  return {
    VolumeId: volume.id,
    AvailabilityZone: volume.zone,
    Size: volume.sizeGib,
    VolumeType: volume.type,
    Encrypted: volume.encrypted,
    Iops: volume.iops,
    Throughput: volume.throughput,
    State: "in-use",
    CreateTime: awsTime(volume.createdMs),
    Attachments: [
      {
        VolumeId: volume.id,
        InstanceId: volume.instanceId,
        Device: volume.deviceName,
        State: "attached",
        DeleteOnTermination: volume.deleteOnTermination,
      },
    ],
    Tags: tagsOf(state, volume.id),
  };
}

/**
 * Removes tags. A tag without a value in the request is removed whatever its value is. A request without tags
 * removes all user tags.
 */
function deleteTags(state: AwsState, id: string, tags: readonly Partial<Tag>[] | undefined): void {
  const table = state.tags.get(id);
  if (table === undefined) return;
  const doomed: readonly Partial<Tag>[] = tags ?? [...table.keys()].map((Key) => ({ Key }));
  for (const { Key, Value } of doomed) {
    if (Key === undefined) throw new AwsError("MissingParameter", "A tag to delete needs a key");
    if (Key.startsWith("aws:")) continue;
    if (Value === undefined || table.get(Key) === Value) table.delete(Key);
  }
}
