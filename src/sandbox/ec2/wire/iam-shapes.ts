/** The query protocol of IAM and STS as tables, in the notation of `ec2-shapes.ts`. */
import { compileShapes } from "./shape.ts";

// In these services, names of members are the same in requests and responses.
const asIs = (name: string): string => name;

/** Structures of requests, by form keys. Lists are `Tags.member.1.Key`. */
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

/** Structures of responses, by XML elements. Items of lists are `member`. */
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
