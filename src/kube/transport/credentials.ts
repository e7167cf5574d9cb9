/**
 * The credentials for the API server. Tokens and certificates change over time, so each request gets the current ones.
 * The source keeps them as long as they are valid.
 */

import type { Clock } from "../../base/clock.ts";

/** What one request authenticates with: a token, a password or a client certificate. */
export interface Credential {
  readonly token?: string;
  /** Username and password. kube-apiserver does not accept them, but some gateways in front of it do. */
  readonly basic?: { readonly username: string; readonly password: string };
  readonly clientCertificate?: { readonly certPem: string; readonly keyPem: string };
}

/** A source of credentials, called for each request. */
export interface Credentials {
  /** The current credential. Rejects with CredentialsError if none can be read. */
  current(): Promise<Credential>;
  /** Call it when the server answered 401 to this credential. Then a new one is fetched for the next request. */
  refused(used: Credential): void;
}

/** The error that no credential is available. `message` names the source and the remedy. */
export class CredentialsError extends Error {
  override readonly name = "CredentialsError";
}

/** Credentials that never change. */
export function fixedCredentials(credential: Credential): Credentials {
  return { current: () => Promise.resolve(credential), refused: () => undefined };
}

const RETRY_MS = 1_000;

/** A credential, and how long it is valid. */
export interface TimedCredential {
  readonly credential: Credential;
  /** When it expires, in milliseconds since 1970. Absent: it is valid until the server refuses it. */
  readonly untilMs?: number | undefined;
  /** For how many milliseconds it is valid, by the monotonic clock. Absent: `untilMs` applies. */
  readonly forMs?: number;
}

/**
 * Keeps a fetched credential until it expires or the server refuses it. Concurrent callers wait for the same fetch.
 * With `keepOnFailure`, an expired credential is used if no new one can be fetched.
 */
export function cachedCredentials(
  fetch: () => Promise<TimedCredential>,
  clock: Clock,
  keepOnFailure: boolean,
): Credentials {
  let held: TimedCredential | undefined;
  /** When a new credential is fetched, by the monotonic clock. */
  let renewAtMs = Number.POSITIVE_INFINITY;
  let stale = false;
  let fetching: Promise<Credential> | undefined;
  let failed: { readonly atMs: number; readonly error: unknown } | undefined;

  const fetchOnce = async (): Promise<Credential> => {
    try {
      held = await fetch();
      renewAtMs = clock.elapsedMs() + (held.forMs ?? Number.POSITIVE_INFINITY);
      stale = false;
      failed = undefined;
    } catch (error) {
      failed = { atMs: clock.elapsedMs(), error };
      if (held === undefined || !keepOnFailure) throw error;
    } finally {
      fetching = undefined;
    }
    return held.credential;
  };

  return {
    current: () => {
      const isOver =
        clock.elapsedMs() >= renewAtMs ||
        clock.now() >= (held?.untilMs ?? Number.POSITIVE_INFINITY);
      if (held !== undefined && !stale && !isOver) return Promise.resolve(held.credential);
      // Many requests come at the same time. A source that just failed is not run for each of them.
      if (failed !== undefined && !keepOnFailure && clock.elapsedMs() - failed.atMs < RETRY_MS)
        return Promise.reject(failed.error);
      fetching ??= fetchOnce();
      return fetching;
    },
    refused: (used) => {
      // If an older credential was refused, the current one may still be valid.
      if (used === held?.credential) stale = true;
    },
  };
}
