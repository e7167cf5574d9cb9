/**
 * Plays one story on virtual time. Everything is applied, the day passes with its events, faults end, and the cluster
 * settles and stays idle. Then it is taken down. A witness watches it. Returns sentences about faults; the list should
 * be empty.
 */
import { openWorld, type TestWorld } from "../world.ts";
import { tooOften } from "./facts.ts";
import { Hand, paidFor } from "./hand.ts";
import { Karpenters } from "./karpenters.ts";
import { isSold } from "./pools.ts";
import { manifestsOf, type Story } from "./story.ts";
import { beyondAsking, isOurs, type Seen, unsettled } from "./unsettled.ts";
import { Witness } from "./witness.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const STEP_MS = 15 * SECOND;
/**
 * Time from the last fault until the cluster has settled. A node that never joins takes fifteen minutes, possibly
 * twice.
 */
const SETTLE_MS = 60 * MINUTE;
const QUIET_MS = 10 * MINUTE;
const EXPIRING_MS = 60 * MINUTE;
const TEARDOWN_MS = 40 * MINUTE;
/** Longest time with an instance without a claim, or a claim without an instance, during faults. */
const GRACE_MS = 30 * MINUTE;

export interface Outcome {
  readonly faults: readonly string[];
  readonly virtualMs: number;
  readonly steps: number;
  readonly kills: number;
  /** Lines about what happened, to investigate a fault. */
  readonly trace: readonly string[];
}

/** Never rejects because of the cluster: such an error is reported as a fault too. */
export async function play(story: Story): Promise<Outcome> {
  const day = await Day.open(story);
  try {
    await day.pass();
  } catch (error) {
    day.witness.accuse(error instanceof Error ? (error.stack ?? error.message) : String(error));
  }
  return day.close();
}

class Day {
  readonly world: TestWorld;
  readonly witness: Witness;
  readonly #story: Story;
  readonly #karpenters: Karpenters;
  readonly #hand: Hand;
  readonly #startMs: number;
  readonly #unmatchedMs = new Map<string, number>();
  readonly #notes: string[] = [];

  static async open(story: Story): Promise<Day> {
    const world = await openWorld({
      seed: story.seed,
      startMs: story.startMs,
      logLevel: "error",
      sells: isSold,
      // Creates the ConfigMap for Karpenter's settings and prices, as the chart does. Without it, the controller
      // would request the ConfigMap again and again.
      isAsked: true,
    });
    await world.box.operator.stop();
    const day = new Day(world, story);
    await day.witness.synced();
    return day;
  }

