/** IAM roles and instance profiles, the description of the EKS cluster, and the calls of STS. */

import { AwsError } from "../../../providers/aws/api/call.ts";
import type { EksApi } from "../../../providers/aws/api/eks.ts";
import type { IamApi, InstanceProfile, Role } from "../../../providers/aws/api/iam.ts";
import type { StsApi } from "../../../providers/aws/api/sts.ts";
import type { Answers, AwsState, ProfileRecord, RoleRecord } from "./state.ts";
import { awsTime, tagList } from "./state.ts";

/** Calls that only people make, with the AWS CLI. */
interface MoreIamCalls {
  getRole(input: { readonly RoleName: string }): { readonly Role: Role };
  deleteRole(input: { readonly RoleName: string }): void;
  listRoles(input: Below): { readonly Roles: readonly Role[] };
  listInstanceProfilesForRole(input: { readonly RoleName: string }): Profiles;
}

interface Below {
  readonly PathPrefix?: string;
}

interface Profiles {
  readonly InstanceProfiles: readonly InstanceProfile[];
  readonly IsTruncated: boolean;
}

/** The simulated IAM calls. */
export function iamCalls(state: AwsState): Answers<IamApi> & MoreIamCalls {
  return {
    getInstanceProfile: (input) => ({
      InstanceProfile: toProfile(state, profileNamed(state, input.InstanceProfileName)),
    }),
    createInstanceProfile(input) {
      const name = input.InstanceProfileName;
      if (!/^[\w+=,.@-]{1,128}$/.test(name ?? "")) {
        throw new AwsError(
          "ValidationError",
          `The specified value for instanceProfileName is invalid: ${JSON.stringify(name)}`,
        );
      }
      if (state.profiles.has(name)) {
        throw new AwsError("EntityAlreadyExists", `Instance Profile ${name} already exists.`, 409);
      }
      const record: ProfileRecord = {
        name,
        path: input.Path ?? "/",
        id: `AIPA${state.random.hex(16).toUpperCase()}`,
        createdMs: state.clock.now(),
        tags: new Map((input.Tags ?? []).map((tag) => [tag.Key, tag.Value])),
        role: undefined,
      };
      state.profiles.set(name, record);
      return { InstanceProfile: toProfile(state, record) };
    },
    tagInstanceProfile(input) {
      const record = profileNamed(state, input.InstanceProfileName);
      for (const tag of input.Tags) record.tags.set(tag.Key, tag.Value);
    },
    addRoleToInstanceProfile(input) {
      const record = profileNamed(state, input.InstanceProfileName);
      roleNamed(state, input.RoleName);
      if (record.role !== undefined) {
        throw new AwsError(
          "LimitExceeded",
          "Cannot exceed quota for InstanceSessionsPerInstanceProfile: 1",
          409,
        );
      }
      record.role = input.RoleName;
    },
    removeRoleFromInstanceProfile(input) {
      const record = profileNamed(state, input.InstanceProfileName);
      if (record.role !== input.RoleName) throw noRole(input.RoleName);
      record.role = undefined;
    },
    deleteInstanceProfile(input) {
      const record = profileNamed(state, input.InstanceProfileName);
      if (record.role !== undefined) throw stillInProfile();
      state.profiles.delete(record.name);
    },
    getRole: (input) => ({ Role: toRole(state, roleNamed(state, input.RoleName)) }),
    deleteRole({ RoleName }) {
      roleNamed(state, RoleName);
      if ([...state.profiles.values()].some((one) => one.role === RoleName)) throw stillInProfile();
      state.roles.delete(RoleName);
    },
    ...listingCalls(state),
  };
}

function listingCalls(
  state: AwsState,
): Pick<
  Answers<IamApi> & MoreIamCalls,
  "listRoles" | "listInstanceProfiles" | "listInstanceProfilesForRole"
> {
  return {
    listRoles: ({ PathPrefix = "/" }) => ({
      Roles: [...state.roles.values()]
        .filter((one) => one.path.startsWith(PathPrefix))
        .map((one) => toRole(state, one)),
      IsTruncated: false,
    }),
    // Karpenter always sends the prefix; people may leave it out.
    listInstanceProfiles: ({ PathPrefix = "/" }: Below) =>
      profilesWhere(state, (one) => one.path.startsWith(PathPrefix)),
    listInstanceProfilesForRole({ RoleName }) {
      roleNamed(state, RoleName);
      return profilesWhere(state, (one) => one.role === RoleName);
    },
  };
}

