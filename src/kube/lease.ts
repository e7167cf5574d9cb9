/**
 * Leader election over a Lease, with client-go's timings: the holder renews every 2 s, gives up if it could not for 10 s,
 * and others take over 15 s after the last renewal. Ended on purpose, the lease is handed back at once. A replica that
 * the API server does not let lead says so at once and every minute: it would look like a standby and be none.
 */

import { LEASE, type Lease } from "../apis/policy/kinds.ts";
import { type Clock, fromRfc3339, toRfc3339Micro } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import { mustNotFail } from "../base/must-not-fail.ts";
import { Reminders } from "../base/reminders.ts";
import type { KubeClient } from "./client/client.ts";
import {
  ConnectionError,
  isAlreadyExists,
  isConflict,
  isForbidden,
  isNotFound,
  KubeError,
} from "./errors.ts";

const LEASE_DURATION_MS = 15_000;
const RENEW_DEADLINE_MS = 10_000;
const RETRY_PERIOD_MS = 2_000;
/** A request that hangs is left to itself after this, so that the next try comes in time. */
const TRY_LIMIT_MS = 5_000;

/** The Lease, and who competes for it. */
export interface LeaderElectionDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly name: string;
  readonly namespace: string;
  /** Unique per replica. */
  readonly identity: string;
}

/** One candidacy. It ends with `lost` or with `release`. */
export interface Leadership {
  /** Resolves when this replica leads. */
  readonly acquired: Promise<void>;
  /** Resolves when it led and no longer does: the process must stop deciding at once. */
  readonly lost: Promise<void>;
  /** Whether it leads now. */
  readonly leading: boolean;
  /** Why this replica could not lead, by the last answer of the API server; undefined: it could. */
  readonly trouble: string | undefined;
  /** Hands the lease back and stops. */
  release(): Promise<void>;
}

/** Competes for the Lease until it leads or is stopped. Errors are logged and retried. */
export function electLeader(deps: LeaderElectionDeps): Leadership {
  const election = new Election(deps);
  mustNotFail(election.run(), "leader election");
  return election;
}

/** What the API server refuses, and what to do; undefined for what passes by itself. */
function refusalOf(
  error: unknown,
  namespace: string,
): { readonly message: string; readonly remedy: string } | undefined {
  if (!(error instanceof KubeError) || error.status >= 500 || error.status === 429)
    return undefined;
  if (isForbidden(error))
    return {
      message: "not allowed to lead, waiting for the right",
      remedy: `grant create, get, update and patch on leases.coordination.k8s.io in namespace ${namespace}`,
    };
  if (isNotFound(error))
    return {
      message: "cannot lead: the namespace of the lease does not exist",
      remedy: `create namespace ${namespace}, or name another with --leader-election-namespace`,
    };
  return {
    message: "cannot lead: the API server refuses the lease",
    remedy: "mend what the error names",
  };
}

class Election implements Leadership {
  readonly #deps: LeaderElectionDeps;
  readonly acquired: Promise<void>;
  readonly lost: Promise<void>;
  #onAcquired: () => void = () => undefined;
  #onLost: () => void = () => undefined;
  #leading = false;
  #trouble: string | undefined;
  readonly #reminders: Reminders;
  #stopped = false;
  #renewedAtMs = 0;
  /** What was last seen of another holder, and when: expiry is judged on our clock, not theirs. */
  #seen: { version: string; atMs: number } | undefined;
  /** As we wrote it last: the next renewal need not read it again. */
  #own: Lease | undefined;

  constructor(deps: LeaderElectionDeps) {
    this.#deps = deps;
    this.#reminders = new Reminders(deps.clock);
    this.acquired = new Promise((resolve) => {
      this.#onAcquired = resolve;
    });
    this.lost = new Promise((resolve) => {
      this.#onLost = resolve;
    });
  }

  get leading(): boolean {
    return this.#leading;
  }

  get trouble(): string | undefined {
    return this.#trouble;
  }

