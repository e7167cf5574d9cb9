/**
 * OpenID Connect logins of a kubeconfig (`auth-provider: oidc`). The id token is used until it expires. Then the
 * refresh token is used to get a new one from the issuer. New tokens are kept in memory and not written to the file.
 * upstream: client-go plugin/pkg/client/auth/oidc
 */
import { Agent, request } from "undici";
import { CredentialsError, type TimedCredential } from "../transport/credentials.ts";

/** The entry `users[].user.auth-provider.config`. */
export interface OidcConfig {
  readonly "client-id"?: string;
  readonly "client-secret"?: string;
  readonly "id-token"?: string;
  readonly "idp-issuer-url"?: string;
  readonly "refresh-token"?: string;
  readonly [field: string]: string | undefined;
}

/** Milliseconds before its expiry in which a token is no longer used. upstream: the same package, expiryDelta */
const EARLY_MS = 10_000;

/**
 * Returns a valid token on each call. `caPem`: the authority of the issuer's certificate, if it is not the system's.
 */
export function oidcTokens(
  config: OidcConfig,
  caPem: string | undefined,
  now: () => number,
): () => Promise<TimedCredential> {
  let idToken = config["id-token"];
  let refreshToken = config["refresh-token"];
  const agent = new Agent(caPem === undefined ? {} : { connect: { ca: caPem } });
  return async () => {
    const untilMs = idToken === undefined ? 0 : expiryMs(idToken) - EARLY_MS;
    if (idToken !== undefined && now() < untilMs) {
      // A token is returned only once. A second call means that it has expired or that the server refused it.
      const token = idToken;
      idToken = undefined;
      return { credential: { token }, untilMs };
    }
    if (refreshToken === undefined)
      throw new CredentialsError(
        "the OIDC token is over and there is no refresh-token: log in again",
      );
    const answer = await refresh(config, refreshToken, agent);
    refreshToken = answer.refresh_token ?? refreshToken;
    return {
      credential: { token: answer.id_token },
      untilMs: expiryMs(answer.id_token) - EARLY_MS,
    };
  };
}

interface Tokens {
  readonly id_token: string;
  readonly refresh_token?: string;
}

async function refresh(config: OidcConfig, refreshToken: string, agent: Agent): Promise<Tokens> {
  const issuer = config["idp-issuer-url"];
  const clientId = config["client-id"];
  if (issuer === undefined || clientId === undefined)
    throw new CredentialsError("the OIDC login needs idp-issuer-url and client-id");
  const discovery = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const { token_endpoint: endpoint } = await ask(discovery, agent);
  if (typeof endpoint !== "string")
    throw new CredentialsError(`${discovery} names no token_endpoint`);
  const secret = config["client-secret"];
  const form = new URLSearchParams({
    grant_type: "refresh_token",
    refresh_token: refreshToken,
    client_id: clientId,
    ...(secret === undefined ? {} : { client_secret: secret }),
  });
  const answer = await ask(endpoint, agent, form.toString());
  if (typeof answer["id_token"] !== "string")
    throw new CredentialsError(`${endpoint} gave no id_token`);
  return answer as unknown as Tokens;
}

async function ask(url: string, agent: Agent, form?: string): Promise<Record<string, unknown>> {
  try {
    const { statusCode, body } = await request(url, {
      dispatcher: agent,
      ...(form === undefined
        ? {}
        : {
            method: "POST" as const,
            headers: { "content-type": "application/x-www-form-urlencoded" },
            body: form,
          }),
    });
    const text = await body.text();
    if (statusCode >= 400) throw new CredentialsError(`${url} answered ${statusCode}: ${text}`);
    return JSON.parse(text) as Record<string, unknown>;
  } catch (error) {
    if (error instanceof CredentialsError) throw error;
    throw new CredentialsError(`${url}: ${(error as Error).message}`);
  }
}

/**
 * When a JWT expires (`exp`), in milliseconds since 1970. It is 0 if it has no such time. The server checks the
 * signature.
 */
function expiryMs(token: string): number {
  try {
    const payload = Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8");
    return Number((JSON.parse(payload) as { exp?: number }).exp ?? 0) * 1_000;
  } catch {
    return 0;
  }
}
