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
import {
  type Kind,
  type Proof,
  ProvenLists,
  type SelectorQuestion,
} from "../selection/proven-lists.ts";
import { filterSets } from "../subnet/filters.ts";

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
    return this.#lists.list(questions(nodeClass), nodeClass.selectedBefore.securityGroups);
  }

  /** What EC2 proves about the groups with these IDs and the class. */
  prove(
    nodeClass: ClassPart,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, Proof<SecurityGroup>>> {
    return this.#lists.prove(questions(nodeClass), nodeClass.selectedBefore.securityGroups, ids);
  }
}

const FILTERS = { idFilter: "group-id", nameFilter: "group-name" } as const;

function kind(ec2: Ec2Api): Kind<SecurityGroup> {
  const { idFilter, nameFilter } = FILTERS;
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
    list: async ({ Filters }) => {
      const pages = await allPages((token) =>
        ec2.describeSecurityGroups({ Filters, MaxResults: PAGE, ...token }),
      );
      return pages.flatMap((page) => page.SecurityGroups);
    },
    byId: async (GroupIds) => {
      const pages = await allPages((token) => ec2.describeSecurityGroups({ GroupIds, ...token }));
      return pages.flatMap((page) => page.SecurityGroups);
    },
  };
}

function questions({ securityGroupTerms }: ClassPart): readonly SelectorQuestion[] {
  const sets = filterSets(securityGroupTerms, FILTERS.idFilter, FILTERS.nameFilter);
  return sets.map((Filters) => ({ Filters }));
}
