/**
 * Who we are to the API server, now: tokens and certificates that change while we run are asked for at each
 * request and cached by whoever knows how long they last.
 */

import type { Clock } from "../../base/clock.ts";

/** What one request authenticates with: a token, a password or a client certificate. */
export interface Credential {
  readonly token?: string;
  /** A password: kube-apiserver takes none, some gateways before it do. */
  readonly basic?: { readonly username: string; readonly password: string };
  readonly clientCertificate?: { readonly certPem: string; readonly keyPem: string };
}

/** Where credentials come from; they are asked for before each request, and may change. */
export interface Credentials {
  /** Rejects with CredentialsError if no credential can be read. */
  current(): Promise<Credential>;
  /** The server answered 401 to this credential: the next one is fetched again. */
  refused(used: Credential): void;
}

/** No credential can be had; `message` names the source and the remedy. */
export class CredentialsError extends Error {
  override readonly name = "CredentialsError";
}

/** Credentials that never change. */
export function fixedCredentials(credential: Credential): Credentials {
  return { current: () => Promise.resolve(credential), refused: () => undefined };
}

const RETRY_MS = 1_000;

/** How long one credential may be used. */
export interface TimedCredential {
  readonly credential: Credential;
  /** Epoch milliseconds; absent = until it is refused. */
  readonly untilMs?: number | undefined;
  /** Milliseconds that it stays valid, by elapsed time. Absent: `untilMs` counts. */
  readonly forMs?: number;
}

/**
 * Keeps what `fetch` brought until its time is over or the server refuses it. Those who ask meanwhile share
 * one fetch. What is over but cannot be replaced right now is still tried when `keepOnFailure`.
 */
export function cachedCredentials(
  fetch: () => Promise<TimedCredential>,
  clock: Clock,
  keepOnFailure: boolean,
): Credentials {
  let held: TimedCredential | undefined;
  /** This and when it failed by the clock that never goes back. */
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
      // Many ask at once, and again: a source that fails is not run for each.
      if (failed !== undefined && !keepOnFailure && clock.elapsedMs() - failed.atMs < RETRY_MS)
        return Promise.reject(failed.error);
      fetching ??= fetchOnce();
      return fetching;
    },
    refused: (used) => {
      // An answer to an earlier credential says nothing about this one.
      if (used === held?.credential) stale = true;
    },
  };
}
