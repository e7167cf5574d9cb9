/**
 * Instances that EC2 launches although its answer does not name them: the answer is an error, or names too few
 * instances. Each CreateFleet call puts its ClientToken on its instances as a tag. After such an answer, EC2 is asked
 * for instances with that tag, and they go to the claims of the call. A call whose result is unknown is remembered for
 * a minute, because EC2 may list its instances late: they go to the next claims that ask for an equal fleet. An answer
 * that names errors of capacity is believed until a list shows an instance of such a call. For an hour after that,
 * each such answer counts as unknown, and a NodePool with instances that no claim got launches no more than five.
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
/** Milliseconds for which EC2's answers about capacity are doubted after one was wrong, and calls are remembered. */
const DOUBTED_MS = 60 * 60_000;
/** How many calls with errors of capacity are remembered. The oldest is forgotten first. */
const MOST_CALLS = 1_000;
/** If a NodePool has this many instances that no claim got, it launches no more. */
const MOST_STRAYS = 5;

/** A CreateFleet call whose answer names too few instances, or is an error. */
interface DoubtfulCall {
  readonly token: string;
  /** Equal for equal fleets, whatever their number of instances. */
  readonly fleet: bigint;
  readonly atMs: number;
}

/** A call that EC2 answered with errors of capacity. */
interface SoldOutCall {
  readonly atMs: number;
  /** IDs of instances that the answer named. */
  readonly named: readonly string[];
  readonly pool: string;
  readonly templates: ReadonlySet<string | undefined>;
  readonly capacityType: string | undefined;
  /** Whether EC2 has shown an instance that the answer did not name. */
  isShown: boolean;
}

/** Remembers calls whose result is unknown, and finds their instances. */
export class DeniedLaunches {
  readonly #ec2: Pick<Ec2Api, "describeInstances">;
  readonly #clock: Clock;
  #calls: readonly DoubtfulCall[] = [];
  /** Calls that EC2 answered with errors of capacity, by ClientToken. */
  readonly #soldOut = new Map<string, SoldOutCall>();
  /** When a list last showed an instance of such a call, by the monotonic clock. */
  #liedMs = Number.NEGATIVE_INFINITY;
  /** Instances of such calls that no claim got, by the last list. */
  #strays: readonly Instance[] = [];
  /**
   * The UID of the claim that got each instance, by ID. If the call is repeated, maybe for another claim, EC2's answer
   * contains the instance again. An answer to another call may name it wrongly.
   */
  readonly #given = new Map<string, string>();

  constructor(ec2: Pick<Ec2Api, "describeInstances">, clock: Clock) {
    this.#ec2 = ec2;
    this.#clock = clock;
  }

