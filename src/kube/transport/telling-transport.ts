/**
 * A transport that logs if the API server is unusable: no answer, an invalid certificate, a failed login, or a list
 * that ends in a server error. Callers retry with few log lines. This transport logs each problem at once, then every
 * minute with a remedy, and once when it is over.
 */
import type { Clock } from "../../base/clock.ts";
import { errorText } from "../../base/error-text.ts";
import type { LogFields, Logger } from "../../base/log.ts";
import { Reminders } from "../../base/reminders.ts";
import { CredentialsError } from "./credentials.ts";
import { targetOf } from "./metered-transport.ts";
import type { KubeRequest, KubeResponse, Transport } from "./transport.ts";

/** Node's error codes for a certificate without a trusted authority, or for another host name. */
const CERTIFICATE = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER/;
const UNREACHED = "cannot reach the API server, trying again";
const UNTRUSTED = "the API server's certificate is not trusted";
const NO_LOGIN = "cannot log in to the API server";
const REFUSED = "the API server does not accept the controller's credentials";
const FAILING = "the API server fails to list a kind";

const REMEDIES: Readonly<Record<string, string>> = {
  [UNREACHED]:
    "check the address, and that firewalls, NetworkPolicies and proxies let the controller through",
  [UNTRUSTED]:
    "give its authority or its name in the kubeconfig: certificate-authority-data, tls-server-name",
  [NO_LOGIN]: "mend what the error names: a credential plugin, a token file, an OIDC login",
  [REFUSED]: "renew the token or the certificate of the kubeconfig",
  [FAILING]:
    "read the error; where it names a conversion webhook, let the API server reach port 8443 of that Service",
};

/** Wraps a transport, so that it logs these problems. `server`: the URL in the kubeconfig, for the log. */
export function tellingTransport(
  transport: Transport,
  { clock, log, server }: { readonly clock: Clock; readonly log: Logger; readonly server: string },
): Transport {
  const reminders = new Reminders(clock);

  function tell(message: string, key: string, fields: LogFields): void {
    if (!reminders.isDue(key)) return;
    log.error(message, { server, ...fields, remedy: REMEDIES[message] });
  }

  function over(keys: readonly string[]): void {
    const ended = keys.filter((key) => reminders.over(key));
    if (ended.length > 0) log.info("the API server can be used again", { server, was: ended });
  }

  async function send(request: KubeRequest): Promise<KubeResponse> {
    let response: KubeResponse;
    try {
      response = await transport.send(request);
    } catch (error) {
      const { message, told } = trouble(error);
      tell(message, message, { error: told });
      throw error;
    }
    over([UNREACHED, UNTRUSTED, NO_LOGIN]);
    if (response.status === 401) {
      tell(REFUSED, REFUSED, { error: messageOf(response) });
      return response;
    }
    over([REFUSED]);
    if (request.method !== "GET") return response;
    const { group, kind } = targetOf(request.path);
    const key = `${FAILING}: ${kind}.${group}`;
    if (response.status < 500) over([key]);
    else tell(FAILING, key, { path: request.path.split("?")[0], error: messageOf(response) });
    return response;
  }

  return { send, close: () => transport.close() };
}

/** The problem because of which no answer came, and the text of the error. */
function trouble(error: unknown): { readonly message: string; readonly told: string } {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const told = errorText(cause);
  if (cause instanceof CredentialsError) return { message: NO_LOGIN, told };
  const { code = "" } = cause as { readonly code?: unknown };
  return { message: CERTIFICATE.test(String(code)) ? UNTRUSTED : UNREACHED, told };
}

function messageOf({ status, body }: KubeResponse): string {
  const { message } = (body ?? {}) as { readonly message?: unknown };
  return typeof message === "string" ? message : `HTTP ${status}`;
}
