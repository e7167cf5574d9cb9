/**
 * Plays the story of a day: changes workloads, NodePools, nodes and instances as people and clouds do. Passes
 * faults of Karpenter's own processes to the class that runs them.
 */
import { fromClaim } from "../../src/apis/hub/claim.ts";
import type { KubeObject } from "../../src/apis/meta.ts";
import type { KubeResponse } from "../../src/kube/transport/transport.ts";
import type { TestWorld } from "../world.ts";
import type { Karpenters } from "./karpenters.ts";
import type { Act, Story } from "./story.ts";
import { isApp, isOurs } from "./unsettled.ts";
import type { Witness } from "./witness.ts";

const WITHOUT_FINALIZERS = { metadata: { finalizers: null } };

export class Hand {
  readonly #world: TestWorld;
  readonly #story: Story;
  readonly #witness: Witness;
  readonly #karpenters: Karpenters;
  readonly #note: (text: string) => void;
  /** The wanted number of replicas of each app. */
  readonly wanted = new Map<string, number>();
  readonly #undo: (() => void)[] = [];
  /**
   * The NodePool whose node was being moved when Karpenter was killed. Its consolidation is turned off before the
   * next Karpenter starts.
   */
  #lastMoved: string | undefined;
  #revision = 0;

  constructor(
    world: TestWorld,
    story: Story,
    witness: Witness,
    karpenters: Karpenters,
    note: (text: string) => void,
  ) {
    this.#world = world;
    this.#story = story;
    this.#witness = witness;
    this.#karpenters = karpenters;
    this.#note = note;
  }

