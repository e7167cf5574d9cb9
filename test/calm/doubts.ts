/**
 * A cluster at rest whose Karpenter gets false answers (lies.ts), from its start or later. No user changes anything. So
 * no instance may end, no node or claim with pods may be deleted, no pod may move, and no claim may be created without
 * need. The checks read the cluster and the cloud account directly, not the misled process.
 */
import { readFileSync } from "node:fs";
import type { Node } from "../../src/apis/core/node.ts";
import type { Pod } from "../../src/apis/core/pod.ts";
import type { NodeClaim } from "../../src/apis/karpenter/nodeclaim.ts";
import type { KubeResponse } from "../../src/kube/transport/transport.ts";
import { AwsError } from "../../src/providers/aws/api/call.ts";
import {
  type CloudFault,
  type Fault,
  type FirstMet,
  type Replica,
  startReplica,
} from "../replicas.ts";
import { isUsual, openWorld, type TestWorld } from "../world.ts";
import {
  asked,
  CLOUD_LIES,
  type CloudLie,
  type Collection,
  cloudLiar,
  LIES,
  type Lie,
  liar,
} from "./lies.ts";

const MINUTE = 60_000;
const CLAIMS: Collection = "/apis/karpenter.sh/v1/nodeclaims";
/**
 * Milliseconds that a fault lasts by default: long enough for two runs of the garbage collectors. It is shorter
 * than the registration timeout of claims.
 */
const FAULT_MS = 5 * MINUTE;
/** A fault that lasts longer than the registration timeout of claims. */
export const LONG_FAULT_MS = 20 * MINUTE;

/**
 * When the false answers begin. `mid-run`: while Karpenter runs. `start`: when its next process starts. `busy`:
 * during a run, with one more pod that needs its own node.
 */
const MOMENTS = ["mid-run", "start", "busy"] as const;

export interface Misleading {
  /** A collection of the API server, or the cloud. */
  readonly about: Collection | "cloud";
  readonly lie: Lie | CloudLie;
  readonly moment: (typeof MOMENTS)[number];
}

/** A fault that is not about one kind (odd-faults.ts). */
export interface OddFault {
  readonly met: FirstMet;
  /** How many requests the fault changed so far. */
  readonly told: () => number;
  readonly moment: Misleading["moment"];
  /** What happens to the cluster or the account when the fault begins. `end` undoes it. */
  readonly begin?: (world: TestWorld) => Promise<void> | void;
  readonly end?: (world: TestWorld) => Promise<void> | void;
  /** Milliseconds by which Karpenter's clock is ahead of the API server's during the fault. */
  readonly ahead?: number;
}

/** All false answers about these collections and the cloud. */
export function doubtsOf(collections: readonly Collection[]): readonly Misleading[] {
  return MOMENTS.flatMap((moment) => [
    ...collections.flatMap((about) => LIES.map((lie) => ({ about, lie, moment }))),
    ...CLOUD_LIES.map((lie) => ({ about: "cloud", lie, moment }) as const),
  ]);
}

const EXAMPLES = new URL("../../examples/", import.meta.url);
const POOL = readFileSync(new URL("v1/nodepool.yaml", EXAMPLES), "utf8")
  .replace("consolidationPolicy: WhenEmpty", "consolidationPolicy: WhenEmptyOrUnderutilized")
  .replace('values: ["spot", "on-demand"]', 'values: ["on-demand"]');
/** A Deployment with one pod for each of Karpenter's nodes, so that no node can be consolidated. */
const APART = readFileSync(new URL("inflate.yaml", EXAMPLES), "utf8").replace(
  "      containers:",
  `      nodeSelector: { karpenter.sh/capacity-type: on-demand }
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - labelSelector: { matchLabels: { app: inflate } }
              topologyKey: kubernetes.io/hostname
      containers:`,
);
const PODS = 6;

/** Objects and instances that must stay, by UID or ID. */
interface Picture {
  readonly pods: readonly string[];
  readonly nodes: readonly string[];
  readonly claims: readonly string[];
  readonly instances: readonly string[];
}

