/** The error of a command that the API server does not serve at all: there is no answer, or no valid user. */
import { firstLineOf } from "../../base/error-text.ts";
import { ConnectionError, isUnauthorized } from "../../kube/errors.ts";
import { CredentialsError } from "../../kube/transport/credentials.ts";
import { CliError } from "./cli-error.ts";

const OTHER = "or choose another one by KUBECONFIG";

/**
 * An error with what to do. Undefined if the server answered and knows the user: then the error is of one request.
 * `server`: its address.
 */
export function accessProblem(error: unknown, server?: string): CliError | undefined {
  const whose = server === undefined ? "the API server" : `the API server at ${server}`;
  if (isUnauthorized(error))
    return new CliError(
      `${whose} does not accept your credentials: log in again, ${OTHER}; kubectl auth whoami shows the same`,
    );
  if (!(error instanceof ConnectionError)) return undefined;
  const why = firstLineOf(error.cause ?? error);
  // In this case no request was sent.
  if (error.cause instanceof CredentialsError)
    return new CliError(
      `no credentials for ${server ?? "the cluster"}: ${why}; mend its user in KUBECONFIG`,
    );
  return new CliError(`${whose} does not answer: ${why}; check the cluster, ${OTHER}`);
}
