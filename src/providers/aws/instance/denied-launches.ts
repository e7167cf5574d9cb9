/**
 * Instances that EC2 launches although its answer does not name them: the answer is an error, or names too few
 * instances. Each CreateFleet call puts its ClientToken on its instances as a tag. After such an answer, EC2 is asked
 * for instances with that tag, and they go to the claims of the call. A call whose result is unknown is remembered for
 * a minute, because EC2 may list its instances late: they go to the next claims that ask for an equal fleet.
 * karpenter-ts only.
 */
import type { Clock } from "../../../base/clock.ts";
import { fnv64Text } from "../../../base/fnv.ts";
import { canonicalJson } from "../../../base/json.ts";
import { allPages } from "../api/call.ts";
import type { Ec2Api } from "../api/ec2.ts";
import type { Instance } from "../api/instances.ts";
import type { CreateFleetInput, FleetInstance } from "../api/launches.ts";
import { LAUNCH_TAG } from "../tags/tags.ts";

/** Milliseconds after the call in which EC2's descriptions may lack its instances. */
const LISTED_MS = 60_000;
/** EC2 takes at most 200 values for one filter. */
const MOST_TOKENS = 200;
/** How many found instances are remembered. The oldest is forgotten first. */
const MOST_GIVEN = 10_000;

/** A CreateFleet call whose result is unknown. */
interface DoubtfulCall {
  readonly token: string;
  /** Equal for equal fleets, whatever their number of instances. */
  readonly fleet: bigint;
  readonly atMs: number;
}

/** Remembers calls whose result is unknown, and finds their instances. */
export class DeniedLaunches {
  readonly #ec2: Pick<Ec2Api, "describeInstances">;
  readonly #clock: Clock;
  #calls: readonly DoubtfulCall[] = [];
  /**
   * The UID of the claim that got each found instance, by ID. EC2 names the instance again if its call is repeated,
   * maybe for another claim.
   */
  readonly #given = new Map<string, string>();

  constructor(ec2: Pick<Ec2Api, "describeInstances">, clock: Clock) {
    this.#ec2 = ec2;
    this.#clock = clock;
  }

  /** The result of the call is unknown: its instances may be listed within a minute. `input`: a fleet of one. */
  doubt(token: string, input: CreateFleetInput): void {
    if (this.#recent().some((one) => one.token === token)) return;
    const call = { token, fleet: fleetOf(input), atMs: this.#clock.elapsedMs() };
    this.#calls = [...this.#calls, call];
  }

  /** EC2 named every instance of the call. */
  settle(token: string): void {
    this.#calls = this.#calls.filter((one) => one.token !== token);
  }

  /** Whether the instance was found, and went to a claim that is not one of these. */
  isGiven(id: string, uids: readonly string[]): boolean {
    const owner = this.#given.get(id);
    return owner !== undefined && !uids.includes(owner);
  }

  /** Instances for claims that ask for this fleet, at most one each. EC2 is asked only if a result is unknown. */
  async forFleet(
    input: CreateFleetInput,
    uids: readonly string[],
  ): Promise<readonly FleetInstance[]> {
    const recent = this.#recent();
    if (recent.length === 0) return [];
    const fleet = fleetOf(input);
    const calls = recent.filter((one) => one.fleet === fleet);
    return this.#take(calls.map(({ token }) => token).slice(-MOST_TOKENS), uids, []);
  }

  /** Instances of the call for claims, at most one each. `known`: IDs of instances that its answer named. */
  ofCall(
    token: string,
    uids: readonly string[],
    known: readonly string[],
  ): Promise<readonly FleetInstance[]> {
    return this.#take([token], uids, known);
  }

  async #take(
    tokens: readonly string[],
    uids: readonly string[],
    known: readonly string[],
  ): Promise<readonly FleetInstance[]> {
    if (tokens.length === 0) return [];
    const running = await this.#running(tokens);
    const left = running.filter(
      ({ InstanceId }) => !this.#given.has(InstanceId) && !known.includes(InstanceId),
    );
    const taken = left.slice(0, uids.length);
    for (const [at, { InstanceId }] of taken.entries()) this.#give(InstanceId, uids[at] as string);
    return taken.map(asFleetInstance);
  }

  #give(id: string, uid: string): void {
    this.#given.set(id, uid);
    const [oldest] = this.#given.keys();
    if (this.#given.size > MOST_GIVEN && oldest !== undefined) this.#given.delete(oldest);
  }

  /** The calls of the last minute. Older calls are forgotten. */
  #recent(): readonly DoubtfulCall[] {
    const fromMs = this.#clock.elapsedMs() - LISTED_MS;
    this.#calls = this.#calls.filter(({ atMs }) => atMs >= fromMs);
    return this.#calls;
  }

  /** Pending and running instances of these calls. */
  async #running(tokens: readonly string[]): Promise<readonly Instance[]> {
    const Filters = [
      { Name: "instance-state-name", Values: ["pending", "running"] },
      { Name: `tag:${LAUNCH_TAG}`, Values: tokens },
    ];
    const pages = await allPages((next) =>
      this.#ec2.describeInstances({ Filters, MaxResults: 1_000, ...next }),
    );
    return pages.flatMap((page) => page.Reservations.flatMap((r) => r.Instances));
  }
}

/** The call with its ClientToken, also as a tag of its instances. */
export function withToken(input: CreateFleetInput, token: string): CreateFleetInput {
  const TagSpecifications = (input.TagSpecifications ?? []).map((one) => {
    if (one.ResourceType !== "instance") return one;
    // A tag of the user's with this key goes: EC2 refuses a key that is given twice.
    const others = one.Tags.filter(({ Key }) => Key !== LAUNCH_TAG);
    return { ...one, Tags: [...others, { Key: LAUNCH_TAG, Value: token }] };
  });
  return { ...input, TagSpecifications, ClientToken: token };
}

function fleetOf(input: CreateFleetInput): bigint {
  return fnv64Text(canonicalJson(input));
}

function asFleetInstance(one: Instance): FleetInstance {
  const { InstanceId, InstanceType, ImageId, SubnetId, Placement } = one;
  const { AvailabilityZone } = Placement;
  return {
    InstanceIds: [InstanceId],
    InstanceType,
    Lifecycle: one.InstanceLifecycle ?? "on-demand",
    LaunchTemplateAndOverrides: {
      Overrides: {
        InstanceType,
        ImageId,
        AvailabilityZone,
        ...(SubnetId === undefined ? {} : { SubnetId }),
      },
    },
  };
}
