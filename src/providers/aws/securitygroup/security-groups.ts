/**
 * The security groups of a class. All that match are attached.
 * upstream: pkg/providers/securitygroup
 */
import type { SecurityGroupSelectorTerm } from "../../../apis/aws/ec2nodeclass.ts";
import type { AwsClass } from "../../../apis/hub/aws-class.ts";
import type { Clock } from "../../../base/clock.ts";
import { canonicalJson } from "../../../base/json.ts";
import { allPages } from "../api/call.ts";
import type { Ec2Api } from "../api/ec2.ts";
import type { SecurityGroup } from "../api/network.ts";
import { TtlCache } from "../cache/ttl-cache.ts";
import { filterSets } from "../subnet/filters.ts";

const PAGE = 500;

/** The security groups of a node class. Answers are cached. */
export class SecurityGroups {
  readonly #ec2: Ec2Api;
  readonly #cache: TtlCache<readonly SecurityGroup[]>;

  /** `refreshMs`: how long an answer is cached. */
  constructor(ec2: Ec2Api, clock: Clock, refreshMs: number) {
    this.#ec2 = ec2;
    this.#cache = new TtlCache(clock, refreshMs);
  }

  /** The groups, sorted by id. */
  list(nodeClass: Pick<AwsClass, "securityGroupTerms">): Promise<readonly SecurityGroup[]> {
    const terms = nodeClass.securityGroupTerms;
    return this.#cache.get(canonicalJson(terms), () => this.#read(terms));
  }

  async #read(terms: readonly SecurityGroupSelectorTerm[]): Promise<readonly SecurityGroup[]> {
    const answers = await Promise.all(
      filterSets(terms, "group-id", "group-name").map((Filters) =>
        allPages((token) =>
          this.#ec2.describeSecurityGroups({ Filters, MaxResults: PAGE, ...token }),
        ),
      ),
    );
    const byId = new Map<string, SecurityGroup>();
    for (const group of answers.flat().flatMap((page) => page.SecurityGroups)) {
      byId.set(group.GroupId, group);
    }
    return [...byId.values()].sort((a, b) => (a.GroupId < b.GroupId ? -1 : 1));
  }
}
