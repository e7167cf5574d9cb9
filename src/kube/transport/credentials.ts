/**
 * Who we are to the API server, now: tokens and certificates that change while we run are asked for at each
 * request and cached by whoever knows how long they last.
 */

export interface Credential {
  readonly token?: string;
  readonly clientCertificate?: { readonly certPem: string; readonly keyPem: string };
}

export interface Credentials {
  /** Rejects with CredentialsError when there is none to be had. */
  current(): Promise<Credential>;
  /** The server answered 401 to it: the next one is fetched anew. */
  refused(used: Credential): void;
}

/** No credential can be had; `message` names the source and the remedy. */
export class CredentialsError extends Error {
  override readonly name = "CredentialsError";
}

export function fixedCredentials(credential: Credential): Credentials {
  return { current: () => Promise.resolve(credential), refused: () => undefined };
}

const RETRY_MS = 1_000;

/** How long one credential may be used. */
export interface TimedCredential {
  readonly credential: Credential;
  /** Epoch milliseconds; absent = until it is refused. */
  readonly untilMs?: number | undefined;
}

/**
 * Keeps what `fetch` brought until its time is over or the server refuses it. Those who ask meanwhile share
 * one fetch. What is over but cannot be replaced right now is still tried when `keepOnFailure`.
 */
export function cachedCredentials(
  fetch: () => Promise<TimedCredential>,
  now: () => number,
  keepOnFailure: boolean,
): Credentials {
  let held: TimedCredential | undefined;
  let stale = false;
  let fetching: Promise<Credential> | undefined;
  let failed: { readonly atMs: number; readonly error: unknown } | undefined;

  const fetchOnce = async (): Promise<Credential> => {
    try {
      held = await fetch();
      stale = false;
      failed = undefined;
    } catch (error) {
      failed = { atMs: now(), error };
      if (held === undefined || !keepOnFailure) throw error;
    } finally {
      fetching = undefined;
    }
    return held.credential;
  };

  return {
    current: () => {
      const isGood =
        held !== undefined && !stale && now() < (held.untilMs ?? Number.POSITIVE_INFINITY);
      if (held !== undefined && isGood) return Promise.resolve(held.credential);
      // Many ask at once, and again: a source that fails is not run for each.
      if (failed !== undefined && !keepOnFailure && now() - failed.atMs < RETRY_MS)
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
