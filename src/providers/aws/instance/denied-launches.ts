/**
 * Instances that EC2 launches although its answer denies them: the answer is an error, or names too few instances. Each
 * CreateFleet call puts its ClientToken on its instances as a tag. After a doubtful answer, EC2 is asked for instances
 * with that tag. They serve the claims of the call, or later claims that ask for an equal fleet. While others of the
 * NodePool run, nothing more is launched for it: the next launch might be denied as well. karpenter-ts only.
 */
import type { Clock } from "../../../base/clock.ts";
import { canonicalJson } from "../../../base/json.ts";
import { allPages } from "../api/call.ts";
import type { Ec2Api } from "../api/ec2.ts";
import type { Instance } from "../api/instances.ts";
import type { CreateFleetInput, FleetInstance } from "../api/launches.ts";
import { LAUNCH_TAG } from "../tags/tags.ts";

/** Milliseconds after the call in which EC2's descriptions may lack its instances. */
const LISTED_MS = 60_000;
/** EC2 takes at most 200 values for one filter. Older calls are forgotten. */
const REMEMBERED = 200;

/** A CreateFleet call whose answer was doubtful. */
interface DoubtfulCall {
  readonly token: string;
  /** The fleet that was asked for, of one instance. */
  readonly input: string;
  /** The tags of its instances. Equal tags: the same NodePool and node class. */
  readonly tags: string;
  readonly atMs: number;
  /** IDs of its instances that claims have. */
  readonly known: Set<string>;
}

/** Instances that no claim has. */
export interface DeniedInstances {
  /** Those for the claims of this call. They are not returned again. */
  readonly own: readonly FleetInstance[];
  /** IDs of those of the same NodePool that other claims asked for. */
  readonly others: readonly string[];
}

const NONE: DeniedInstances = { own: [], others: [] };

/** Remembers calls with doubtful answers, and finds their instances. */
export class DeniedLaunches {
  readonly #ec2: Pick<Ec2Api, "describeInstances">;
  readonly #clock: Clock;
  #calls: readonly DoubtfulCall[] = [];

  constructor(ec2: Pick<Ec2Api, "describeInstances">, clock: Clock) {
    this.#ec2 = ec2;
    this.#clock = clock;
  }

  /** The call's answer was doubtful. `known`: IDs of instances that it named. */
  doubt(token: string, input: CreateFleetInput, known: readonly string[]): void {
    const earlier = this.#calls.find((one) => one.token === token);
    const call = {
      token,
      input: canonicalJson(input),
      tags: tagsOf(input),
      atMs: this.#clock.elapsedMs(),
      known: new Set([...(earlier?.known ?? []), ...known]),
    };
    this.#calls = [...this.#calls.filter((one) => one !== earlier), call].slice(-REMEMBERED);
  }

  /** At most `count` instances for claims that ask for this fleet. EC2 is asked only if an answer was doubtful. */
  async take(input: CreateFleetInput, count: number): Promise<DeniedInstances> {
    const tags = tagsOf(input);
    const calls = this.#calls.filter((one) => one.tags === tags);
    if (calls.length === 0) return NONE;
    const running = await this.#running(calls.map(({ token }) => token));
    const wanted = canonicalJson(input);
    const own: FleetInstance[] = [];
    const others: string[] = [];
    for (const call of calls) {
      const left = (running.get(call.token) ?? []).filter((one) => !call.known.has(one.InstanceId));
      if (left.length === 0 && this.#clock.elapsedMs() - call.atMs > LISTED_MS)
        this.#calls = this.#calls.filter((one) => one !== call);
      for (const one of left) {
        if (call.input !== wanted) others.push(one.InstanceId);
        else if (own.length < count) {
          call.known.add(one.InstanceId);
          own.push(asFleetInstance(one));
        }
      }
    }
    return { own, others };
  }

  /** Pending and running instances of these calls, by token. */
  async #running(tokens: readonly string[]): Promise<ReadonlyMap<string, readonly Instance[]>> {
    const Filters = [
      { Name: "instance-state-name", Values: ["pending", "running"] },
      { Name: `tag:${LAUNCH_TAG}`, Values: tokens },
    ];
    const pages = await allPages((next) =>
      this.#ec2.describeInstances({ Filters, MaxResults: 1_000, ...next }),
    );
    const byToken = new Map<string, Instance[]>();
    for (const one of pages.flatMap((page) => page.Reservations.flatMap((r) => r.Instances))) {
      const token = one.Tags.find(({ Key }) => Key === LAUNCH_TAG)?.Value ?? "";
      byToken.set(token, [...(byToken.get(token) ?? []), one]);
    }
    return byToken;
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

function tagsOf({ TagSpecifications }: CreateFleetInput): string {
  return canonicalJson(TagSpecifications ?? []);
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
