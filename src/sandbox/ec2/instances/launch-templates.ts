/** Launch templates and their versions, and how a launch finds one. */

import { AwsError } from "../../../providers/aws/api/call.ts";
import type { Ec2Api } from "../../../providers/aws/api/ec2.ts";
import type {
  CreateLaunchTemplateInput,
  LaunchTemplate,
  LaunchTemplateData,
} from "../../../providers/aws/api/launches.ts";
import { applyFilters, pageOf } from "../account/filters.ts";
import type { Answers, AwsState, LaunchTemplateRecord } from "../account/state.ts";
import { awsTime, newId, setTags, tagsOf } from "../account/state.ts";
import { checkTagKeys, tagsFor } from "../account/tags.ts";

type LaunchTemplateCalls = Pick<
  Answers<Ec2Api>,
  "createLaunchTemplate" | "describeLaunchTemplates" | "deleteLaunchTemplate"
>;

const FILTERS: ReadonlySet<string> = new Set([
  "launch-template-id",
  "launch-template-name",
  "create-time",
]);

/** EC2's limit for user data, before base64. */
const MAX_USER_DATA_BYTES = 16_384;

/** A reference to a template by name or by id. */
export interface TemplateReference {
  readonly LaunchTemplateName?: string;
  readonly LaunchTemplateId?: string;
}

/** The launch template calls. */
export function launchTemplateCalls(state: AwsState): LaunchTemplateCalls {
  return {
    createLaunchTemplate: (input) => ({ LaunchTemplate: create(state, input) }),
    describeLaunchTemplates(input) {
      const named = input.LaunchTemplateNames ?? [];
      const byId = input.LaunchTemplateIds ?? [];
      const wanted =
        named.length + byId.length === 0
          ? [...state.launchTemplates.values()]
          : [
              ...byId.map((id) => findTemplate(state, { LaunchTemplateId: id })),
              ...named.map((name) => findTemplate(state, { LaunchTemplateName: name })),
            ];
      const kept = applyFilters(wanted, input.Filters, FILTERS, (record) => ({
        tags: state.tags.get(record.id),
        fields: {
          "launch-template-id": record.id,
          "launch-template-name": record.name,
          "create-time": awsTime(record.createdMs),
        },
      }));
      const page = pageOf(kept, input, { limit: 200 });
      return {
        LaunchTemplates: page.items.map((record) => toLaunchTemplate(state, record)),
        ...page.next,
      };
    },
    deleteLaunchTemplate(input) {
      const record = findTemplate(state, input);
      state.launchTemplates.delete(record.id);
      state.launchTemplateIdByName.delete(record.name);
      const LaunchTemplate = toLaunchTemplate(state, record);
      state.tags.delete(record.id);
      return { LaunchTemplate };
    },
  };
}

function create(state: AwsState, input: CreateLaunchTemplateInput): LaunchTemplate {
  const name = input.LaunchTemplateName;
  if (name === undefined || name === "") {
    throw new AwsError(
      "MissingParameter",
      "The request must contain the parameter LaunchTemplateName",
    );
  }
  if (!/^[a-zA-Z0-9().\-/_]{3,128}$/.test(name)) {
    throw new AwsError(
      "InvalidLaunchTemplateName.MalformedException",
      `The launch template name '${name}' is malformed: 3 to 128 letters, digits and ().-/_`,
    );
  }
  if (state.launchTemplateIdByName.has(name)) {
    throw new AwsError(
      "InvalidLaunchTemplateName.AlreadyExistsException",
      "Launch template name already in use.",
    );
  }
  const data = input.LaunchTemplateData;
  if (data === undefined) {
    throw new AwsError(
      "MissingParameter",
      "The request must contain the parameter LaunchTemplateData",
    );
  }
  checkUserData(data);
  const tags = tagsFor(input.TagSpecifications, "launch-template");
  checkTagKeys(tags);
  for (const specification of data.TagSpecifications ?? []) checkTagKeys(specification.Tags);
  const record: LaunchTemplateRecord = {
    id: newId(state, "lt"),
    name,
    createdMs: state.clock.now(),
    versions: [data],
  };
  state.launchTemplates.set(record.id, record);
  state.launchTemplateIdByName.set(name, record.id);
  setTags(state, record.id, tags);
  return toLaunchTemplate(state, record);
}

function checkUserData(data: LaunchTemplateData): void {
  if (data.UserData === undefined) return;
  if (!/^[A-Za-z0-9+/\s]*={0,2}\s*$/.test(data.UserData)) {
    throw new AwsError("InvalidUserData.Malformed", "Invalid BASE64 encoding of user data.");
  }
  if (Buffer.byteLength(data.UserData, "base64") > MAX_USER_DATA_BYTES) {
    throw new AwsError(
      "InvalidParameterValue",
      `User data is limited to ${MAX_USER_DATA_BYTES} bytes`,
    );
  }
}

/** The template that the reference names. Throws EC2's error if there is none. */
export function findTemplate(state: AwsState, reference: TemplateReference): LaunchTemplateRecord {
  const { LaunchTemplateId: id, LaunchTemplateName: name } = reference;
  if (id !== undefined && name !== undefined) {
    throw new AwsError(
      "InvalidParameterCombination",
      "Either LaunchTemplateId or LaunchTemplateName may be given, not both",
    );
  }
  if (id !== undefined) {
    const record = state.launchTemplates.get(id);
    if (record !== undefined && isTold(state, record)) return record;
    throw new AwsError(
      "InvalidLaunchTemplateId.NotFound",
      `The specified launch template, with template ID ${id}, does not exist.`,
    );
  }
  if (name === undefined) {
    throw new AwsError(
      "MissingParameter",
      "Either LaunchTemplateId or LaunchTemplateName must be given",
    );
  }
  const found = state.launchTemplates.get(state.launchTemplateIdByName.get(name) ?? "");
  if (found !== undefined && isTold(state, found)) return found;
  throw new AwsError(
    "InvalidLaunchTemplateName.NotFoundException",
    `At least one of the launch templates specified in the request does not exist: ${name}`,
  );
}

function isTold({ faults, clock }: AwsState, { createdMs }: LaunchTemplateRecord): boolean {
  return faults.isTold(createdMs, clock.now());
}

/** The data and the number of a version. `version` is `$Latest`, `$Default` (version 1) or a number. */
export function resolveVersion(
  record: LaunchTemplateRecord,
  version: string | undefined,
): { readonly data: LaunchTemplateData; readonly number: number } {
  const latest = record.versions.length;
  const number =
    version === "$Latest" ? latest : Number((version ?? "$Default") === "$Default" ? 1 : version);
  const data = record.versions[number - 1];
  if (data === undefined) {
    throw new AwsError(
      "InvalidLaunchTemplateId.VersionNotFound",
      `Could not find launch template version '${version}' for launch template with ID '${record.id}'.`,
    );
  }
  return { data, number };
}

function toLaunchTemplate(state: AwsState, record: LaunchTemplateRecord): LaunchTemplate {
  return {
    LaunchTemplateId: record.id,
    LaunchTemplateName: record.name,
    CreateTime: awsTime(record.createdMs),
    DefaultVersionNumber: 1,
    LatestVersionNumber: record.versions.length,
    Tags: tagsOf(state, record.id),
  };
}