export class DoubtStage {
  readonly world: TestWorld;
  /** The collections that Karpenter lists, sorted. */
  readonly collections: readonly Collection[];
  readonly #past: ReadonlyMap<Collection, KubeResponse>;
  #karpenter: Replica;
  /** Milliseconds by which Karpenter's clock is off now. */
  readonly #clock: { aheadMs: number };
  #started = 1;
  /** Number of NodeClaims whose creation reached the server. */
  #claimsMade = 0;

  static async open(): Promise<DoubtStage> {
    const world = await openWorld({ sells: isUsual, logLevel: "error" });
    await world.box.operator.stop();
    await world.apply(POOL);
    await world.apply(APART);
    const listed = new Set<Collection>();
    const listen: Fault = async (request) => {
      const what = asked(request);
      if (request.method === "GET" && what !== undefined && what.name === undefined)
        listed.add(what.of);
      return undefined;
    };
    const clock = { aheadMs: 0 };
    const karpenter = startReplica(world, "doubt-0", {}, () => clock.aheadMs, { fault: listen });
    await world.until("it leads", () => karpenter.operator.ready);
    const grow = async (count: number) => {
      await world.scale("inflate", count);
      await world.until(
        `${count} pods run`,
        async () => (await running(world)).length === count,
        10 * MINUTE,
      );
    };
    await grow(PODS / 2);
    const past = new Map<Collection, KubeResponse>();
    for (const path of listed)
      past.set(path, await world.box.sandbox.transport.send({ method: "GET", path }));
    await grow(PODS);
    // Wait until nodes are no longer nominated or newly initialized, because such nodes are not disrupted.
    await world.advance(5 * MINUTE);
    karpenter.meet(undefined);
    return new DoubtStage(world, { karpenter, clock }, past);
  }

  private constructor(
    world: TestWorld,
    { karpenter, clock }: { readonly karpenter: Replica; readonly clock: { aheadMs: number } },
    past: ReadonlyMap<Collection, KubeResponse>,
  ) {
    this.world = world;
    this.#karpenter = karpenter;
    this.#clock = clock;
    this.collections = [...past.keys()].sort();
    this.#past = past;
  }

  /**
   * Misleads Karpenter for `forMs` and watches for the same time after that. Returns sentences about harm; the list
   * should be empty.
   */
  play({ about, lie, moment }: Misleading, forMs = FAULT_MS): Promise<readonly string[]> {
    return this.playFault({ ...this.#misled(about, lie), moment }, forMs);
  }

  /** Plays a fault that is not about one kind, as `play` does. */
  async playFault(
    { met, told, moment, begin, end, ahead = 0 }: OddFault,
    forMs = FAULT_MS,
  ): Promise<readonly string[]> {
    const before = await this.picture();
    if (before.nodes.length < PODS || before.pods.length !== PODS)
      return [`the stage is not as it was: ${JSON.stringify(before)}`];
    const said: string[] = [];
    await begin?.(this.world);
    this.#clock.aheadMs = ahead;
    const fault = this.#counting(met.fault);
    if (moment === "start") {
      this.#karpenter.kill();
      const identity = `doubt-${this.#started++}`;
      this.#karpenter = startReplica(this.world, identity, {}, () => this.#clock.aheadMs, {
        ...met,
        fault,
      });
    } else {
      this.#karpenter.meet(fault);
      this.#karpenter.meetCloud(met.cloudFault);
      this.#karpenter.cut();
    }
    const madeBefore = this.#claimsMade;
    const watchFor = async (what: string) => {
      for (let ms = 0; ms < forMs && said.length === 0; ms += MINUTE) {
        await this.world.advance(MINUTE);
        const after = await this.picture();
        const made = this.#claimsMade - madeBefore;
        const bought = after.instances.filter((id) => !before.instances.includes(id)).length;
        said.push(
          ...[...harm(before, after), ...excess(made, bought, moment)].map(
            (one) => `${what}: ${one}`,
          ),
        );
      }
    };
    if (moment === "busy") await this.world.scale("inflate", PODS + 1);
    await watchFor("while it lasts");
    if (told() === 0) said.push("nobody was misled");
    this.#karpenter.meet(this.#counting());
    this.#karpenter.meetCloud(undefined);
    await end?.(this.world);
    this.#clock.aheadMs = 0;
    this.#karpenter.cut();
    if (moment === "busy") await this.world.scale("inflate", PODS);
    await watchFor("afterwards");
    if (said.length === 0 && !this.#karpenter.operator.ready) said.push("it does not come back");
    return said;
  }

  get log(): readonly string[] {
    return this.#karpenter.log;
  }

  close(): Promise<void> {
    this.#karpenter.kill();
    return this.world.close();
  }

  /** The fault, which also counts the NodeClaims that are created. */
  #counting(fault: Fault = async () => undefined): Fault {
    return async (request) => {
      const answer = await fault(request);
      if (request.method === "POST" && asked(request)?.of === CLAIMS && answer === undefined)
        this.#claimsMade++;
      return answer;
    };
  }

