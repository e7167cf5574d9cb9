/**
 * Plays one story on virtual time: everything is applied, the day passes with what it brings, faults end,
 * the cluster settles, does nothing for a while, and is taken down. A witness looks on. Ends with what was
 * found to be wrong, in sentences; none is what is wanted. One file, for it is one day told in order.
 */
import { fromClaim } from "../../src/apis/hub/claim.ts";
import type { KubeObject } from "../../src/apis/meta.ts";
import { Random } from "../../src/base/random.ts";
import type { KubeRequest, KubeResponse } from "../../src/kube/transport/transport.ts";
import { type Replica, refusal, startReplica } from "../replicas.ts";
import { openWorld, type TestWorld } from "../world.ts";
import { tooOften } from "./facts.ts";
import { isSold } from "./pools.ts";
import { type Act, manifestsOf, type Story } from "./story.ts";
import { beyondAsking, isApp, isOurs, type Seen, unsettled } from "./unsettled.ts";
import { Witness } from "./witness.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const STEP_MS = 15 * SECOND;
const RESTART_MS = 5 * SECOND;
/** From the last fault until everything is where it belongs: fifteen minutes a node that never joins, twice. */
const SETTLE_MS = 60 * MINUTE;
const QUIET_MS = 10 * MINUTE;
const EXPIRING_MS = 60 * MINUTE;
const TEARDOWN_MS = 40 * MINUTE;
/** An instance without a claim, or a claim without its instance, while things fail. */
const GRACE_MS = 30 * MINUTE;

export interface Outcome {
  readonly faults: readonly string[];
  readonly virtualMs: number;
  readonly steps: number;
  readonly kills: number;
  /** What happened, for whoever looks into a fault. */
  readonly trace: readonly string[];
}

