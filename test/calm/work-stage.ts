/**
 * Plays one fault (work-faults.ts) while Karpenter works: while it launches nodes, replaces drifted ones, drains or
 * consolidates. The fault begins in the middle of the work, or when the next Karpenter process starts. The checks
 * read the cluster and the cloud account directly. No instance ends while pods run on it. No node ends and none is
 * launched without need. At the end nothing is left over. Every object that waits for minutes has an event or a
 * condition that says why.
 */
import { readFileSync } from "node:fs";
import type { Event } from "../../src/apis/core/kinds.ts";
import { NODE, type Node } from "../../src/apis/core/node.ts";
import { POD, type Pod } from "../../src/apis/core/pod.ts";
import { NODE_CLAIM, type NodeClaim } from "../../src/apis/karpenter/nodeclaim.ts";
import { NODE_POOL } from "../../src/apis/karpenter/nodepool.ts";
import type { KubeObject } from "../../src/apis/meta.ts";
import { Random } from "../../src/base/random.ts";
import { type CloudFault, type FirstMet, type Replica, startReplica } from "../replicas.ts";
import { isUsual, openWorld, type TestWorld } from "../world.ts";
import { isClosed, isInitialized, isLeaving, isMoved, reasonOf } from "./facts.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
/** Milliseconds that a fault lasts by default: long enough for two runs of the garbage collectors. */
const FAULT_MS = 5 * MINUTE;
/** Milliseconds in which the cluster must settle after the fault. */
const SETTLE_MS = 60 * MINUTE;
/** An object that waits longer than this must have an event or a condition that says why. */
const TOLD_MS = 5 * MINUTE;
/** An older event does not count as the reason why an object waits. */
const RECENT_MS = 20 * MINUTE;

/** What Karpenter does when the fault begins. */
export const WORKS = ["launch", "drift", "drain", "consolidation", "rest"] as const;
type Work = (typeof WORKS)[number];

/** A fault, created again for each cluster. */
export interface WorkFault {
  /** How the API server and the cloud answer while the fault lasts. */
  readonly met?: FirstMet;
  /**
   * Called before Karpenter's work begins. The next three are called when the fault begins, every ten seconds while
   * it lasts, and when it ends.
   */
  readonly prepare?: () => Promise<void> | void;
  readonly begin?: () => Promise<void> | void;
  readonly during?: () => Promise<void> | void;
  readonly end?: () => Promise<void> | void;
  /** Milliseconds by which Karpenter's clock is ahead. `sinceMs`: milliseconds since the fault began. */
  readonly ahead?: (sinceMs: number) => number;
  readonly lastsMs?: number;
  /**
   * `ends`: nodes that end because of the fault itself, as a user wanted. `costs`: further instances that are
   * launched because of it. Absent: none.
   */
  readonly ends?: number;
  readonly costs?: number;
  /** Whether Karpenter can write nothing during the fault. Then no event or condition is expected. */
  readonly isMute?: boolean;
}

/** The cluster that a fault is made for. */
export interface WorkScene {
  readonly world: TestWorld;
  readonly random: Random;
  readonly work: Work;
  /** Whether the fault begins with the start of the next process. */
  readonly restarts: boolean;
}

/** Makes the fault for a cluster, before its work begins. */
export type MakeFault = (scene: WorkScene) => WorkFault;

/**
 * One fault during one kind of work. `restarts`: the fault begins with the start of the next process, otherwise in
 * the middle of a run.
 */
interface WorkCase {
  readonly make: MakeFault;
  readonly work: Work;
  readonly seed: number;
  readonly restarts: boolean;
  /** Whether a whole hour passes after the fault, even if the cluster settles earlier. */
  readonly isLong?: boolean;
}

const EXAMPLES = new URL("../../examples/", import.meta.url);
const POOL = readFileSync(new URL("v1/nodepool.yaml", EXAMPLES), "utf8")
  .replace("consolidationPolicy: WhenEmpty", "consolidationPolicy: WhenEmptyOrUnderutilized")
  .replace('values: ["spot", "on-demand"]', 'values: ["on-demand"]');
/** A Deployment whose pods each need their own node and take some seconds to end. */
const APART = readFileSync(new URL("inflate.yaml", EXAMPLES), "utf8")
  .replace("terminationGracePeriodSeconds: 0", "terminationGracePeriodSeconds: 20")
  .replace(
    "      containers:",
    `      nodeSelector: { karpenter.sh/capacity-type: on-demand }
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - labelSelector: { matchLabels: { app: inflate } }
              topologyKey: kubernetes.io/hostname
      containers:`,
  );
