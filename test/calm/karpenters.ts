/**
 * The Karpenter processes of a day. They are started, fail in all the ways in which processes and connections fail, and
 * are restarted after some seconds. This file does not check the cluster.
 */
import { Random } from "../../src/base/random.ts";
import type { KubeRequest, KubeResponse } from "../../src/kube/transport/transport.ts";
import { AwsError } from "../../src/providers/aws/api/call.ts";
import { type Fault, type Replica, refusal, startReplica } from "../replicas.ts";
import type { TestWorld } from "../world.ts";
import { type CloudLie, cloudLiar, type Lie, liar, listedAnew } from "./lies.ts";
import type { Act, Story } from "./story.ts";

const RESTART_MS = 5_000;
/** Milliseconds after the last fault during which the processes may still be slow. */
const TROUBLED_MS = 2 * 60_000;
const UNHARMED = { errors: 0, lost: 0, conflicts: 0, slowMs: 0, lagMs: 0 };

/** Faults of the processes and of their requests and watches. */
export type Trouble = Extract<
  Act,
  {
    do:
      | "kill"
      | "cut"
      | "silence"
      | "errors"
      | "lost answers"
      | "conflicts"
      | "slow"
      | "lag"
      | "tell the truth";
  }
>;

type Misleading = Omit<Extract<Act, { do: "mislead" }>, "do">;

/** Sees each request of the processes before it arrives. */
export interface Overseer {
  sees(request: KubeRequest): void;
  /** A request to terminate these instances was sent to EC2. */
  ends(instanceIds: readonly string[]): void;
}

export class Karpenters {
  readonly #world: TestWorld;
  readonly #story: Pick<Story, "seed" | "flags">;
  readonly #random: Random;
  readonly #overseer: Overseer;
  #replicas: Replica[] = [];
  #started = 0;
  #kills = 0;
  #troubleMs = Number.NEGATIVE_INFINITY;
  #chances = UNHARMED;
  /** The false answers that are given now. `past`: the list of their kind when they began. */
  #misled: (Misleading & { readonly past: KubeResponse | undefined }) | undefined;

  constructor(world: TestWorld, story: Pick<Story, "seed" | "flags">, overseer: Overseer) {
    this.#world = world;
    this.#story = story;
    this.#random = new Random(`play/${story.seed}`);
    this.#overseer = overseer;
  }

  get leader(): Replica | undefined {
    return this.#replicas.find((one) => !one.dead && one.operator.ready);
  }

  /** How many processes had to be restarted. */
  get kills(): number {
    return this.#kills;
  }

