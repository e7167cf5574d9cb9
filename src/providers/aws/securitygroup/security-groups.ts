/**
 * The security groups of a class. All that match are attached.
 * upstream: pkg/providers/securitygroup
 */
import type { AwsClass } from "../../../apis/hub/aws-class.ts";
import type { Clock } from "../../../base/clock.ts";
import type { Logger } from "../../../base/log.ts";
import { allPages } from "../api/call.ts";
import type { Ec2Api } from "../api/ec2.ts";
import type { SecurityGroup } from "../api/network.ts";
import { type ListedKind, type Proof, ProvenLists } from "../selection/proven-lists.ts";
import { type FilterNames, selectorQueries } from "../subnet/filters.ts";

const PAGE = 500;

type ClassPart = Pick<AwsClass, "securityGroupTerms" | "selectedBefore">;

/** The security groups of a node class. Answers are cached. */
export class SecurityGroups {
  readonly #lists: ProvenLists<SecurityGroup>;

  /** `refreshMs`: how long an answer is cached. */
  constructor(deps: { ec2: Ec2Api; clock: Clock; log: Logger; refreshMs: number }) {
    this.#lists = new ProvenLists({ ...deps, kind: kind(deps.ec2) });
  }

  /** The groups, sorted by id. */
  list(nodeClass: ClassPart): Promise<readonly SecurityGroup[]> {
    return this.#lists.list(
      selectorQueries(nodeClass.securityGroupTerms, FILTERS),
      nodeClass.selectedBefore.securityGroups,
    );
  }

  /** What EC2 proves about the groups with these IDs and the class. */
  prove(
    nodeClass: ClassPart,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, Proof<SecurityGroup>>> {
    return this.#lists.prove(
      selectorQueries(nodeClass.securityGroupTerms, FILTERS),
      nodeClass.selectedBefore.securityGroups,
      ids,
    );
  }
}

const FILTERS: FilterNames = { idFilter: "group-id", nameFilter: "group-name" };

function kind(ec2: Ec2Api): ListedKind<SecurityGroup> {
  const { idFilter, nameFilter } = FILTERS;
  const read = async (input: Parameters<Ec2Api["describeSecurityGroups"]>[0]) => {
    const pages = await allPages((token) => ec2.describeSecurityGroups({ ...input, ...token }));
    return pages.flatMap((page) => page.SecurityGroups);
  };
  return {
    plural: "security groups",
    idPrefix: "sg-",
    idFilter,
    staysUnanswered: true,
    idOf: ({ GroupId }) => GroupId,
    filterable: ({ GroupId, GroupName, Tags }) => ({
      fields: { [idFilter]: GroupId, [nameFilter]: GroupName },
      tags: Tags,
    }),
    list: ({ Filters }) => read({ Filters, MaxResults: PAGE }),
    byId: (GroupIds) => read({ GroupIds }),
  };
}
