/**
 * The subnets of a class, and the one of each zone for a launch: the one with most free addresses. EC2's count is read
 * only once a minute, so addresses for launches since then are counted here.
 * upstream: pkg/providers/subnet
 */
import type { SubnetSelectorTerm } from "../../../apis/aws/ec2nodeclass.ts";
import type { AwsClass } from "../../../apis/hub/aws-class.ts";
import type { Clock } from "../../../base/clock.ts";
import { canonicalJson } from "../../../base/json.ts";
import { allPages } from "../api/call.ts";
import type { Ec2Api } from "../api/ec2.ts";
import type { Subnet } from "../api/network.ts";
import { TtlCache } from "../cache/ttl-cache.ts";
import { filterSets } from "./filters.ts";

const PAGE = 500;
/** Milliseconds for which a subnet without free addresses is not used; as long as an unavailable offering. */
const EXHAUSTED_MS = 180_000;

/** The subnets of a node class, with free addresses minus those of launches since the last reading. */
export class Subnets {
  readonly #ec2: Ec2Api;
  readonly #clock: Clock;
  readonly #cache: TtlCache<readonly Subnet[]>;
  /** Addresses taken by launches since the count was read. */
  readonly #inFlight = new Map<string, number>();
  readonly #exhaustedUntilMs = new Map<string, number>();
  /** The id of each zone, from all subnets seen so far. */
  readonly #zoneIds = new Map<string, string>();

  /** `refreshMs`: how long an answer is cached. */
  constructor(ec2: Ec2Api, clock: Clock, refreshMs: number) {
    this.#ec2 = ec2;
    this.#clock = clock;
    this.#cache = new TtlCache(clock, refreshMs);
  }

  /** The subnets of the class: those with the most free addresses first, then by id. */
  list(nodeClass: Pick<AwsClass, "subnetTerms">): Promise<readonly Subnet[]> {
    const terms = nodeClass.subnetTerms;
    return this.#cache.get(canonicalJson(terms), () => this.#read(terms));
  }

  /** The subnet to launch into, for each zone. A zone whose subnets have no free address is left out. */
  choose(subnets: readonly Subnet[]): ReadonlyMap<string, Subnet> {
    const chosen = new Map<string, Subnet>();
    for (const subnet of subnets) {
      if (this.isExhausted(subnet.SubnetId)) continue;
      const rival = chosen.get(subnet.AvailabilityZone);
      if (rival === undefined || this.#free(subnet) > this.#free(rival)) {
        chosen.set(subnet.AvailabilityZone, subnet);
      }
    }
    return chosen;
  }

  /** Counts addresses as taken. A negative number frees them. */
  reserve(subnetId: string, addresses: number): void {
    const taken = (this.#inFlight.get(subnetId) ?? 0) + addresses;
    this.#inFlight.set(subnetId, Math.max(0, taken));
  }

  markExhausted(subnetId: string): void {
    this.#exhaustedUntilMs.set(subnetId, this.#clock.elapsedMs() + EXHAUSTED_MS);
  }

  isExhausted(subnetId: string): boolean {
    return this.#clock.elapsedMs() < (this.#exhaustedUntilMs.get(subnetId) ?? 0);
  }

  /** The id of the zone, such as `use1-az1`. Undefined: no class has a subnet in the zone. */
  zoneIdOf(zone: string): string | undefined {
    return this.#zoneIds.get(zone);
  }

  #free(subnet: Subnet): number {
    return subnet.AvailableIpAddressCount - (this.#inFlight.get(subnet.SubnetId) ?? 0);
  }

  async #read(terms: readonly SubnetSelectorTerm[]): Promise<readonly Subnet[]> {
    const answers = await Promise.all(
      filterSets(terms, "subnet-id", "tag:Name").map((Filters) =>
        allPages((token) => this.#ec2.describeSubnets({ Filters, MaxResults: PAGE, ...token })),
      ),
    );
    const byId = new Map<string, Subnet>();
    for (const subnet of answers.flat().flatMap((page) => page.Subnets)) {
      byId.set(subnet.SubnetId, subnet);
      this.#inFlight.delete(subnet.SubnetId);
      const { AvailabilityZone, AvailabilityZoneId } = subnet;
      if (AvailabilityZoneId !== undefined) this.#zoneIds.set(AvailabilityZone, AvailabilityZoneId);
    }
    return [...byId.values()].sort(
      (a, b) =>
        b.AvailableIpAddressCount - a.AvailableIpAddressCount || (a.SubnetId < b.SubnetId ? -1 : 1),
    );
  }
}
