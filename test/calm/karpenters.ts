/**
 * The Karpenter processes of a day: they are started, fail in all the ways that processes and their connections do,
 * and rise again after some seconds. What becomes of the cluster is not looked at here.
 */
import { Random } from "../../src/base/random.ts";
import type { KubeRequest, KubeResponse } from "../../src/kube/transport/transport.ts";
import { type Replica, refusal, startReplica } from "../replicas.ts";
import type { TestWorld } from "../world.ts";
import type { Act, Story } from "./story.ts";

const RESTART_MS = 5_000;
/** How long after the last trouble they may still be slow. */
const TROUBLED_MS = 2 * 60_000;
const UNHARMED = { errors: 0, lost: 0, conflicts: 0, slowMs: 0, lagMs: 0 };

/** What happens to the processes, and to what they send and hear. */
export type Trouble = Extract<
  Act,
  {
    do: "kill" | "cut" | "silence" | "errors" | "lost answers" | "conflicts" | "slow" | "lag";
  }
>;

export class Karpenters {
  readonly #world: TestWorld;
  readonly #story: Pick<Story, "seed" | "flags">;
  readonly #random: Random;
  readonly #sees: (request: KubeRequest) => void;
  #replicas: Replica[] = [];
  #started = 0;
  #kills = 0;
  #troubleMs = Number.NEGATIVE_INFINITY;
  #chances = UNHARMED;

  /** `sees`: is told of each write before it arrives. */
  constructor(
    world: TestWorld,
    story: Pick<Story, "seed" | "flags">,
    sees: (request: KubeRequest) => void,
  ) {
    this.#world = world;
    this.#story = story;
    this.#random = new Random(`play/${story.seed}`);
    this.#sees = sees;
  }

  get leader(): Replica | undefined {
    return this.#replicas.find((one) => !one.dead && one.operator.ready);
  }

  /** How many had to be started again. */
  get kills(): number {
    return this.#kills;
  }

  /** The last lines of those that run. */
  get logs(): readonly string[] {
    return this.#replicas.map(
      ({ identity, log }) => `--- ${identity}\n${log.slice(-300).join("\n")}`,
    );
  }

  start(): void {
    const { seed, flags } = this.#story;
    const replica = startReplica(this.#world, `calm-${seed}-${this.#started++}`, flags);
    replica.meet((request) => this.#meet(request));
    replica.lag(this.#chances.lagMs);
    this.#replicas.push(replica);
  }

  end(): void {
    for (const replica of this.#replicas) replica.kill();
  }

  /** Some are dead, or end because they lead no longer. */
  get haveFallen(): boolean {
    return this.#replicas.some(hasFallen);
  }

  /** `meanwhile`: what is done before the next are there. */
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

  /** What happens while nobody leads is heard by nobody: who comes next lists what is there, as upstream does. */
  get areTroubled(): boolean {
    return (
      this.#world.clock.now() - this.#troubleMs < TROUBLED_MS ||
      this.leader === undefined ||
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

  /** What each of Karpenter's requests meets on its way. */
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
    this.#sees(request);
    if (!chance(lost)) return undefined;
    await this.#world.box.sandbox.transport.send(request);
    throw new Error("socket hang up");
  }
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
