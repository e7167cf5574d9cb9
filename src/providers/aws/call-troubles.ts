/**
 * Errors of AWS calls that make AWS unusable, each with its explanation and its remedy. Other errors concern one object
 * and are reported on that object.
 */
import type { AwsError } from "./api/call.ts";
import { isPassing } from "./errors.ts";

/** A problem and its remedy, in the words of the troubleshooting page. */
export interface CallTrouble {
  readonly message: string;
  readonly remedy: string;
  /** Whether the problem is reported once for each AWS action, not once for all actions. */
  readonly perAction?: true;
  /** Whether the problem may end without an action of the user. */
  readonly passes?: true;
}

interface Row extends CallTrouble {
  readonly matches: (error: AwsError) => boolean;
}

const ROWS: readonly Row[] = [
  {
    message: "AWS credentials are missing",
    remedy:
      "give the controller's ServiceAccount a role (EKS Pod Identity or IRSA, docs/tasks/aws-account.md), or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    matches: ({ code }) => code === "CredentialsProviderError",
  },
  {
    message: "AWS does not accept the controller's credentials",
    remedy: "renew them, check the role of the ServiceAccount and the clock of the machine",
    matches: ({ code, message }) =>
      /^(Expired ?Token(Exception)?|RequestExpired|InvalidClientTokenId|UnrecognizedClientException|SignatureDoesNotMatch|InvalidSignatureException|RequestTimeTooSkewed)$/.test(
        code,
      ) || /not able to validate the provided access credentials/.test(message),
  },
  {
    message: "AWS forbids a call",
    remedy: "allow the action in the policy of the controller's role (deploy/aws/policies)",
    perAction: true,
    matches: ({ code }) => /^(UnauthorizedOperation|AccessDenied(Exception)?)$/.test(code),
  },
  {
    message: "the interruption queue does not exist",
    remedy:
      "create it (docs/tasks/aws-account.md), name another with --interruption-queue, or leave that empty",
    matches: ({ code }) => code === "QueueDoesNotExist",
  },
  {
    message: "EKS knows no cluster of this name",
    remedy: "set --cluster-name to its name, or --cluster-endpoint where it is not on EKS",
    matches: ({ code, action }) =>
      code === "ResourceNotFoundException" && action === "DescribeCluster",
  },
  {
    message: "AWS does not answer for now, trying again",
    remedy: "nothing if it passes; else check proxies, VPC endpoints and AWS_REGION",
    perAction: true,
    passes: true,
    matches: isPassing,
  },
];

/**
 * The explanation and remedy of an error that makes AWS unusable. Undefined: the error concerns one object, or is
 * expected.
 */
export function troubleOf(error: AwsError): CallTrouble | undefined {
  return ROWS.find(({ matches }) => matches(error));
}