  /**
   * Records that EC2's answer names too few instances. If it names errors of capacity (`isSoldOut`), it is believed
   * unless EC2 was wrong within the last hour. Otherwise the call's result is unknown for a minute. `input`: a
   * fleet of one.
   */
  doubt(
    token: string,
    input: CreateFleetInput,
    { isSoldOut, named }: { readonly isSoldOut: boolean; readonly named: readonly string[] },
  ): void {
    const atMs = this.#clock.elapsedMs();
    if (isSoldOut) {
      const pool = poolOf(input);
      const templates = new Set(input.LaunchTemplateConfigs.map(templateOf));
      const capacityType = capacityTypeOf(input);
      this.#soldOut.set(token, { atMs, named, pool, templates, capacityType, isShown: false });
      const [oldest] = this.#soldOut.keys();
      if (this.#soldOut.size > MOST_CALLS && oldest !== undefined) this.#soldOut.delete(oldest);
    } else if (!this.#recent().some((one) => one.token === token))
      this.#calls = [...this.#calls, { token, fleet: fleetOf(input), atMs }];
  }

  /** Call it when EC2 has named every instance of the call. The call is forgotten. */
  settle(token: string): void {
    this.#calls = this.#calls.filter((one) => one.token !== token);
    this.#soldOut.delete(token);
  }

  /**
   * Takes in a list of this cluster's instances. Returns those that EC2 launched although its answer named errors of
   * capacity, and that no claim got.
   */
  listed(instances: readonly Instance[]): readonly Instance[] {
    const fromMs = this.#clock.elapsedMs() - DOUBTED_MS;
    for (const [token, { atMs }] of this.#soldOut) if (atMs < fromMs) this.#soldOut.delete(token);
    if (this.#soldOut.size > 0 || this.#strays.length > 0) this.#note(instances);
    if (this.#strays.length > 0) this.#liedMs = this.#clock.elapsedMs();
    return this.#strays;
  }

  /** Why no more instances are launched for the pool of this fleet now. Undefined: they are. */
  hold(input: CreateFleetInput): string | undefined {
    if (!this.#isLying()) return undefined;
    const strays = this.#strays.filter((one) => isOfPool(input, one));
    const ids = strays.map(({ InstanceId }) => InstanceId).join(", ");
    const said = "EC2 reported no capacity, and still launched";
    if (strays.length >= MOST_STRAYS)
      return `${said} ${ids}: launching no more until a claim uses them or they are terminated`;
    const last = this.#doubtedOf(input).at(-1);
    if (last === undefined) return undefined;
    const leftMs = last[1].atMs + LISTED_MS - this.#clock.elapsedMs();
    return `${said} instances: waiting ${Math.ceil(leftMs / 1_000)} s to see whether it launched another one`;
  }

  /** Whether the instance went to a claim that is not one of these. */
  isGiven(id: string, uids: readonly string[]): boolean {
    const owner = this.#given.get(id);
    return owner !== undefined && !uids.includes(owner);
  }

  /**
   * Instances for claims that ask for this fleet, at most one each. EC2 is asked only if a result is unknown, or its
   * answers are doubted.
   */
  async forFleet(
    input: CreateFleetInput,
    uids: readonly string[],
  ): Promise<readonly FleetInstance[]> {
    const fleet = fleetOf(input);
    const equal = this.#recent().filter((one) => one.fleet === fleet);
    const found = await this.#take(tokensOf(equal), uids, []);
    if (!this.#isLying() || found.length === uids.length) return found;
    const left = uids.slice(found.length);
    return [...found, ...(await this.#takeStrays(input, left))];
  }

  /**
   * Instances that EC2 launched although it answered with errors of capacity, and that a fleet of this input could
   * have launched, too.
   */
  async #takeStrays(
    input: CreateFleetInput,
    uids: readonly string[],
  ): Promise<readonly FleetInstance[]> {
    const doubted = this.#doubtedOf(input).map(([token]) => token);
    const tokens = [...new Set([...doubted, ...this.#strays.map(tokenOf)])].slice(-MOST_TOKENS);
    if (tokens.length === 0) return [];
    const running = await this.#running(tokens);
    this.#note([...this.#strays.filter((one) => !tokens.includes(tokenOf(one))), ...running]);
    const fitting = this.#strays.filter((one) => {
      const call = this.#soldOut.get(tokenOf(one));
      return call !== undefined && fits(input, one, call);
    });
    const taken = fitting.slice(0, uids.length);
    for (const [at, { InstanceId }] of taken.entries()) this.give(InstanceId, uids[at] as string);
    this.#strays = this.#strays.filter((one) => !taken.includes(one));
    return taken.map(asFleetInstance);
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
    for (const [at, { InstanceId }] of taken.entries()) this.give(InstanceId, uids[at] as string);
    return taken.map(asFleetInstance);
  }

  /** Records that the claim gets the instance, so that no other claim gets it. */
  give(id: string, uid: string): void {
    if (uid === "") return;
    this.#given.set(id, uid);
    const [oldest] = this.#given.keys();
    if (this.#given.size > MOST_GIVEN && oldest !== undefined) this.#given.delete(oldest);
  }

  /** Whether a list has shown within the hour that an answer about capacity was wrong. */
  #isLying(): boolean {
    return this.#clock.elapsedMs() - this.#liedMs < DOUBTED_MS;
  }

  /** Remembers which of these instances EC2 launched although it answered with errors of capacity, and no claim got. */
  #note(instances: readonly Instance[]): void {
    this.#strays = instances.filter((one) => this.#isStray(one));
    for (const one of this.#strays) {
      const call = this.#soldOut.get(tokenOf(one));
      if (call !== undefined) call.isShown = true;
    }
  }

  #isStray({ InstanceId, State, Tags }: Instance): boolean {
    const call = this.#soldOut.get(tokenOf({ Tags }));
    return (
      call !== undefined &&
      ["pending", "running"].includes(State.Name) &&
      !this.#given.has(InstanceId) &&
      !call.named.includes(InstanceId)
    );
  }

  /**
   * Calls of the last minute for the pool of this fleet. EC2 answered them with errors of capacity, and no list has
   * shown an instance of them.
   */
  #doubtedOf(input: CreateFleetInput): readonly (readonly [string, SoldOutCall])[] {
    const fromMs = this.#clock.elapsedMs() - LISTED_MS;
    const pool = poolOf(input);
    return [...this.#soldOut].filter(
      ([, one]) => one.atMs > fromMs && !one.isShown && one.pool === pool,
    );
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
    const found = pages.flatMap((page) => page.Reservations.flatMap((r) => r.Instances));
    // An endpoint that ignores filters answers with instances of other calls and of other users of the account.
    return found.filter(
      (one) => ["pending", "running"].includes(one.State.Name) && tokens.includes(tokenOf(one)),
    );
  }
}

/** The call with its ClientToken, also as a tag of its instances. */
export function withToken(input: CreateFleetInput, token: string): CreateFleetInput {
  const TagSpecifications = (input.TagSpecifications ?? []).map((one) => {
    if (one.ResourceType !== "instance") return one;
    // EC2 refuses a key that is given twice, so a user's tag with this key is dropped.
    const others = one.Tags.filter(({ Key }) => Key !== LAUNCH_TAG);
    return { ...one, Tags: [...others, { Key: LAUNCH_TAG, Value: token }] };
  });
  return { ...input, TagSpecifications, ClientToken: token };
}

function tokensOf(calls: readonly DoubtfulCall[]): readonly string[] {
  return calls.map(({ token }) => token).slice(-MOST_TOKENS);
}

function tokenOf({ Tags }: Pick<Instance, "Tags">): string {
  return Tags.find(({ Key }) => Key === LAUNCH_TAG)?.Value ?? "";
}

/** The tags that the fleet gives its instances, as text. Claims of one NodePool and node class have equal tags. */
function poolOf({ TagSpecifications = [] }: CreateFleetInput): string {
  return canonicalJson(TagSpecifications.find((one) => one.ResourceType === "instance")?.Tags);
}

/** Whether the instance has all tags that the fleet gives its instances. */
function isOfPool({ TagSpecifications = [] }: CreateFleetInput, { Tags }: Instance): boolean {
  const wanted = TagSpecifications.find((one) => one.ResourceType === "instance")?.Tags ?? [];
  return wanted.every(({ Key, Value }) =>
    Tags.some((tag) => tag.Key === Key && (tag.Value === Value || Key === LAUNCH_TAG)),
  );
}

/**
 * Whether the fleet could have launched this instance of a call that EC2 answered with errors of capacity. Compares
 * template, type, subnet, image, capacity type and pool.
 */
function fits(input: CreateFleetInput, instance: Instance, denied: SoldOutCall): boolean {
  const configs = input.LaunchTemplateConfigs.filter((one) =>
    denied.templates.has(templateOf(one)),
  );
  const isOverride = configs.some(({ Overrides }) =>
    Overrides.some(
      (one) =>
        one.InstanceType === instance.InstanceType &&
        one.SubnetId === instance.SubnetId &&
        (one.ImageId === undefined || one.ImageId === instance.ImageId),
    ),
  );
  return isOverride && capacityTypeOf(input) === denied.capacityType && isOfPool(input, instance);
}

type TemplateConfig = CreateFleetInput["LaunchTemplateConfigs"][number];

function templateOf({ LaunchTemplateSpecification }: TemplateConfig): string | undefined {
  return LaunchTemplateSpecification.LaunchTemplateName;
}

function capacityTypeOf({ TargetCapacitySpecification }: CreateFleetInput): string | undefined {
  return TargetCapacitySpecification.DefaultTargetCapacityType;
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
