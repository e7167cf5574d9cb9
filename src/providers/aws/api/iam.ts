/** The calls of IAM: roles and instance profiles. */
import type { Tag } from "./call.ts";

/** A role. `RoleName` does not contain the path of the role; `Arn` does. */
export interface Role {
  readonly RoleName: string;
  readonly Arn: string;
  readonly Path?: string;
  readonly CreateDate?: string;
}

/** An instance profile. It holds at most one role. */
export interface InstanceProfile {
  readonly InstanceProfileName: string;
  readonly Arn: string;
  readonly Path?: string;
  readonly InstanceProfileId?: string;
  readonly CreateDate?: string;
  readonly Roles: readonly Role[];
  readonly Tags?: readonly Tag[];
}

/** The profile to read. The call rejects with NoSuchEntity if it does not exist. */
export interface GetInstanceProfileInput {
  readonly InstanceProfileName: string;
}

/** Answer of the calls about one instance profile. */
export interface InstanceProfileOutput {
  readonly InstanceProfile: InstanceProfile;
}

/** The profile to create. The call rejects with EntityAlreadyExists if the name is in use. */
export interface CreateInstanceProfileInput {
  readonly InstanceProfileName: string;
  readonly Path?: string;
  readonly Tags?: readonly Tag[];
}

/** Adds tags or overwrites their values. */
export interface TagInstanceProfileInput {
  readonly InstanceProfileName: string;
  readonly Tags: readonly Tag[];
}

/** Input of adding a role to a profile and of removing one. */
export interface InstanceProfileRoleInput {
  readonly InstanceProfileName: string;
  readonly RoleName: string;
}

/** The profile to delete. The call rejects with DeleteConflict if the profile still has a role. */
export interface DeleteInstanceProfileInput {
  readonly InstanceProfileName: string;
}

/** Which profiles to list. IAM pages with `Marker` instead of `NextToken`. */
export interface ListInstanceProfilesInput {
  readonly PathPrefix: string;
  readonly Marker?: string;
}

/** A page of profiles. IAM pages with `IsTruncated` and `Marker` instead of `NextToken`. */
export interface ListInstanceProfilesOutput {
  readonly InstanceProfiles: readonly InstanceProfile[];
  readonly IsTruncated?: boolean;
  readonly Marker?: string;
}

/**
 * The IAM calls that are used. They reject with `NoSuchEntity` if a name does not exist, and with `EntityAlreadyExists`
 * if a new name exists already.
 */
export interface IamApi {
  getInstanceProfile(input: GetInstanceProfileInput): Promise<InstanceProfileOutput>;
  listInstanceProfiles(input: ListInstanceProfilesInput): Promise<ListInstanceProfilesOutput>;
  createInstanceProfile(input: CreateInstanceProfileInput): Promise<InstanceProfileOutput>;
  tagInstanceProfile(input: TagInstanceProfileInput): Promise<void>;
  addRoleToInstanceProfile(input: InstanceProfileRoleInput): Promise<void>;
  removeRoleFromInstanceProfile(input: InstanceProfileRoleInput): Promise<void>;
  deleteInstanceProfile(input: DeleteInstanceProfileInput): Promise<void>;
}
