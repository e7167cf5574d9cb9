/**
 * Classifies AWS's error codes: not found, exists, throttled, no capacity. Also words the reason and message of a
 * failed launch for the claim's condition Launched.
 * upstream: pkg/errors
 */
import { errorText } from "../../base/error-text.ts";
import { AwsError } from "./api/call.ts";
import type { FleetError } from "./api/launches.ts";

const NOT_FOUND: ReadonlySet<string> = new Set([
  "InvalidCapacityReservationId.NotFound",
  "InvalidInstanceID.NotFound",
  "InvalidLaunchTemplateName.NotFoundException",
  "InvalidLaunchTemplateId.NotFound",
  "QueueDoesNotExist",
  "NoSuchEntity",
  "ParameterNotFound",
]);

/** Codes of fleet errors that mean that the offering has no capacity now. */
const CAPACITY: ReadonlySet<string> = new Set([
  "InsufficientInstanceCapacity",
  "MaxSpotInstanceCountExceeded",
  "VcpuLimitExceeded",
  "UnfulfillableCapacity",
  "Unsupported",
  "InsufficientFreeAddressesInSubnet",
  "MaxFleetCountExceeded",
  "ReservationCapacityExceeded",
  "SpotMaxPriceTooLow",
  "InvalidCapacityReservationState.Unavailable",
]);

/** The user data of a class cannot be merged with Karpenter's. The text names the field and the remedy. */
export class UserDataError extends Error {
  override readonly name = "UserDataError";
}

/** Something that a launch needs does not exist or could not be read. */
export class ResolutionError extends Error {
  override readonly name = "ResolutionError";
}

/** The account has no service-linked role for spot, and the controller may not create it. */
export const SPOT_ROLE_ERROR = "AuthFailure.ServiceLinkedRoleCreationNotPermitted";

/** Whether the resource does not exist. Each AWS service has its own code for this. */
export function isNotFound(error: unknown): boolean {
  return error instanceof AwsError && NOT_FOUND.has(error.code);
}

const TOO_OFTEN: ReadonlySet<string> = new Set([
  "RequestLimitExceeded",
  "Throttling",
  "ThrottlingException",
  "RequestThrottled",
  "TooManyRequestsException",
]);

/** Whether AWS received too many requests: the same call may succeed later. */
export function isThrottled(error: unknown): boolean {
  return error instanceof AwsError && TOO_OFTEN.has(error.code);
}

/** Whether AWS is busy or unreachable: the same call may succeed later. */
export function isPassing(error: unknown): boolean {
  // A call that this process aborted says nothing about AWS.
  if (!(error instanceof AwsError) || error.code === "AbortError") return false;
  return isThrottled(error) || error.status === 0 || error.status >= 500;
}

/** Whether the name is already in use. */
export function isAlreadyExists(error: unknown): boolean {
  return (
    error instanceof AwsError &&
    (error.code === "EntityAlreadyExists" ||
      error.code === "InvalidLaunchTemplateName.AlreadyExistsException")
  );
}

/** Whether the launch template was deleted between its creation and the fleet call. */
export function isLaunchTemplateNotFound(code: string): boolean {
  return code.startsWith("InvalidLaunchTemplate") && code.includes("NotFound");
}

/**
 * Whether EC2 has no capacity for the offering now.
 * upstream: pkg/errors/errors.go
 */
export function isCapacityCode(code: string): boolean {
  return CAPACITY.has(code);
}

/** Whether another offering may still work: the error is about capacity, or about the missing role for spot. */
export function isInsufficientCapacity(error: FleetError): boolean {
  return isCapacityCode(error.ErrorCode) || error.ErrorCode === SPOT_ROLE_ERROR;
}

