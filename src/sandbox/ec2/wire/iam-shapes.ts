/** IAM's and STS's query protocol as tables; the notation is that of `ec2-shapes.ts`. */
import { compileShapes } from "./shape.ts";

// Both services spell members the same in requests and responses.
const asIs = (name: string): string => name;

/** Requests by form keys; lists are `Tags.member.1.Key`. */
export const IAM_REQUESTS = compileShapes(
  `
GetInstanceProfileRequest: InstanceProfileName
CreateInstanceProfileRequest: InstanceProfileName Path Tags:[Tag]
TagInstanceProfileRequest: InstanceProfileName Tags:[Tag]
AddRoleToInstanceProfileRequest: InstanceProfileName RoleName
RemoveRoleFromInstanceProfileRequest: InstanceProfileName RoleName
DeleteInstanceProfileRequest: InstanceProfileName
GetRoleRequest: RoleName
DeleteRoleRequest: RoleName
ListRolesRequest: PathPrefix MaxItems:n
ListInstanceProfilesRequest: PathPrefix Marker MaxItems:n
ListInstanceProfilesForRoleRequest: RoleName MaxItems:n
GetCallerIdentityRequest:
AssumeRoleWithWebIdentityRequest: RoleArn RoleSessionName WebIdentityToken
Tag: Key Value
`,
  asIs,
);

/** Responses by XML elements; list items are `member`. */
export const IAM_RESPONSES = compileShapes(
  `
GetInstanceProfileResult: InstanceProfile:InstanceProfile
CreateInstanceProfileResult: InstanceProfile:InstanceProfile
TagInstanceProfileResult:
AddRoleToInstanceProfileResult:
RemoveRoleFromInstanceProfileResult:
DeleteInstanceProfileResult:
GetRoleResult: Role:Role
DeleteRoleResult:
ListRolesResult: Roles:[Role] IsTruncated:b
ListInstanceProfilesResult: InstanceProfiles:[InstanceProfile] IsTruncated:b
ListInstanceProfilesForRoleResult: InstanceProfiles:[InstanceProfile] IsTruncated:b
GetCallerIdentityResult: Account Arn UserId
AssumeRoleWithWebIdentityResult: Credentials:Credentials AssumedRoleUser:AssumedRoleUser
Credentials: AccessKeyId SecretAccessKey SessionToken Expiration:t
AssumedRoleUser: AssumedRoleId Arn
InstanceProfile: Path InstanceProfileName InstanceProfileId Arn CreateDate:t Roles:[Role] Tags:[Tag]
Role: Path RoleName Arn CreateDate:t
Tag: Key Value
`,
  asIs,
);