  async run(): Promise<void> {
    const { clock, log } = this.#deps;
    while (!this.#stopped) {
      const askedMs = clock.elapsedMs();
      const held = await this.#inTime(this.#tryHold()).catch((error: unknown) => {
        this.#say(error);
        return undefined;
      });
      if (this.#stopped) return;
      if (held !== undefined) this.#trouble = undefined;
      // From when it was asked: others count from when they see it.
      if (held === true) this.#renewedAtMs = askedMs;
      if (held === true && !this.#leading) {
        this.#leading = true;
        log.info("successfully acquired lease", { lease: this.#deps.name });
        this.#guard();
        this.#onAcquired();
      }
      await clock.sleep(RETRY_PERIOD_MS);
    }
  }

  /** A server that is away is said by its transport, and makes no replica unfit to lead. */
  #say(error: unknown): void {
    const { log, name, namespace } = this.#deps;
    const fields = { lease: `${namespace}/${name}`, error: String(error) };
    const refusal = refusalOf(error, namespace);
    this.#trouble = refusal?.message;
    if (refusal === undefined) log.debug("leader election attempt failed", fields);
    else if (this.#reminders.isDue(refusal.message))
      log.error(refusal.message, { ...fields, remedy: refusal.remedy });
  }

  #inTime(attempt: Promise<boolean>): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const late = () => reject(new ConnectionError("no answer in time"));
      const timer = this.#deps.clock.after(TRY_LIMIT_MS, late);
      attempt.then(resolve, reject).finally(() => timer.cancel());
    });
  }

  /** Rings by itself: a request that hangs must not keep a lead that others already take. */
  #guard(): void {
    const { clock, log, name } = this.#deps;
    if (this.#stopped) return;
    const leftMs = this.#renewedAtMs + RENEW_DEADLINE_MS - clock.elapsedMs();
    if (leftMs > 0) {
      clock.after(leftMs, () => this.#guard());
      return;
    }
    log.error("leader election lost", { lease: name });
    this.#stopped = true;
    // What another holds is not ours to hand back.
    this.#leading = false;
    this.#onLost();
  }

  async release(): Promise<void> {
    this.#stopped = true;
    if (!this.#leading) return;
    this.#leading = false;
    const { client, name, namespace } = this.#deps;
    const body = { spec: { holderIdentity: "", leaseDurationSeconds: 1 } };
    await client.patch(LEASE, { name, namespace }, { type: "merge", body }).catch(() => undefined);
  }

  async #tryHold(): Promise<boolean> {
    const { client, clock, name, namespace } = this.#deps;
    if (await this.#renew()) return true;
    try {
      const lease = await client.get(LEASE, { name, namespace }).catch((error: unknown) => {
        if (isNotFound(error)) return undefined;
        throw error;
      });
      if (lease === undefined) this.#own = await client.create(LEASE, this.#next(undefined));
      else if (this.#mayTake(lease, clock.elapsedMs()))
        this.#own = await client.update(LEASE, this.#next(lease));
      else return false;
      return true;
    } catch (error) {
      if (isConflict(error) || isAlreadyExists(error)) return false;
      throw error;
    }
  }

  /**
   * Renews with one request, as long as no other replica wrote the Lease.
   * upstream: client-go tools/leaderelection, the fast path
   */
  async #renew(): Promise<boolean> {
    const own = this.#own;
    if (own === undefined || !this.#leading) return false;
    this.#own = undefined;
    try {
      this.#own = await this.#deps.client.update(LEASE, this.#next(own));
      return true;
    } catch (error) {
      if (isConflict(error) || isNotFound(error)) return false;
      throw error;
    }
  }

  #mayTake(lease: Lease, nowMs: number): boolean {
    const holder = lease.spec.holderIdentity ?? "";
    if (holder === this.#deps.identity || holder === "") return true;
    const version = lease.metadata.resourceVersion ?? "";
    if (this.#seen?.version !== version) this.#seen = { version, atMs: nowMs };
    const durationMs = (lease.spec.leaseDurationSeconds ?? 0) * 1_000 || LEASE_DURATION_MS;
    return nowMs - this.#seen.atMs >= durationMs;
  }

  #next(lease: Lease | undefined): Lease {
    const { clock, identity, name, namespace } = this.#deps;
    const now = toRfc3339Micro(clock.now());
    const held = lease?.spec.holderIdentity === identity;
    const acquireTime =
      held && fromRfc3339(lease?.spec.acquireTime) ? lease?.spec.acquireTime : now;
    const transitions = (lease?.spec.leaseTransitions ?? 0) + (held || lease === undefined ? 0 : 1);
    return {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: lease?.metadata ?? { name, namespace },
      spec: {
        holderIdentity: identity,
        leaseDurationSeconds: LEASE_DURATION_MS / 1_000,
        acquireTime: acquireTime as string,
        renewTime: now,
        leaseTransitions: transitions,
      },
    };
  }
}