  async do(act: Act): Promise<void> {
    const world = this.#world;
    this.#note(JSON.stringify(act));
    const { faults, controls } = world.box.sandbox.aws;
    switch (act.do) {
      case "scale":
        this.wanted.set(act.app, act.replicas);
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
        const node = pick(this.#witness.nodes.list().filter(isOurs), act.pick);
        if (node !== undefined) await world.remove("Node", node.metadata.name);
        return;
      }
      case "delete pod": {
        const pod = pick(this.#witness.pods.list().filter(isApp), act.pick);
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
      case "kill amid a move":
        return this.#killAmidMove(act);
      case "miss a pod":
        return this.#missPod();
      case "mislead":
        this.#witness.isMisled = true;
        return this.#karpenters.mislead(act);
      case "heal":
        this.#karpenters.heal();
        for (const undo of this.#undo.splice(0)) undo();
        return;
      default:
        return this.#karpenters.suffer(act);
    }
  }

  /**
   * Turns off consolidation of that NodePool before the next Karpenter starts, so that none of its other nodes is
   * moved.
   */
  async leaveAlone(): Promise<void> {
    const pool = this.#story.pools.find(({ name }) => name === this.#lastMoved);
    this.#lastMoved = undefined;
    if (pool?.generation !== "v1") return;
    await this.#patchPool(pool.name, { spec: { disruption: { consolidateAfter: "Never" } } });
    this.#witness.rules.leftAlone(pool.name);
  }

  #missPod(): void {
    let missed: string | undefined;
    const known = this.#witness.nodes.list();
    const isUsed = ({ metadata }: KubeObject) =>
      this.#story.apps.some(({ pool }) => pool === metadata.labels?.["team"]);
    const hearNodes = this.#witness.nodes.on((event, node) => {
      if (event !== "added" || known.includes(node) || !isUsed(node)) return;
      missed = node.metadata.name;
      this.#karpenters.silence("pods");
      hearNodes();
    });
    const hearPods = this.#witness.pods.on((_, pod) => {
      if (missed === undefined || pod.spec.nodeName !== missed || !isApp(pod)) return;
      hearPods();
      this.#note(`${missed} is deleted under ${pod.metadata.name}`);
      void this.#world.remove("Node", missed);
    });
    // After the faults this fault must not delete a node any more, because a PodDisruptionBudget would keep the pod
    // of one replica forever.
    this.#undo.push(hearNodes, hearPods);
  }

  #killAmidMove({ write, arrives, isLast }: Extract<Act, { do: "kill amid a move" }>): void {
    this.#witness.onMarked = ({ metadata }) => {
      this.#witness.onMarked = () => undefined;
      this.#karpenters.leader?.killAtWrite(write, arrives);
      if (isLast) this.#lastMoved = metadata.labels?.["karpenter.sh/nodepool"];
    };
  }

  #wound(
    capacityType: "spot" | undefined,
    at: number,
    hurt: (id: string) => void,
  ): Promise<void> | void {
    const ours = paidFor(this.#world).filter(
      (one) => capacityType === undefined || one.capacityType === capacityType,
    );
    const instance = pick(ours, at);
    if (instance === undefined) return;
    this.#witness.wounds(instance.id);
    hurt(instance.id);
  }

  async #forceClaim(at: number): Promise<void> {
    const claims = this.#witness.claims().filter(({ metadata }) => !metadata.deletionTimestamp);
    const claim = pick(claims, at);
    if (claim === undefined) return;
    const { apiVersion, kind } = fromClaim(claim);
    this.#witness.wounds(claim.status?.providerID?.split("/").at(-1) ?? "");
    const { name } = claim.metadata;
    await this.#world.remove(kind ?? "", name, apiVersion);
    await this.#send(apiVersion ?? "", kind ?? "", name, WITHOUT_FINALIZERS);
    if (claim.status?.nodeName !== undefined) await this.#forceOff(claim.status.nodeName);
  }

  async #forceNode(at: number): Promise<void> {
    const node = pick(this.#witness.nodes.list().filter(isOurs), at);
    const id = node?.spec?.providerID?.split("/").at(-1);
    if (node === undefined || !paidFor(this.#world).some((one) => one.id === id)) return;
    this.#witness.wounds(id as string);
    this.#world.box.sandbox.aws.controls.failInstance(id as string);
    await this.#forceOff(node.metadata.name);
  }

  /**
   * Removes the finalizer and deletes the Node immediately after that, before Karpenter can finish the termination
   * itself.
   */
  async #forceOff(node: string): Promise<void> {
    const { transport } = this.#world.box.sandbox;
    await this.#send("v1", "Node", node, WITHOUT_FINALIZERS);
    await transport.send({ method: "DELETE", path: `/api/v1/nodes/${node}` });
    await this.#world.clock.settle();
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
    this.#witness.rules.pauses(pool, paused);
  }

  #reclaim(id: string): void {
    this.#world.box.sandbox.aws.controls.reclaimSpot(id);
    // A story with this flag runs without the interruption queue. Otherwise Karpenter is warned before the instance
    // ends.
    if (this.#story.flags["interruption-queue"] === undefined) this.#witness.rules.warned(id);
  }

  async #changePool(pool: string): Promise<void> {
    await this.#patchPool(pool, this.#labels(pool));
    this.#witness.rules.poolChanged(pool, String(this.#revision));
  }

  async #keepAll(pool: string): Promise<void> {
    for (const { metadata } of this.#witness.nodes.list())
      if (metadata.labels?.["team"] === pool) await this.#keep(metadata.name, true);
  }

  async #keep(node: string, kept: boolean): Promise<void> {
    const annotations = { "karpenter.sh/do-not-disrupt": kept ? "true" : null };
    await this.#send("v1", "Node", node, { metadata: { annotations } });
    await this.#world.clock.settle();
    this.#witness.rules.keeps(node, kept);
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
    await this.#world.clock.settle();
  }

  #send(apiVersion: string, kind: string, name: string, body: object): Promise<KubeResponse> {
    const plural = `${kind.toLowerCase()}s`;
    const root = apiVersion.includes("/") ? "apis" : "api";
    const place = apiVersion === "apps/v1" ? "namespaces/default/" : "";
    return this.#world.box.sandbox.transport.send({
      method: "PATCH",
      path: `/${root}/${apiVersion}/${place}${plural}/${name}`,
      headers: { "content-type": "application/merge-patch+json" },
      body,
    });
  }

  /** Removes everything that would keep a node from ever leaving. */
  async release(): Promise<void> {
    for (const { name, held } of this.#story.apps)
      if (held) await this.#rollOut(name, { "karpenter.sh/do-not-disrupt": null });
    for (const { name } of this.#story.pools) await this.#pause(name, false);
    for (const name of this.#witness.rules.kept) await this.#keep(name, false);
  }
}

/** Karpenter's instances that exist and cost money. */
export function paidFor({ box }: TestWorld) {
  return [...box.sandbox.aws.state.instances.values()].filter(
    ({ fleetId, state }) => fleetId !== undefined && (state === "running" || state === "pending"),
  );
}

function pick<T>(all: readonly T[], at: number): T | undefined {
  return all.length === 0 ? undefined : all[at % all.length];
}
