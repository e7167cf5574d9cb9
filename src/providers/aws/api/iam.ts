/** The calls of IAM: roles and instance profiles. */
import type { Tag } from "./call.ts";

export interface Role {
  readonly RoleName: string;
  readonly Arn: string;
  readonly Path?: string;
  readonly CreateDate?: string;
}

export interface InstanceProfile {
  readonly InstanceProfileName: string;
  readonly Arn: string;
  readonly Path?: string;
  readonly InstanceProfileId?: string;
  readonly CreateDate?: string;
  readonly Roles: readonly Role[];
  readonly Tags?: readonly Tag[];
}

export interface GetInstanceProfileInput {
  readonly InstanceProfileName: string;
}

export interface InstanceProfileOutput {
  readonly InstanceProfile: InstanceProfile;
}

export interface CreateInstanceProfileInput {
  readonly InstanceProfileName: string;
  readonly Path?: string;
  readonly Tags?: readonly Tag[];
}

export interface TagInstanceProfileInput {
  readonly InstanceProfileName: string;
  readonly Tags: readonly Tag[];
}

export interface InstanceProfileRoleInput {
  readonly InstanceProfileName: string;
  readonly RoleName: string;
}

export interface DeleteInstanceProfileInput {
  readonly InstanceProfileName: string;
}

export interface ListInstanceProfilesInput {
  readonly PathPrefix: string;
  readonly Marker?: string;
}

/** IAM pages by its own words. */
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
