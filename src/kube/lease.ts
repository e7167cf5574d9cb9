/**
 * Leader election with a Lease, and client-go's timings. The leader renews the Lease every 2 s and resigns after 10 s
 * without success. Another replica takes over 15 s after the last renewal, or at once if the leader released the Lease.
 * If the API server refuses a replica's requests, the replica logs that at once and then every minute. Otherwise it
 * would look like a standby that can take over.
 */

import { LEASE, type Lease } from "../apis/policy/kinds.ts";
import { type Clock, fromRfc3339, toRfc3339Micro } from "../base/clock.ts";
import type { LogFields, Logger } from "../base/log.ts";
import { mustNotFail } from "../base/must-not-fail.ts";
import { Reminders } from "../base/reminders.ts";
import type { KubeClient } from "./client/client.ts";
import { getIfThere } from "./client/get-if-there.ts";
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
/**
 * Milliseconds that an attempt may take before the next one begins. A later answer still counts: a busy process reads
 * an answer late that the server gave in time.
 */
const TRY_LIMIT_MS = 5_000;

/** The Lease, and the replica that competes for it. */
export interface LeaderElectionDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly name: string;
  readonly namespace: string;
  /** The name of the replica, which no other replica has. */
  readonly identity: string;
}

/** The attempt of one replica to lead. It ends with `lost` or with `release`. */
export interface Leadership {
  /** Resolves when this replica leads. */
  readonly acquired: Promise<void>;
  /** Resolves when this replica was the leader and no longer is. The process must make no more decisions. */
  readonly lost: Promise<void>;
  /** Whether this replica leads now. */
  readonly leading: boolean;
  /** Why this replica cannot lead, by the last answer of the API server. Undefined: it can. */
  readonly trouble: string | undefined;
  /** Releases the Lease and stops. */
  release(): Promise<void>;
}

/** Competes for the Lease until this replica leads or is stopped. Errors are logged and retried. */
export function electLeader(deps: LeaderElectionDeps): Leadership {
  const election = new Election(deps);
  mustNotFail(election.run(), "leader election");
  return election;
}

/** What the API server refused, and what to do about it. Undefined: the problem will go away by itself. */
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
  /**
   * The last Lease of another holder, and when this replica first saw it. Expiry is measured by this replica's own
   * clock.
   */
  #seen: { version: string; atMs: number } | undefined;
  /** The Lease as this replica last wrote it, so that a renewal needs no read. */
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
      const attempt = this.#tryHold();
      attempt.then(
        (held) => this.#renewed(held, askedMs),
        () => undefined,
      );
      const held = await this.#inTime(attempt).catch((error: unknown) => {
        this.#say(error);
        return undefined;
      });
      if (this.#stopped) return;
      if (held !== undefined) this.#trouble = undefined;
      if (held === true && !this.#leading) {
        this.#leading = true;
        log.info("successfully acquired lease", { lease: this.#deps.name });
        this.#guard();
        this.#onAcquired();
      }
      await clock.sleep(RETRY_PERIOD_MS);
    }
  }

  /**
   * Extends the leadership from the time at which the renewal was requested. Other replicas count from the moment
   * they see the renewal, which is later.
   */
  #renewed(held: boolean, askedMs: number): void {
    if (held) this.#renewedAtMs = Math.max(this.#renewedAtMs, askedMs);
  }

  /** Logs what the API server refused. That the server cannot be reached is already logged by the transport. */
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

  /** Starts a timer that ends the leadership, even if a renewal hangs while another replica takes over. */
  #guard(): void {
    const { clock } = this.#deps;
    if (this.#stopped) return;
    const leftMs = this.#renewedAtMs + RENEW_DEADLINE_MS - clock.elapsedMs();
    if (leftMs > 0) {
      clock.after(leftMs, () => this.#guard());
      return;
    }
    this.#lose({});
  }

  #lose(fields: LogFields): void {
    const { log, name } = this.#deps;
    log.error("leader election lost", { lease: name, ...fields });
    this.#stopped = true;
    // Another replica may hold the Lease by now, so `release` must not write it.
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
      const lease = await getIfThere(client, LEASE, { name, namespace });
      // A replica that has just given the Lease up must not take it again, or its successor waits until it expires.
      if (this.#stopped) return false;
      if (lease === undefined) this.#own = await client.create(LEASE, this.#next(undefined));
      else if (this.#mayTake(lease, clock.elapsedMs()))
        this.#own = await client.update(LEASE, this.#next(lease));
      else {
        // Somebody wrote another holder into the Lease. If this replica went on, there could be two leaders until the
        // deadline.
        if (this.#leading && !this.#stopped) this.#lose({ holder: lease.spec.holderIdentity });
        return false;
      }
      return true;
    } catch (error) {
      if (isConflict(error) || isAlreadyExists(error)) return false;
      throw error;
    }
  }

  /**
   * Renews the Lease with one request, as long as no other replica wrote it.
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
