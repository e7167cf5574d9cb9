/**
 * Whether EC2, asked for an instance type by name, still sells it. The list of all types may be short and is kept for
 * hours. So a node drifts by its type only if EC2 says that there is no such type, or describes it without the node's
 * capacity type. A type that EC2 does not sell in one zone any more is no drift. EC2 cannot be asked for that by name.
 */
import type { Clock } from "../../../base/clock.ts";
import { AwsError } from "../api/call.ts";
import type { Ec2Api } from "../api/ec2.ts";
import type { InstanceTypeInfo } from "../api/images-and-types.ts";
import { TtlCache } from "../cache/ttl-cache.ts";

/** Milliseconds for which an answer is kept; the drift check asks as rarely about types. */
const KEPT_MS = 30 * 60_000;

/** Answers of EC2 about single types. */
export class OfferedTypes {
  readonly #ec2: Pick<Ec2Api, "describeInstanceTypes">;
  readonly #cache: TtlCache<InstanceTypeInfo | "none" | undefined>;

  constructor(ec2: Pick<Ec2Api, "describeInstanceTypes">, clock: Clock) {
    this.#ec2 = ec2;
    this.#cache = new TtlCache(clock, KEPT_MS);
  }

  /** Whether it is proven that EC2 does not sell the type for `spot`, `on-demand` or `reserved` any more. */
  async isGone(name: string, capacityType: string): Promise<boolean> {
    const info = await this.#cache.get(name, () => this.#read(name));
    if (info === undefined) return false;
    if (info === "none") return true;
    const usage = capacityType === "spot" ? "spot" : "on-demand";
    const usages = info.SupportedUsageClasses;
    return usages.length > 0 && !usages.includes(usage);
  }

  /** Undefined: the answer does not contain the type and does not say that there is none. */
  async #read(name: string): Promise<InstanceTypeInfo | "none" | undefined> {
    try {
      const { InstanceTypes } = await this.#ec2.describeInstanceTypes({ InstanceTypes: [name] });
      return InstanceTypes.find(({ InstanceType }) => InstanceType === name);
    } catch (error) {
      if (error instanceof AwsError && error.code === "InvalidInstanceType") return "none";
      throw error;
    }
  }
}
