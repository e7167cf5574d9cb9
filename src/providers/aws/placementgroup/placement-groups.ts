/**
 * The placement group of a class: found by name or id, and cached for a minute. While EC2 does not answer, its last
 * answer is used for up to a day.
 * upstream: pkg/providers/placementgroup
 */
import type { AwsClass } from "../../../apis/hub/aws-class.ts";
import type { Clock } from "../../../base/clock.ts";
import { canonicalJson } from "../../../base/json.ts";
import { AwsError } from "../api/call.ts";
import type { Ec2Api } from "../api/ec2.ts";
import { TtlCache } from "../cache/ttl-cache.ts";

const REFRESH_MS = 60_000;
const KEEP_MS = 24 * 3_600_000;

/** A placement group of the account. */
export interface FoundPlacementGroup {
  readonly id: string;
  readonly name: string;
  readonly strategy: string;
  /** The partitions as text, from `1` to their number. Empty for other strategies. */
  readonly partitions: readonly string[];
}

/** Looks placement groups up by id or name. Answers are cached. */
export class PlacementGroups {
  readonly #ec2: Ec2Api;
  readonly #clock: Clock;
  readonly #cache: TtlCache<FoundPlacementGroup | undefined>;
  readonly #last = new Map<string, { group: FoundPlacementGroup | undefined; atMs: number }>();

  constructor(ec2: Ec2Api, clock: Clock) {
    this.#ec2 = ec2;
    this.#clock = clock;
    this.#cache = new TtlCache(clock, REFRESH_MS);
  }

  /** The placement group of the class. Undefined: the class selects none, or it does not exist. */
  async find({
    placementGroup: selector,
  }: Pick<AwsClass, "placementGroup">): Promise<FoundPlacementGroup | undefined> {
    if (selector === undefined) return undefined;
    const key = canonicalJson(selector);
    try {
      const group = await this.#cache.get(key, () => this.#read(selector));
      this.#last.set(key, { group, atMs: this.#clock.elapsedMs() });
      return group;
    } catch (error) {
      const last = this.#last.get(key);
      if (last === undefined || this.#clock.elapsedMs() - last.atMs > KEEP_MS) throw error;
      return last.group;
    }
  }

  async #read(
    selector: NonNullable<AwsClass["placementGroup"]>,
  ): Promise<FoundPlacementGroup | undefined> {
    try {
      // The answer is not destructured: TypeScript 7.0.2 would rename a property that has the name of the class.
      const answer = await this.#ec2.describePlacementGroups({
        Filters: [{ Name: "state", Values: ["available"] }],
        ...(selector.id === undefined ? {} : { GroupIds: [selector.id] }),
        ...(selector.name === undefined ? {} : { GroupNames: [selector.name] }),
      });
      const [group] = answer.PlacementGroups;
      if (group === undefined) return undefined;
      const count = group.Strategy === "partition" ? (group.PartitionCount ?? 0) : 0;
      return {
        id: group.GroupId,
        name: group.GroupName,
        strategy: group.Strategy,
        partitions: Array.from({ length: count }, (_, at) => String(at + 1)),
      };
    } catch (error) {
      if (error instanceof AwsError && error.code.startsWith("InvalidPlacementGroup")) {
        return undefined;
      }
      throw error;
    }
  }
}