  private constructor(world: TestWorld, story: Story) {
    this.world = world;
    this.#story = story;
    this.#startMs = world.clock.now();
    this.#karpenters = new Karpenters(world, story, {
      sees: (request) => this.witness.sees(request),
      ends: (ids) => this.witness.ends(ids),
    });
    this.witness = new Witness({
      world,
      pools: story.pools,
      clusterBudgets: story.clusterBudgets,
      expirySpreadPercent: Number(story.flags["expiration-spread"] ?? 0),
      expiryIsReplaced: story.flags["expiration-respects-budgets"] === "true",
      surging: story.apps.filter(({ surges }) => surges).map(({ name }) => name),
      troubled: () => this.#karpenters.areTroubled,
    });
    this.#hand = new Hand(world, story, this.witness, this.#karpenters, (text) => {
      const at = ((world.clock.now() - this.#startMs) / SECOND).toFixed(0);
      this.#notes.push(`${at} s: ${text}`);
    });
    this.witness.expectedPods = (app) => this.#hand.wanted.get(app) ?? 0;
  }

  async pass(): Promise<void> {
    const { scenes, healMs, replicas } = this.#story;
    for (const object of manifestsOf(this.#story)) await this.world.apply(object);
    for (let n = 0; n < replicas; n++) this.#karpenters.start();
    for (const { atMs, act } of scenes) {
      await this.#advanceTo(this.#startMs + atMs);
      await this.#hand.do(act);
    }
    await this.#advanceTo(this.#startMs + healMs);
    await this.#hand.do({ do: "heal" });
    await this.#hand.release();
    if (this.witness.faults.length > 0) return;
    await this.#until("the cluster settles", SETTLE_MS, () => this.#unsettled());
    if (this.witness.faults.length > 0) return;
    await this.#rest();
    await this.#takeDown();
  }

  async close(): Promise<Outcome> {
    const virtualMs = this.world.clock.now() - this.#startMs;
    this.#karpenters.end();
    this.witness.close();
    await this.world.close();
    return {
      faults: this.witness.faults,
      virtualMs,
      steps: this.witness.steps,
      kills: this.#karpenters.kills,
      trace: [...this.#notes, ...this.world.trace, ...this.#karpenters.logs],
    };
  }

  /** Advances the time. Dead processes are restarted after some seconds, and the witness checks its rules. */
  async #advanceTo(atMs: number): Promise<void> {
    const { clock } = this.world;
    while (clock.now() < atMs && this.witness.faults.length === 0) {
      await this.world.advance(Math.min(STEP_MS, atMs - clock.now()));
      this.witness.look();
      this.#matchInstances();
      if (this.#karpenters.haveFallen) await this.#karpenters.raise(() => this.#hand.leaveAlone());
    }
  }

  #strays(): readonly string[] {
    const instances = new Set(paidFor(this.world).map(({ id }) => id));
    const claimed = new Map(
      this.witness.claims().flatMap(({ metadata, status }) => {
        const id = status?.providerID?.split("/").at(-1);
        return id === undefined || metadata.deletionTimestamp !== undefined
          ? []
          : [[id, metadata.name] as const];
      }),
    );
    const leaving = new Set(
      this.witness.claims().map(({ status }) => status?.providerID?.split("/").at(-1) ?? ""),
    );
    return [
      ...[...instances]
        .filter((id) => !leaving.has(id))
        .map((id) => `instance ${id} without a claim`),
      ...[...claimed]
        .filter(([id]) => !instances.has(id))
        .map(([id, name]) => `claim ${name} without its instance ${id}`),
    ];
  }

  #matchInstances(): void {
    const nowMs = this.world.clock.now();
    const strays = this.#strays();
    for (const known of [...this.#unmatchedMs.keys()])
      if (!strays.includes(known)) this.#unmatchedMs.delete(known);
    for (const stray of strays) {
      const sinceMs = this.#unmatchedMs.get(stray) ?? nowMs;
      this.#unmatchedMs.set(stray, sinceMs);
      if (nowMs - sinceMs > GRACE_MS)
        this.witness.accuse(`${stray} for ${(nowMs - sinceMs) / MINUTE} min`);
    }
  }

  /** What has not settled yet. */
  #unsettled(): readonly string[] {
    return [...unsettled(this.#seen()), ...this.#strays()];
  }

  #seen(): Seen {
    const { pods, nodes } = this.witness;
    const seen = { pods: pods.list(), nodes: nodes.list(), claims: this.witness.claims() };
    return { ...this.#story, wanted: this.#hand.wanted, ...seen };
  }

  async #until(what: string, limitMs: number, left: () => readonly string[]): Promise<void> {
    const deadlineMs = this.world.clock.now() + limitMs;
    while (left().length > 0) {
      if (this.world.clock.now() >= deadlineMs) {
        this.witness.accuse(`${what}: not within ${limitMs / MINUTE} min: ${left().join("; ")}`);
        return;
      }
      await this.#advanceTo(this.world.clock.now() + MINUTE);
      if (this.witness.faults.length > 0) return;
    }
  }

  /** After settling, consolidation and drift may take a while. Then nothing may be written. */
  async #rest(): Promise<void> {
    // With NodePools whose nodes expire, the cluster never becomes idle. So the story only waits until each node was
    // replaced once. A PodDisruptionBudget may hold one back forever.
    if (this.#story.pools.some(({ expires }) => expires))
      return this.#advanceTo(this.world.clock.now() + EXPIRING_MS);
    const { witness, world } = this;
    const { journal } = world.box.sandbox.aws;
    let quietSinceMs = world.clock.now();
    let mark = journal.mark;
    witness.said = [];
    const deadlineMs = quietSinceMs + 2 * 60 * MINUTE + QUIET_MS;
    while (world.clock.now() - quietSinceMs < QUIET_MS) {
      witness.writes = [];
      await this.#advanceTo(world.clock.now() + MINUTE);
      if (witness.faults.length > 0) return;
      if (beyondAsking(witness.writes, this.#seen(), MINUTE).length > 0) {
        quietSinceMs = world.clock.now();
        mark = journal.mark;
        witness.said = [];
      }
      if (world.clock.now() > deadlineMs) {
        witness.accuse(
          `never comes to rest; in the last minute:\n  ${witness.writes.join("\n  ")}`,
        );
        return;
      }
    }
    const left = this.#unsettled();
    if (left.length > 0) witness.accuse(`rests with ${left.join("; ")}`);
    witness.rules.atRest();
    const changes = journal
      .calls({ after: mark, failed: false })
      .filter(({ action }) => !QUIET_CALLS.test(action));
    if (changes.length > 0)
      witness.accuse(`at rest the account is changed: ${changes.map((one) => one.action)}`);
    const often = tooOften(witness.said, QUIET_MS);
    if (often !== undefined) witness.accuse(`at rest it says ${often}`);
  }

  /** Deletes all workloads and then all NodePools. In this order no pod is left pending. */
  async #takeDown(): Promise<void> {
    const { world, witness } = this;
    for (const { name, manifests } of this.#story.apps) {
      this.#hand.wanted.set(name, 0);
      for (const { apiVersion = "", kind = "", metadata } of manifests)
        await world.remove(kind, metadata.name, apiVersion);
    }
    for (const { name, kind } of this.#story.pools) {
      await world.remove(kind.kind, name, kind.apiVersion);
      for (const { status, metadata } of witness.claims())
        if (metadata.labels?.["karpenter.sh/nodepool"] === name)
          witness.wounds(status?.providerID?.split("/").at(-1) ?? "");
    }
    await this.#until("everything is taken down", TEARDOWN_MS, () => [
      ...witness.claims().map(({ metadata }) => `claim ${metadata.name}`),
      ...witness.nodes
        .list()
        .filter(isOurs)
        .map(({ metadata }) => `node ${metadata.name}`),
      ...paidFor(world).map(({ id }) => `instance ${id}`),
    ]);
  }
}

/**
 * Cloud calls that may happen at rest: reads, also of the queue, and deletions of unused launch templates. Dry runs
 * fail.
 */
const QUIET_CALLS = /^(?:Describe|Get|List|Receive|DeleteMessage|DeleteLaunchTemplate$)/;