/** Pods whose names stay the same when they are created again. */
const SET = `
apiVersion: apps/v1
kind: StatefulSet
metadata: { name: named }
spec:
  replicas: 2
  serviceName: named
  podManagementPolicy: Parallel
  selector: { matchLabels: { app: named } }
  template:
    metadata: { labels: { app: named } }
    spec:
      nodeSelector: { karpenter.sh/capacity-type: on-demand }
      terminationGracePeriodSeconds: 10
      containers:
        - name: named
          image: public.ecr.aws/eks-distro/kubernetes/pause:3.7
          resources: { requests: { cpu: 500m, memory: 256Mi } }
`;
const APART_PODS = 3;
const SET_PODS = 2;

/** Plays one case. Returns sentences about harm, which should be none, and the log. */
export async function playWork(
  one: WorkCase,
): Promise<{ readonly said: readonly string[]; readonly log: readonly string[] }> {
  const stage = await WorkStage.open(one);
  try {
    const said = await stage.play();
    return { said, log: stage.log };
  } finally {
    await stage.close();
  }
}

class WorkStage {
  readonly #world: TestWorld;
  readonly #case: WorkCase;
  readonly #random: Random;
  readonly #said = new Set<string>();
  readonly #waitingMs = new Map<string, number>();
  readonly #logs: string[] = [];
  #karpenter: Replica;
  #started = 0;
  #ahead = (): number => 0;
  #met: FirstMet = {};
  #wanted = APART_PODS;