  #misled(
    about: Misleading["about"],
    lie: Misleading["lie"],
  ): { met: FirstMet; told: () => number } {
    if (about === "cloud") {
      let calls = 0;
      const fault = cloudLiar(lie as CloudLie, () => {
        throw new AwsError("InvalidInstanceID.NotFound", "The instance ID does not exist");
      });
      const cloudFault: CloudFault = (call, input, go) => {
        if (call === "ec2.describeInstances") calls++;
        return fault(call, input, go);
      };
      return { met: { cloudFault }, told: () => calls };
    }
    const { transport } = this.world.box.sandbox;
    const past = this.#past.get(about);
    const teller = liar(transport, { of: about, lie: lie as Lie, past });
    return { met: { fault: teller.fault }, told: () => teller.told };
  }

  async picture(): Promise<Picture> {
    const { world } = this;
    const nodes = await world.list<Node>("Node", "v1", "karpenter.sh/nodepool");
    const claims = await world.list<NodeClaim>("NodeClaim", "karpenter.sh/v1");
    return {
      pods: await running(world),
      nodes: nodes.filter(stays).map(({ metadata }) => metadata.uid ?? ""),
      claims: claims.filter(stays).map(({ metadata }) => metadata.uid ?? ""),
      instances: [...world.box.sandbox.aws.state.instances.values()]
        .filter(({ state }) => state === "running")
        .map(({ id }) => id),
    };
  }
}

function stays({ metadata }: Node | NodeClaim): boolean {
  return metadata.deletionTimestamp === undefined;
}

/** A sentence if more claims were created, or more instances launched, than the pending pods need. */
function excess(made: number, bought: number, moment: Misleading["moment"]): readonly string[] {
  const wanted = moment === "busy" ? 1 : 0;
  return [
    ...(made > wanted ? [`${made} claims are made, ${wanted} are needed`] : []),
    ...(bought > wanted ? [`${bought} instances are launched, ${wanted} are needed`] : []),
  ];
}

/** UIDs of running pods that are not being deleted. */
async function running(world: TestWorld): Promise<readonly string[]> {
  const pods = await world.list<Pod>("Pod", "v1", "app=inflate");
  return pods
    .filter(({ status, metadata }) => status?.phase === "Running" && !metadata.deletionTimestamp)
    .map(({ metadata }) => metadata.uid ?? "");
}

/** Sentences about what was there before and is gone, or is being deleted. */
export function harm(before: Picture, after: Picture): readonly string[] {
  return (Object.keys(before) as (keyof Picture)[]).flatMap((what) => {
    const left = new Set(after[what]);
    const gone = before[what].filter((one) => !left.has(one));
    return gone.length === 0 ? [] : [`${gone.length} of ${before[what].length} ${what} end`];
  });
}