function profilesWhere(state: AwsState, isWanted: (one: ProfileRecord) => boolean): Profiles {
  const found = [...state.profiles.values()].filter(isWanted);
  return { InstanceProfiles: found.map((one) => toProfile(state, one)), IsTruncated: false };
}

function profileNamed(state: AwsState, name: string): ProfileRecord {
  const record = state.profiles.get(name);
  if (record !== undefined) return record;
  throw new AwsError("NoSuchEntity", `Instance Profile ${name} cannot be found.`, 404);
}

function roleNamed(state: AwsState, name: string): RoleRecord {
  const record = state.roles.get(name);
  if (record === undefined) throw noRole(name);
  return record;
}

function stillInProfile(): AwsError {
  const message = "Cannot delete entity, must remove roles from instance profile first.";
  return new AwsError("DeleteConflict", message, 409);
}

function noRole(name: string): AwsError {
  return new AwsError("NoSuchEntity", `The role with name ${name} cannot be found.`, 404);
}

function toRole(state: AwsState, record: RoleRecord): Role {
  return {
    RoleName: record.name,
    Path: record.path,
    Arn: `arn:aws:iam::${state.accountId}:role${record.path}${record.name}`,
    CreateDate: awsTime(record.createdMs),
  };
}

function toProfile(state: AwsState, record: ProfileRecord): InstanceProfile {
  const role = record.role === undefined ? undefined : state.roles.get(record.role);
  return {
    InstanceProfileName: record.name,
    InstanceProfileId: record.id,
    Path: record.path,
    Arn: `arn:aws:iam::${state.accountId}:instance-profile${record.path}${record.name}`,
    CreateDate: awsTime(record.createdMs),
    Roles: role === undefined ? [] : [toRole(state, role)],
    Tags: tagList(record.tags),
  };
}

/** The simulated calls DescribeCluster, and ListClusters, which only people use. */
export function eksCalls(
  state: AwsState,
): Answers<EksApi> & { listClusters(): { readonly clusters: readonly string[] } } {
  return {
    listClusters: () => ({ clusters: [state.cluster.name] }),
    describeCluster(input) {
      if (input.name !== state.cluster.name) {
        throw new AwsError(
          "ResourceNotFoundException",
          `No cluster found for name: ${input.name}.`,
          404,
        );
      }
      return { cluster: state.cluster };
    },
  };
}

/** The simulated STS call GetCallerIdentity. */
export function stsCalls(state: AwsState): Answers<StsApi> {
  return {
    getCallerIdentity: () => ({
      Account: state.accountId,
      Arn: `arn:aws:sts::${state.accountId}:assumed-role/KarpenterControllerRole-${state.clusterName}/karpenter`,
      UserId: "AROASIMULATEDKARPENTER:karpenter",
    }),
  };
}

const SESSION_MS = 3_600_000;

/** AssumeRoleWithWebIdentity, by which a pod's service account gets a role. Every token is accepted. */
export function webIdentityCalls(state: AwsState) {
  return {
    assumeRoleWithWebIdentity(input: {
      readonly RoleArn: string;
      readonly RoleSessionName: string;
      readonly WebIdentityToken: string;
    }) {
      const prefix = `arn:aws:iam::${state.accountId}:role/`;
      if (!input.RoleArn.startsWith(prefix)) {
        const message = `Not authorized to perform sts:AssumeRoleWithWebIdentity on ${input.RoleArn}`;
        throw new AwsError("AccessDenied", message, 403);
      }
      const session = `${input.RoleArn.slice(prefix.length)}/${input.RoleSessionName}`;
      return {
        Credentials: {
          AccessKeyId: "ASIASIMULATEDKARPENTER",
          SecretAccessKey: "simulated",
          SessionToken: "simulated",
          Expiration: awsTime(state.clock.now() + SESSION_MS),
        },
        AssumedRoleUser: {
          AssumedRoleId: `AROASIMULATEDKARPENTER:${input.RoleSessionName}`,
          Arn: `arn:aws:sts::${state.accountId}:assumed-role/${session}`,
        },
      };
    },
  };
}