  static async open(one: WorkCase): Promise<WorkStage> {
    const world = await openWorld({ sells: isUsual, logLevel: "error", seed: one.seed });
    await world.box.operator.stop();
    for (const text of [POOL, APART, SET]) await world.apply(text);
    const stage = new WorkStage(world, one);
    await world.until("it leads", () => stage.#karpenter.operator.ready);
    await world.scale("inflate", APART_PODS);
    const all = APART_PODS + SET_PODS;
    await world.until("the pods run", async () => (await stage.#running()).length === all, 600_000);
    // New and nominated nodes cannot be disrupted.
    await world.advance(3 * MINUTE);
    return stage;
  }

  private constructor(world: TestWorld, one: WorkCase) {
    this.#world = world;
    this.#case = one;
    this.#random = new Random(`work/${one.seed}`);
    this.#karpenter = this.#start();
  }

  get log(): readonly string[] {
    return [...this.#logs, ...this.#karpenter.log];
  }

  close(): Promise<void> {
    this.#karpenter.kill();
    return this.#world.close();
  }

  async play(): Promise<readonly string[]> {
    const { make, work, restarts, isLong = false } = this.#case;
    const world = this.#world;
    const before = { launched: this.#launched(), living: this.#living() };
    const fault = make({ world, random: this.#random, work, restarts });
    await fault.prepare?.();
    const limits = await this.#work();
    await world.advance(this.#random.int(work === "consolidation" ? 50 : 8) * SECOND);
    const beganMs = world.clock.elapsedMs();
    this.#ahead = () => fault.ahead?.(world.clock.elapsedMs() - beganMs) ?? 0;
    this.#met = fault.met ?? {};
    if (restarts) this.#restart();
    else this.#meet();
    await fault.begin?.();
    await this.#pass(fault.lastsMs ?? FAULT_MS, fault);
    await fault.end?.();
    this.#ahead = () => 0;
    this.#met = {};
    this.#meet();
    this.#waitingMs.clear();
    await this.#settle(isLong);
    const ended = before.living.filter((id) => !this.#living().includes(id)).length;
    const bought = this.#launched() - before.launched;
    const may = limits.ends + (fault.ends ?? 0);
    const costs = limits.needs + (fault.costs ?? 0) + (fault.ends ?? 0);
    if (ended > may) this.#said.add(`${ended} nodes end, ${may} are asked for`);
    if (bought > costs) this.#said.add(`${bought} instances are launched, ${costs} are needed`);
    return [...this.#said];
  }

  /** Begins Karpenter's work. Returns how many nodes it may end, and how many instances it may launch. */
  async #work(): Promise<{ readonly ends: number; readonly needs: number }> {
    const world = this.#world;
    const nodes = this.#living().length;
    switch (this.#case.work) {
      case "launch":
        await this.#scale(APART_PODS + 2);
        return { ends: 0, needs: 2 };
      case "drift": {
        const body = { spec: { template: { metadata: { labels: { team: "new" } } } } };
        await world.client.patch(NODE_POOL, { name: "default" }, { type: "merge", body });
        await world.until("a node drifts", async () =>
          (await this.#claims()).some((one) => reasonOf(one) !== undefined),
        );
        return { ends: nodes, needs: nodes };
      }
      case "drain": {
        const [claim] = await this.#claims();
        await world.client.delete(NODE_CLAIM, { name: claim?.metadata.name ?? "" });
        return { ends: 1, needs: 1 };
      }
      case "consolidation":
        await this.#scale(1);
        return { ends: nodes, needs: 1 };
      case "rest":
        return { ends: 0, needs: 0 };
    }
  }

  async #scale(count: number): Promise<void> {
    this.#wanted = count;
    await this.#world.scale("inflate", count);
  }

  async #pass(ms: number, fault?: WorkFault): Promise<void> {
    const { clock } = this.#world;
    const endMs = clock.now() + ms;
    while (clock.now() < endMs) {
      await this.#world.advance(Math.min(10 * SECOND, endMs - clock.now()));
      await fault?.during?.();
      if (this.#karpenter.log.some((line) => line.includes("leader election lost")))
        this.#restart();
      if (fault?.isMute !== true) await this.#checkTold();
    }
  }

  /** Lets time pass until nothing is left over for some minutes, for an hour at most. */
  async #settle(isLong: boolean): Promise<void> {
    const { clock } = this.#world;
    const endMs = clock.now() + SETTLE_MS;
    let quiet = 0;
    let left: readonly string[] = [];
    while (clock.now() < endMs && (isLong || quiet < 3)) {
      await this.#pass(MINUTE);
      left = await this.#left();
      quiet = left.length === 0 ? quiet + 1 : 0;
    }
    for (const one of left) this.#said.add(`after an hour: ${one}`);
    if (!this.#karpenter.operator.ready) this.#said.add("it does not come back");
  }

  #start(): Replica {
    const identity = `work-${this.#case.seed}-${this.#started++}`;
    const replica = startReplica(this.#world, identity, {}, () => this.#ahead(), {
      ...(this.#met.fault === undefined ? {} : { fault: this.#met.fault }),
      cloudFault: this.#watching(),
    });
    return replica;
  }

  #restart(): void {
    this.#logs.push(...this.#karpenter.log);
    this.#karpenter.kill();
    this.#karpenter = this.#start();
  }

  #meet(): void {
    this.#karpenter.meet(this.#met.fault);
    this.#karpenter.meetCloud(this.#watching());
    this.#karpenter.cut();
  }

  /** The cloud's answers. Before each termination, it is checked whether pods still run on the node. */
  #watching(): CloudFault {
    const { cloudFault } = this.#met;
    return async (call, input, go) => {
      if (call === "ec2.terminateInstances")
        for (const id of (input as { readonly InstanceIds: readonly string[] }).InstanceIds)
          await this.#checkEnd(id);
      return cloudFault === undefined ? go() : cloudFault(call, input, go);
    };
  }

  async #checkEnd(id: string): Promise<void> {
    const { client, clock } = this.#world;
    const claims = await this.#claims();
    const claim = claims.find(({ status }) => status?.providerID?.endsWith(`/${id}`));
    const deadline = claim?.metadata.annotations?.["karpenter.sh/nodeclaim-termination-timestamp"];
    if (clock.now() >= Date.parse(deadline ?? "")) return;
    const nodes = (await client.list(NODE)).items;
    const names = nodes
      .filter(({ spec }) => spec?.providerID?.endsWith(`/${id}`))
      .map(({ metadata }) => metadata.name);
    const pods = (await client.list(POD)).items.filter(
      (pod) =>
        names.includes(pod.spec.nodeName ?? "") && isMoved(pod) && pod.status?.phase === "Running",
    );
    if (pods.length > 0) this.#said.add(`${id} is ended under ${pods.length} pods`);
  }

  /** IDs of Karpenter's instances that are pending or running. */
  #living(): readonly string[] {
    return [...this.#world.box.sandbox.aws.state.instances.values()]
      .filter(({ fleetId, state }) => fleetId !== undefined && /pending|running/.test(state))
      .map(({ id }) => id);
  }

  #launched(): number {
    const { instances } = this.#world.box.sandbox.aws.state;
    for (const { id, fleetId } of instances.values())
      if (fleetId !== undefined) this.#everLaunched.add(id);
    return this.#everLaunched.size;
  }
  readonly #everLaunched = new Set<string>();

  #claims(): Promise<readonly NodeClaim[]> {
    return this.#world.list<NodeClaim>("NodeClaim", "karpenter.sh/v1");
  }

  #pods(): Promise<readonly Pod[]> {
    return this.#world.list<Pod>("Pod", "v1", "app in (inflate,named)");
  }

  async #running(): Promise<readonly Pod[]> {
    return (await this.#pods()).filter(({ status }) => status?.phase === "Running");
  }

  /** What is not settled yet, one sentence each. */
  async #left(): Promise<readonly string[]> {
    const claims = await this.#claims();
    const nodes = await this.#world.list<Node>("Node", "v1", "karpenter.sh/nodepool");
    const living = this.#living();
    this.#launched();
    const running = (await this.#running()).length;
    const wanted = this.#wanted + SET_PODS;
    const ids = claims.map(({ status }) => status?.providerID?.split("/").at(-1) ?? "");
    const owned = new Set(claims.map(({ status }) => status?.nodeName));
    return [
      ...(running === wanted ? [] : [`${running} of ${wanted} pods run`]),
      ...living.filter((id) => !ids.includes(id)).map((id) => `${id} has no claim`),
      ...ids.filter((id) => !living.includes(id)).map((id) => `the instance ${id} is gone`),
      ...[...claims, ...nodes].filter(isLeaving).map((one) => `${one.metadata.name} is leaving`),
      ...claims.filter((one) => !isInitialized(one)).map((one) => `${one.metadata.name} is new`),
      ...claims.filter(reasonOf).map(({ metadata: { name } }) => `${name} is to be disrupted`),
      ...nodes.filter(isClosed).map(({ metadata }) => `${metadata.name} is closed`),
      ...nodes
        .filter(({ metadata }) => !owned.has(metadata.name))
        .map(({ metadata }) => `node ${metadata.name} has no claim`),
    ];
  }

  /**
   * Adds a sentence for each object that has waited for minutes without a recent event, and without a condition
   * that says why.
   */
  async #checkTold(): Promise<void> {
    const nowMs = this.#world.clock.now();
    const waiting = await this.#waiting();
    for (const uid of this.#waitingMs.keys())
      if (!waiting.some(({ metadata }) => metadata.uid === uid)) this.#waitingMs.delete(uid);
    const long = waiting.filter(({ metadata: { uid = "" } }) => {
      const sinceMs = this.#waitingMs.get(uid) ?? nowMs;
      this.#waitingMs.set(uid, sinceMs);
      return nowMs - sinceMs > TOLD_MS;
    });
    if (long.length === 0) return;
    const events = (await this.#world.list<Event>("Event")).filter(
      (one) => nowMs - Date.parse(one.lastTimestamp ?? "") < RECENT_MS,
    );
    for (const {
      kind,
      metadata,
      status,
    } of long as readonly KubeObject[] as readonly NodeClaim[]) {
      const isTold =
        events.some(({ involvedObject }) => involvedObject?.name === metadata.name) ||
        (kind === "NodeClaim" &&
          status?.conditions?.some((one) => one.status !== "True" && one.message));
      if (!isTold) this.#said.add(`${kind} ${metadata.name} waits and is not told for what`);
    }
  }

  /** Pods without a node, and claims and Nodes that are new or being deleted. */
  async #waiting(): Promise<readonly KubeObject[]> {
    const named = (kind: string, all: readonly KubeObject[]) =>
      all.map((one) => ({ ...one, kind }));
    const nodes = await this.#world.list<Node>("Node", "v1", "karpenter.sh/nodepool");
    const claims = await this.#claims();
    return [
      ...named(
        "Pod",
        (await this.#pods()).filter(({ spec }) => spec.nodeName === undefined),
      ),
      ...named("Node", nodes.filter(isLeaving)),
      ...named(
        "NodeClaim",
        claims.filter((one) => isLeaving(one) || !isInitialized(one)),
      ),
    ];
  }
}