  /** The last log lines of the running processes. */
  get logs(): readonly string[] {
    return this.#replicas.map(
      ({ identity, log }) => `--- ${identity}\n${log.slice(-300).join("\n")}`,
    );
  }

  start(): void {
    const { seed, flags } = this.#story;
    const replica = startReplica(this.#world, `calm-${seed}-${this.#started++}`, flags);
    this.#answer(replica);
    replica.lag(this.#chances.lagMs);
    this.#replicas.push(replica);
  }

  /**
   * Sets how the API server and the cloud answer this process: truthfully, or falsely as set now. Each process gets
   * its own false answers, because a false answer begins with a list.
   */
  #answer(replica: Replica, first?: Fault): void {
    const { about = "", lie, past } = this.#misled ?? {};
    const liars =
      about === "" || about === "cloud"
        ? undefined
        : liar(this.#world.box.sandbox.transport, { of: about, lie: lie as Lie, past });
    const fault = liars?.fault ?? first;
    replica.meet(async (request) => (await this.#meet(request)) ?? fault?.(request));
    const cloudLies = about === "cloud" ? cloudLiar(lie as CloudLie, unknownInstance) : undefined;
    replica.meetCloud((call, input, go) => {
      if (call === "ec2.terminateInstances")
        this.#overseer.ends((input as { readonly InstanceIds: readonly string[] }).InstanceIds);
      return cloudLies === undefined ? go() : cloudLies(call, input, go);
    });
  }

  async mislead(misleading: Misleading): Promise<void> {
    const { about, restarts } = misleading;
    const { transport } = this.#world.box.sandbox;
    const past =
      about === "cloud" ? undefined : await transport.send({ method: "GET", path: about });
    this.#misled = { ...misleading, past };
    this.#answerAnew();
    if (restarts) this.leader?.kill();
  }

  #stopMisleading(): void {
    const { about } = this.#misled ?? {};
    this.#misled = undefined;
    this.#answerAnew(about);
  }

  /**
   * Sets the answers of all processes again. `lied`: the kind about which the answers were false until now. Absent:
   * none were.
   */
  #answerAnew(lied?: Misleading["about"]): void {
    this.#troubleMs = this.#world.clock.now();
    for (const replica of this.#replicas) {
      this.#answer(replica, lied === undefined || lied === "cloud" ? undefined : listedAnew(lied));
      replica.cut();
    }
  }

  end(): void {
    for (const replica of this.#replicas) replica.kill();
  }

  /** Whether a process is dead, or ended because it lost the leader lease. */
  get haveFallen(): boolean {
    return this.#replicas.some(hasFallen);
  }

  /** Starts the missing processes. `meanwhile` runs before they start. */
  async raise(meanwhile: () => Promise<void>): Promise<void> {
    await this.#world.advance(RESTART_MS);
    const gone = this.#replicas.filter(hasFallen);
    this.#replicas = this.#replicas.filter((one) => !gone.includes(one));
    await meanwhile();
    for (const one of gone) {
      one.kill();
      this.#kills++;
      this.start();
    }
    this.#troubleMs = this.#world.clock.now();
  }

  /**
   * Whether faults are in effect, or were within the last two minutes. A missing leader counts as a fault, too: the
   * next leader first lists all objects, as upstream does.
   */
  get areTroubled(): boolean {
    return (
      this.#world.clock.now() - this.#troubleMs < TROUBLED_MS ||
      this.leader === undefined ||
      this.#misled !== undefined ||
      Object.values(this.#chances).some((chance) => chance > 0)
    );
  }

  suffer(trouble: Trouble): void {
    switch (trouble.do) {
      case "kill":
        this.leader?.killAtWrite(trouble.write, trouble.arrives);
        break;
      case "cut":
        for (const replica of this.#replicas) replica.cut();
        break;
      case "silence":
        this.silence(trouble.plural);
        break;
      case "tell the truth":
        this.#stopMisleading();
        break;
      case "errors":
        this.#takeChances({ errors: trouble.percent });
        break;
      case "lost answers":
        this.#takeChances({ lost: trouble.percent });
        break;
      case "conflicts":
        this.#takeChances({ conflicts: trouble.percent });
        break;
      case "slow":
        this.#takeChances({ slowMs: trouble.upToMs });
        break;
      case "lag":
        this.#takeChances({ lagMs: trouble.ms });
        for (const replica of this.#replicas) replica.lag(trouble.ms);
    }
  }

  silence(plural: string): void {
    this.#troubleMs = this.#world.clock.now();
    for (const replica of this.#replicas) replica.silence(plural);
  }

  heal(): void {
    this.#troubleMs = this.#world.clock.now();
    this.#chances = UNHARMED;
    for (const replica of this.#replicas) replica.lag(0);
  }

  #takeChances(some: Partial<typeof UNHARMED>): void {
    this.#chances = { ...this.#chances, ...some };
  }

  /**
   * Applies the faults that are set to one request of Karpenter. Returns the answer, or undefined if the server
   * must answer.
   */
  async #meet(request: KubeRequest): Promise<KubeResponse | undefined> {
    const { errors, lost, conflicts, slowMs } = this.#chances;
    const isWrite = request.method !== "GET";
    const chance = (percent: number) => percent > 0 && this.#random.int(100) < percent;
    if (slowMs > 0) await this.#world.clock.sleep(this.#random.int(slowMs));
    if (chance(errors)) return this.#random.pick(REFUSALS);
    const changes = request.method === "PUT" || request.method === "PATCH";
    if (changes && chance(conflicts)) return refusal(409, "Conflict");
    if (!isWrite) return undefined;
    await this.#world.clock.settle();
    this.#overseer.sees(request);
    if (!chance(lost)) return undefined;
    await this.#world.box.sandbox.transport.send(request);
    throw new Error("socket hang up");
  }
}

function unknownInstance(): never {
  throw new AwsError("InvalidInstanceID.NotFound", "The instance ID does not exist");
}

const REFUSALS = [
  refusal(429, "TooManyRequests"),
  refusal(500, "InternalError"),
  refusal(503, "ServiceUnavailable"),
  refusal(504, "Timeout"),
];

function hasFallen({ dead, log }: Replica): boolean {
  return dead || log.some((line) => line.includes("leader election lost"));
}