/** The reason for each pattern of `code: message`. The first match is used. upstream: ToReasonMessage */
const REASONS: readonly (readonly [RegExp, string, string])[] = [
  [
    /ServiceLinkedRoleCreationNotPermitted/,
    "SpotSLRCreationFailed",
    "User does not have sufficient permission to create the Spot service-linked role to launch spot instances",
  ],
  [
    /Not authorized for images/,
    "AMIAuthorizationFailure",
    "The image is not shared with this account",
  ],
  [
    /RequestTimeTooSkewed|SignatureDoesNotMatch|InvalidSignatureException|not able to validate the provided access credentials/,
    "CredentialsInvalid",
    "AWS does not accept how the controller's calls are signed: its clock is minutes off, or its secret key is wrong",
  ],
  [
    /(UnauthorizedOperation|AccessDenied|AuthFailure).*permissions boundary/s,
    "Unauthorized",
    "User is not authorized to perform this operation due to a permission boundary",
  ],
  [
    /(UnauthorizedOperation|AccessDenied|AuthFailure).*service control policy/s,
    "Unauthorized",
    "User is not authorized to perform this operation due to a service control policy",
  ],
  [
    /UnauthorizedOperation|AccessDenied|AuthFailure/,
    "Unauthorized",
    "User is not authorized to perform this operation because no identity-based policy allows it",
  ],
  [
    /Expired ?Token|RequestExpired|InvalidClientTokenId|UnrecognizedClient|CredentialsProviderError/,
    "CredentialsInvalid",
    "AWS does not accept the controller's credentials: they have expired or are unknown; check the role of its service account",
  ],
  [
    /InvalidParameter.*belong to different networks/s,
    "SecurityGroupSubnetVPCMismatch",
    "Security groups and subnets belong to different networks",
  ],
  [
    /iamInstanceProfile\.name is invalid/,
    "InstanceProfileNameInvalid",
    "Instance profile name used from EC2NodeClass status does not exist",
  ],
  [
    /InvalidLaunchTemplateId\.NotFound|InvalidLaunchTemplateName\.NotFoundException/,
    "LaunchTemplateNotFound",
    "Launch template used for instance launch wasn't found",
  ],
  [/User data is limited to/, "UserDataSizeLimitExceeded", "User data is larger than EC2 allows"],
  [/InvalidAMIID\.Malformed/, "InvalidAMIID", "AMI used for instance launch is invalid"],
  [/InvalidAMIID\.NotFound/, "AMINotFound", "AMI used for instance launch does not exist"],
  [/RequestLimitExceeded/, "RequestLimitExceeded", "Request limit exceeded"],
  [/InternalError/, "InternalError", "An internal error has occurred"],
  [
    /not eligible for Free Tier/,
    "FreeTierIneligible",
    "The instance type is not eligible for the account's Free Tier",
  ],
  [/MaxFleetCountExceeded/, "FleetQuotaExceeded", "Fleet quota exceeded"],
  [/PendingVerification/, "AccountPendingVerification", "The account is pending verification"],
  [/MaxSpotInstanceCountExceeded/, "SpotQuotaExceeded", "Spot instance quota exceeded"],
  [/VcpuLimitExceeded/, "VCPULimitExceeded", "vCPU quota exceeded"],
  [
    /InsufficientFreeAddressesInSubnet/,
    "InsufficientFreeAddressesInSubnet",
    "There are not enough free IP addresses to launch instances in this subnet",
  ],
];

/** The condition reason and message of a launch that failed with this text. */
export function launchFailure(text: string): { reason: string; message: string } {
  for (const [pattern, reason, message] of REASONS) {
    if (pattern.test(text)) return { reason, message };
  }
  return { reason: "LaunchFailed", message: `Error creating instance: ${text}` };
}

/** EC2 encodes the details of a refusal. The encoded text differs at each call, so it is removed. */
const ENCODED_REFUSAL = /\s*Encoded authorization failure message: (\S+)/;

/** The part of AWS's refusal that `aws sts decode-authorization-message` can decode. */
export function encodedRefusal(message: string): string | undefined {
  return ENCODED_REFUSAL.exec(message)?.[1];
}

/** AWS's code and message, without the encoded part. */
export function describeRefusal(code: string, message: string): string {
  return `${code}: ${message.replace(ENCODED_REFUSAL, "")}`;
}

/** One line for a condition or event, without request ids, which change with every call. */
export function describeError(error: unknown): string {
  if (error instanceof AwsError) return describeRefusal(error.code, error.message);
  return errorText(error);
}