/** Never rejects for what the cluster did: that is a fault too. */
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
  readonly #random: Random;
  readonly #startMs: number;
  readonly #undo: (() => void)[] = [];
  readonly #wanted = new Map<string, number>();
  readonly #unmatchedMs = new Map<string, number>();
  readonly #notes: string[];
  #replicas: Replica[] = [];
  /** The pool that is to have no more moves, once Karpenter is dead. */
  #lastMoved: string | undefined;
  #started = 0;
  #kills = 0;
  #revision = 0;
  #troubleMs = Number.NEGATIVE_INFINITY;
  #chances = { errors: 0, lost: 0, conflicts: 0, slowMs: 0, lagMs: 0 };

  static async open(story: Story): Promise<Day> {
    const notes: string[] = [];
    const world = await openWorld({
      seed: story.seed,
      startMs: story.startMs,
      logLevel: "error",
      sells: isSold,
      // As the chart leaves it: a cluster without the object that prices are told in is asked for it again and again.
      isAsked: true,
    });
    await world.box.operator.stop();
    const day = new Day(world, story, notes);
    await day.witness.synced();
    return day;
  }

  private constructor(world: TestWorld, story: Story, notes: string[]) {
    this.world = world;
    this.#story = story;
    this.#notes = notes;
    this.#random = new Random(`play/${story.seed}`);
    this.#startMs = world.clock.now();
    this.witness = new Witness({
      world,
      pools: story.pools,
      clusterBudgets: story.clusterBudgets,
      expirySpreadPercent: Number(story.flags["expiration-spread"] ?? 0),
      expiryIsReplaced: story.flags["expiration-respects-budgets"] === "true",
      surging: story.apps.filter(({ surges }) => surges).map(({ name }) => name),
      troubled: () => world.clock.now() - this.#troubleMs < 2 * MINUTE || this.#isIll(),
    });
    this.witness.expectedPods = (app) => this.#wanted.get(app) ?? 0;
  }

  async pass(): Promise<void> {
    const { scenes, healMs, replicas } = this.#story;
    for (const object of manifestsOf(this.#story)) await this.world.apply(object);
    for (let n = 0; n < replicas; n++) this.#startReplica();
    for (const { atMs, act } of scenes) {
      await this.#advanceTo(this.#startMs + atMs);
      await this.#act(act);
    }
    await this.#advanceTo(this.#startMs + healMs);
    await this.#act({ do: "heal" });
    await this.#release();
    if (this.witness.faults.length > 0) return;
    await this.#until("the cluster settles", SETTLE_MS, () => this.#unsettled());
    if (this.witness.faults.length > 0) return;
    await this.#rest();
    await this.#takeDown();
  }

  async close(): Promise<Outcome> {
    const virtualMs = this.world.clock.now() - this.#startMs;
    for (const replica of this.#replicas) replica.kill();
    this.witness.close();
    await this.world.close();
    const logs = this.#replicas.map(
      ({ identity, log }) => `--- ${identity}\n${log.slice(-300).join("\n")}`,
    );
    return {
      faults: this.witness.faults,
      virtualMs,
      steps: this.witness.steps,
      kills: this.#kills,
      trace: [...this.#notes, ...this.world.trace, ...logs],
    };
  }

  /** Time passes; the dead rise after some seconds, and the witness looks. */
  async #advanceTo(atMs: number): Promise<void> {
    const { clock } = this.world;
    while (clock.now() < atMs && this.witness.faults.length === 0) {
      await this.world.advance(Math.min(STEP_MS, atMs - clock.now()));
      this.witness.look();
      this.#matchInstances();
      if (this.#replicas.some((one) => one.dead || hasLostLead(one))) await this.#raise();
    }
  }

  async #raise(): Promise<void> {
    await this.world.advance(RESTART_MS);
    const gone = this.#replicas.filter((one) => one.dead || hasLostLead(one));
    this.#replicas = this.#replicas.filter((one) => !gone.includes(one));
    await this.#leaveAlone();
    for (const one of gone) {
      one.kill();
      this.#kills++;
      this.#startReplica();
    }
    this.#troubleMs = this.world.clock.now();
  }

  async #leaveAlone(): Promise<void> {
    const pool = this.#story.pools.find(({ name }) => name === this.#lastMoved);
    this.#lastMoved = undefined;
    if (pool?.generation !== "v1") return;
    await this.#patchPool(pool.name, { spec: { disruption: { consolidateAfter: "Never" } } });
    this.witness.rules.leftAlone(pool.name);
  }

  #startReplica(): void {
    const { seed, flags } = this.#story;
    const replica = startReplica(this.world, `calm-${seed}-${this.#started++}`, flags);
    replica.meet((request) => this.#meet(request));
    replica.lag(this.#chances.lagMs);
    this.#replicas.push(replica);
  }

  /** What each of Karpenter's requests meets on its way. */
  async #meet(request: KubeRequest): Promise<KubeResponse | undefined> {
    const { errors, lost, conflicts, slowMs } = this.#chances;
    const isWrite = request.method !== "GET";
    const chance = (percent: number) => percent > 0 && this.#random.int(100) < percent;
    if (slowMs > 0) await this.world.clock.sleep(this.#random.int(slowMs));
    if (chance(errors)) return this.#random.pick(REFUSALS);
    const changes = request.method === "PUT" || request.method === "PATCH";
    if (changes && chance(conflicts)) return refusal(409, "Conflict");
    if (!isWrite) return undefined;
    await this.world.clock.settle();
    this.witness.sees(request);
    if (!chance(lost)) return undefined;
    await this.world.box.sandbox.transport.send(request);
    throw new Error("socket hang up");
  }

  /** What happens while nobody leads is heard by nobody: who comes next lists what is there, as upstream does. */
  #isIll(): boolean {
    return this.#leader === undefined || Object.values(this.#chances).some((chance) => chance > 0);
  }

  async #act(act: Act): Promise<void> {
    const { world } = this;
    const at = ((world.clock.now() - this.#startMs) / SECOND).toFixed(0);
    this.#notes.push(`${at} s: ${JSON.stringify(act)}`);
    const { faults, controls } = world.box.sandbox.aws;
    switch (act.do) {
      case "scale":
        this.#wanted.set(act.app, act.replicas);
        return world.scale(act.app, act.replicas);
      case "roll out":
        return this.#rollOut(act.app, {});
      case "change pool":
        return this.#changePool(act.pool);
      case "pause":
        return this.#pause(act.pool, act.paused);
      case "keep nodes":
        return this.#keepAll(act.pool);
      case "delete node": {
        const node = pick(this.witness.nodes.list().filter(isOurs), act.pick);
        if (node !== undefined) await world.remove("Node", node.metadata.name);
        return;
      }
      case "delete pod": {
        const pod = pick(this.witness.pods.list().filter(isApp), act.pick);
        if (pod !== undefined) await world.remove("Pod", pod.metadata.name);
        return;
      }
      case "force claim away":
        return this.#forceClaim(act.pick);
      case "force node away":
        return this.#forceNode(act.pick);
      case "reclaim spot":
        return this.#wound("spot", act.pick, (id) => this.#reclaim(id));
      case "lose instance":
        return this.#wound(undefined, act.pick, (id) => controls.failInstance(id));
      case "stop instance":
        return this.#wound(undefined, act.pick, (id) => controls.stopInstance(id));
      case "no capacity": {
        const { do: _, ...match } = act;
        this.#undo.push(faults.limitCapacity(match));
        return;
      }
      case "never join":
        this.#undo.push(faults.neverJoin({ times: act.times }));
        return;
      case "refuse calls":
        this.#undo.push(faults.throttle(act.action, act.times));
        return;
      case "kill":
        this.#leader?.killAtWrite(act.write, act.arrives);
        return;
      case "kill amid a move":
        return this.#killAmidMove(act);
      case "cut":
        for (const replica of this.#replicas) replica.cut();
        return;
      case "silence":
        return this.#silence(act.plural);
      case "miss a pod":
        return this.#missPod();
      case "errors":
        this.#chances.errors = act.percent;
        return;
      case "lost answers":
        this.#chances.lost = act.percent;
        return;
      case "conflicts":
        this.#chances.conflicts = act.percent;
        return;
      case "slow":
        this.#chances.slowMs = act.upToMs;
        return;
      case "lag":
        this.#chances.lagMs = act.ms;
        for (const replica of this.#replicas) replica.lag(act.ms);
        return;
      case "heal":
        return this.#heal();
    }
  }

  #heal(): void {
    this.#troubleMs = this.world.clock.now();
    this.#chances = { errors: 0, lost: 0, conflicts: 0, slowMs: 0, lagMs: 0 };
    for (const replica of this.#replicas) replica.lag(0);
    for (const undo of this.#undo.splice(0)) undo();
  }

  #silence(plural: string): void {
    this.#troubleMs = this.world.clock.now();
    for (const replica of this.#replicas) replica.silence(plural);
  }

  #missPod(): void {
    let missed: string | undefined;
    const known = this.witness.nodes.list();
    const isUsed = ({ metadata }: KubeObject) =>
      this.#story.apps.some(({ pool }) => pool === metadata.labels?.["team"]);
    const hearNodes = this.witness.nodes.on((event, node) => {
      if (event !== "added" || known.includes(node) || !isUsed(node)) return;
      missed = node.metadata.name;
      this.#silence("pods");
      hearNodes();
    });
    const hearPods = this.witness.pods.on((_, pod) => {
      if (missed === undefined || pod.spec.nodeName !== missed || !isApp(pod)) return;
      hearPods();
      this.#notes.push(`${missed} is deleted under ${pod.metadata.name}`);
      void this.world.remove("Node", missed);
    });
  }

  #killAmidMove({ write, arrives, isLast }: Extract<Act, { do: "kill amid a move" }>): void {
    this.witness.onMarked = ({ metadata }) => {
      this.witness.onMarked = () => undefined;
      this.#leader?.killAtWrite(write, arrives);
      if (isLast) this.#lastMoved = metadata.labels?.["karpenter.sh/nodepool"];
    };
  }

  get #leader(): Replica | undefined {
    return this.#replicas.find((one) => !one.dead && one.operator.ready);
  }

  #wound(
    capacityType: "spot" | undefined,
    at: number,
    hurt: (id: string) => void,
  ): Promise<void> | void {
    const ours = this.#instances().filter(
      (one) => capacityType === undefined || one.capacityType === capacityType,
    );
    const instance = pick(ours, at);
    if (instance === undefined) return;
    this.witness.wounds(instance.id);
    hurt(instance.id);
  }

  async #forceClaim(at: number): Promise<void> {
    const claims = this.witness.claims().filter(({ metadata }) => !metadata.deletionTimestamp);
    const claim = pick(claims, at);
    if (claim === undefined) return;
    const { apiVersion, kind } = fromClaim(claim);
    this.witness.wounds(claim.status?.providerID?.split("/").at(-1) ?? "");
    const { name } = claim.metadata;
    await this.world.remove(kind ?? "", name, apiVersion);
    await this.#send(apiVersion ?? "", kind ?? "", name, WITHOUT_FINALIZERS);
    if (claim.status?.nodeName !== undefined) await this.#forceOff(claim.status.nodeName);
  }

  async #forceNode(at: number): Promise<void> {
    const node = pick(this.witness.nodes.list().filter(isOurs), at);
    const id = node?.spec?.providerID?.split("/").at(-1);
    if (node === undefined || !this.#instances().some((one) => one.id === id)) return;
    this.witness.wounds(id as string);
    this.world.box.sandbox.aws.controls.failInstance(id as string);
    await this.#forceOff(node.metadata.name);
  }

  /** In one go: who has the time to see it leave would do the rest. */
  async #forceOff(node: string): Promise<void> {
    const { transport } = this.world.box.sandbox;
    await this.#send("v1", "Node", node, WITHOUT_FINALIZERS);
    await transport.send({ method: "DELETE", path: `/api/v1/nodes/${node}` });
    await this.world.clock.settle();
  }

  #labels(pool: string): object {
    const rev = String(++this.#revision);
    const facts = this.#story.pools.find(({ name }) => name === pool);
    const labels = { team: pool, rev };
    return facts?.generation === "v1alpha5"
      ? { spec: { labels } }
      : { spec: { template: { metadata: { labels } } } };
  }

  async #patchPool(name: string, body: object): Promise<void> {
    const facts = this.#story.pools.find((one) => one.name === name);
    if (facts === undefined) return;
    await this.#patch(facts.kind.apiVersion, facts.kind.kind, name, body);
  }

  async #pause(pool: string, paused: boolean): Promise<void> {
    const annotations = { "karpenter.sh/disruption-paused": paused ? "true" : null };
    await this.#patchPool(pool, { metadata: { annotations } });
    this.witness.rules.pauses(pool, paused);
  }

  #reclaim(id: string): void {
    this.world.box.sandbox.aws.controls.reclaimSpot(id);
    // Else nobody is told.
    if (this.#story.flags["interruption-queue"] === undefined) this.witness.rules.warned(id);
  }

  async #changePool(pool: string): Promise<void> {
    await this.#patchPool(pool, this.#labels(pool));
    this.witness.rules.poolChanged(pool, String(this.#revision));
  }

  async #keepAll(pool: string): Promise<void> {
    for (const { metadata } of this.witness.nodes.list())
      if (metadata.labels?.["team"] === pool) await this.#keep(metadata.name, true);
  }

  async #keep(node: string, kept: boolean): Promise<void> {
    const annotations = { "karpenter.sh/do-not-disrupt": kept ? "true" : null };
    await this.#send("v1", "Node", node, { metadata: { annotations } });
    await this.world.clock.settle();
    this.witness.rules.keeps(node, kept);
  }

  #rollOut(app: string, annotations: Readonly<Record<string, string | null>>): Promise<void> {
    const change = { "calm/revision": String(++this.#revision), ...annotations };
    return this.#patch("apps/v1", "Deployment", app, {
      spec: { template: { metadata: { annotations: change } } },
    });
  }

  async #patch(apiVersion: string, kind: string, name: string, body: object): Promise<void> {
    const answer = await this.#send(apiVersion, kind, name, body);
    if (answer.status >= 300)
      throw new Error(`patching ${kind} ${name}: ${JSON.stringify(answer.body)}`);
    await this.world.clock.settle();
  }

  #send(apiVersion: string, kind: string, name: string, body: object): Promise<KubeResponse> {
    const plural = `${kind.toLowerCase()}s`;
    const root = apiVersion.includes("/") ? "apis" : "api";
    const place = apiVersion === "apps/v1" ? "namespaces/default/" : "";
    return this.world.box.sandbox.transport.send({
      method: "PATCH",
      path: `/${root}/${apiVersion}/${place}${plural}/${name}`,
      headers: { "content-type": "application/merge-patch+json" },
      body,
    });
  }

  /** What would keep nodes from leaving for good is taken off. */
  async #release(): Promise<void> {
    for (const { name, held } of this.#story.apps)
      if (held) await this.#rollOut(name, { "karpenter.sh/do-not-disrupt": null });
    for (const { name } of this.#story.pools) await this.#pause(name, false);
    for (const name of this.witness.rules.kept) await this.#keep(name, false);
  }

  /** Instances of Karpenter's that are paid for. */
  #instances() {
    return [...this.world.box.sandbox.aws.state.instances.values()].filter(
      ({ fleetId, state }) => fleetId !== undefined && (state === "running" || state === "pending"),
    );
  }

  #strays(): readonly string[] {
    const instances = new Set(this.#instances().map(({ id }) => id));
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

  /** What is not yet where it belongs. */
  #unsettled(): readonly string[] {
    return [...unsettled(this.#seen()), ...this.#strays()];
  }

  #seen(): Seen {
    const { pods, nodes } = this.witness;
    const seen = { pods: pods.list(), nodes: nodes.list(), claims: this.witness.claims() };
    return { ...this.#story, wanted: this.#wanted, ...seen };
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

  /** Once settled it comes to rest: consolidation and drift may take a while, then nothing is written. */
  async #rest(): Promise<void> {
    // Nodes that expire come and go; each does so once. What guards pods may hold one back for good.
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

  /** Without pools everything goes; workloads first, for no pod of theirs could go elsewhere. */
  async #takeDown(): Promise<void> {
    const { world, witness } = this;
    for (const { name, manifests } of this.#story.apps) {
      this.#wanted.set(name, 0);
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
      ...this.#instances().map(({ id }) => `instance ${id}`),
    ]);
  }
}

/** Of the cloud's calls: reading, also of the queue, and sweeping up what was last used a while ago. Dry runs fail. */
const QUIET_CALLS = /^(?:Describe|Get|List|Receive|DeleteMessage|DeleteLaunchTemplate$)/;

const WITHOUT_FINALIZERS = { metadata: { finalizers: null } };

const REFUSALS = [
  refusal(429, "TooManyRequests"),
  refusal(500, "InternalError"),
  refusal(503, "ServiceUnavailable"),
  refusal(504, "Timeout"),
];

function hasLostLead({ log }: Replica): boolean {
  return log.some((line) => line.includes("leader election lost"));
}

function pick<T>(all: readonly T[], at: number): T | undefined {
  return all.length === 0 ? undefined : all[at % all.length];
}
