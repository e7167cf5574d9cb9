/** The calls of IAM: roles and instance profiles. */
import type { Tag } from "./call.ts";

/** A role. `RoleName` does not contain the path of the role; `Arn` does. */
export interface Role {
  readonly RoleName: string;
  readonly Arn: string;
  readonly Path?: string;
  readonly CreateDate?: string;
}

/** It holds at most one role. */
export interface InstanceProfile {
  readonly InstanceProfileName: string;
  readonly Arn: string;
  readonly Path?: string;
  readonly InstanceProfileId?: string;
  readonly CreateDate?: string;
  readonly Roles: readonly Role[];
  readonly Tags?: readonly Tag[];
}

/** Unknown names reject with NoSuchEntity. */
export interface GetInstanceProfileInput {
  readonly InstanceProfileName: string;
}

/** Answer of the calls about one instance profile. */
export interface InstanceProfileOutput {
  readonly InstanceProfile: InstanceProfile;
}

/** A name in use rejects with EntityAlreadyExists. */
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

/** A profile that still has a role rejects with DeleteConflict. */
export interface DeleteInstanceProfileInput {
  readonly InstanceProfileName: string;
}

/** IAM pages with `Marker` instead of NextToken. */
export interface ListInstanceProfilesInput {
  readonly PathPrefix: string;
  readonly Marker?: string;
}

/** IAM pages with `IsTruncated` and `Marker` instead of NextToken. */
export interface ListInstanceProfilesOutput {
  readonly InstanceProfiles: readonly InstanceProfile[];
  readonly IsTruncated?: boolean;
  readonly Marker?: string;
}

/** Unknown names reject with `NoSuchEntity`, existing ones with `EntityAlreadyExists`. */
export interface IamApi {
  getInstanceProfile(input: GetInstanceProfileInput): Promise<InstanceProfileOutput>;
  listInstanceProfiles(input: ListInstanceProfilesInput): Promise<ListInstanceProfilesOutput>;
  createInstanceProfile(input: CreateInstanceProfileInput): Promise<InstanceProfileOutput>;
  tagInstanceProfile(input: TagInstanceProfileInput): Promise<void>;
  addRoleToInstanceProfile(input: InstanceProfileRoleInput): Promise<void>;
  removeRoleFromInstanceProfile(input: InstanceProfileRoleInput): Promise<void>;
  deleteInstanceProfile(input: DeleteInstanceProfileInput): Promise<void>;
}
