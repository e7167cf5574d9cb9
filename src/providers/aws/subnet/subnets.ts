/**
 * The subnets of a class, and the one of each zone for a launch: the one with most free addresses. EC2's count is read
 * only once a minute, so addresses for launches since then are counted here.
 * upstream: pkg/providers/subnet
 */
import type { AwsClass } from "../../../apis/hub/aws-class.ts";
import type { Clock } from "../../../base/clock.ts";
import type { Logger } from "../../../base/log.ts";
import { allPages } from "../api/call.ts";
import type { Ec2Api } from "../api/ec2.ts";
import type { Subnet } from "../api/network.ts";
import { type ListedKind, type Proof, ProvenLists } from "../selection/proven-lists.ts";
import { type FilterNames, selectorQueries } from "./filters.ts";

const PAGE = 500;
/** Milliseconds for which a subnet without free addresses is not used; as long as an unavailable offering. */
const EXHAUSTED_MS = 180_000;

/** The subnets of a node class, with free addresses minus those of launches since the last reading. */
export class Subnets {
  readonly #clock: Clock;
  readonly #lists: ProvenLists<Subnet>;
  /** The free addresses that EC2 counted last, by the id of the subnet. */
  readonly #counts = new Map<string, number>();
  /** Addresses taken by launches since then. */
  readonly #inFlight = new Map<string, number>();
  readonly #exhaustedUntilMs = new Map<string, number>();
  /** The id of each zone, from all subnets seen so far. */
  readonly #zoneIds = new Map<string, string>();

  /** `refreshMs`: how long an answer is cached. */
  constructor(deps: { ec2: Ec2Api; clock: Clock; log: Logger; refreshMs: number }) {
    this.#clock = deps.clock;
    this.#lists = new ProvenLists({ ...deps, kind: this.#kind(deps.ec2) });
  }

  /** The subnets of the class: those with the most free addresses first, then by id. */
  async list(nodeClass: ClassPart): Promise<readonly Subnet[]> {
    const found = await this.#lists.list(
      selectorQueries(nodeClass.subnetTerms, FILTERS),
      nodeClass.selectedBefore.subnets,
    );
    return [...found].sort(
      (a, b) => this.#counted(b) - this.#counted(a) || (a.SubnetId < b.SubnetId ? -1 : 1),
    );
  }

  /** What EC2 proves about the subnets with these IDs and the class. */
  prove(nodeClass: ClassPart, ids: readonly string[]): Promise<ReadonlyMap<string, Proof<Subnet>>> {
    return this.#lists.prove(
      selectorQueries(nodeClass.subnetTerms, FILTERS),
      nodeClass.selectedBefore.subnets,
      ids,
    );
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
    return this.#counted(subnet) - (this.#inFlight.get(subnet.SubnetId) ?? 0);
  }

  /** The free addresses by EC2's newest answer, which may have come for another class or for a drift check. */
  #counted({ SubnetId, AvailableIpAddressCount }: Subnet): number {
    return this.#counts.get(SubnetId) ?? AvailableIpAddressCount;
  }

  #kind(ec2: Ec2Api): ListedKind<Subnet> {
    const { idFilter } = FILTERS;
    const read = async (input: Parameters<Ec2Api["describeSubnets"]>[0]) => {
      const pages = await allPages((token) => ec2.describeSubnets({ ...input, ...token }));
      return this.#seen(pages.flatMap((page) => page.Subnets));
    };
    return {
      plural: "subnets",
      idPrefix: "subnet-",
      idFilter,
      staysUnanswered: true,
      idOf: ({ SubnetId }) => SubnetId,
      filterable: ({ SubnetId, Tags }) => ({ fields: { [idFilter]: SubnetId }, tags: Tags }),
      list: ({ Filters }) => read({ Filters, MaxResults: PAGE }),
      byId: (SubnetIds) => read({ SubnetIds }),
    };
  }

  /** Takes in fresh counts of free addresses, and the ids of zones. */
  #seen(subnets: readonly Subnet[]): readonly Subnet[] {
    for (const one of subnets) {
      const { SubnetId, AvailabilityZone, AvailabilityZoneId } = one;
      this.#counts.set(SubnetId, one.AvailableIpAddressCount);
      this.#inFlight.delete(SubnetId);
      if (AvailabilityZoneId !== undefined) this.#zoneIds.set(AvailabilityZone, AvailabilityZoneId);
    }
    return subnets;
  }
}

type ClassPart = Pick<AwsClass, "subnetTerms" | "selectedBefore">;

const FILTERS: FilterNames = { idFilter: "subnet-id", nameFilter: "tag:Name" };

/** The zone id of each zone. Empty: the id is not known. */
export function zonesOf(subnets: readonly Subnet[]): ReadonlyMap<string, string> {
  const zones = subnets.map(
    (subnet) => [subnet.AvailabilityZone, subnet.AvailabilityZoneId ?? ""] as const,
  );
  return new Map(zones.sort(([a], [b]) => (a < b ? -1 : 1)));
}
