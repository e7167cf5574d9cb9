/**
 * The images of a node class. SSM parameters name the images of a family or an alias; for other terms DescribeImages
 * finds the images. Values of fixed AWS parameters are cached for a day, values of other parameters for five minutes,
 * images for a minute. upstream: pkg/providers/amifamily/ami.go, pkg/providers/ssm
 */
import type { AmiSelectorTerm } from "../../../apis/aws/ec2nodeclass.ts";
import type { AwsClass } from "../../../apis/hub/aws-class.ts";
import type { RequirementSpec } from "../../../apis/karpenter/nodepool.ts";
import type { Clock } from "../../../base/clock.ts";
import { canonicalJson } from "../../../base/json.ts";
import type { Logger } from "../../../base/log.ts";
import { StandingProblems } from "../../../base/standing-problems.ts";
import type { AwsApi } from "../api/aws-api.ts";
import { AwsError, allPages, type Filter } from "../api/call.ts";
import type { DescribeImagesInput, Image } from "../api/images-and-types.ts";
import { TtlCache } from "../cache/ttl-cache.ts";
import {
  type ListedKind,
  type Proof,
  ProvenLists,
  type SelectorQuery,
} from "../selection/proven-lists.ts";
import { tagFilters } from "../subnet/filters.ts";
import { type Ami, newestOfEach, tagRequirements, toAmi } from "./choose.ts";
import { type SsmQuery, ssmQueries } from "./ssm-paths.ts";

/** Milliseconds for which the ID of the account is cached. */
const ACCOUNT_MS = 24 * 3_600_000;
const SSM_MS = 24 * 3_600_000;
/**
 * Milliseconds for which values of parameters such as `latest` and `recommended` are cached. The values change, and new
 * images must cause drift.
 */
const MUTABLE_SSM_MS = 300_000;

/** The dependencies of {@link Amis}. */
export interface AmisDeps {
  readonly api: AwsApi;
  readonly clock: Clock;
  readonly log: Logger;
  /** How long images are kept. */
  readonly refreshMs: number;
  /** The version of Kubernetes, such as `1.34`. */
  readonly kubernetesVersion: () => Promise<string>;
}

type ClassPart = Pick<AwsClass, "amiFamily" | "amiTerms" | "amiTagRequirements" | "selectedBefore">;

/** How the images of a class are found, and what makes them the class's own. */
interface Search {
  readonly queries: readonly SelectorQuery[];
  /** The instance types that an image fits: one list of requirements for each entry in the status. */
  variantsOf(image: Image): readonly (readonly RequirementSpec[])[];
}

/** The images of a node class, by selector terms or by SSM parameters. Answers are cached. */
export class Amis {
  readonly #deps: AmisDeps;
  /** Problems that are reported once while they last, by selector term or parameter. */
  readonly #problems: StandingProblems;
  readonly #lists: ProvenLists<Image>;
  readonly #ssm: TtlCache<string | undefined>;
  readonly #mutableSsm: TtlCache<string | undefined>;
  /** The images of a class, made from a list of EC2's images, by the search. */
  readonly #made = new WeakMap<readonly Image[], Map<string, readonly Ami[]>>();
  /** The images that each list of images was chosen from. */
  readonly #candidates = new WeakMap<readonly Ami[], ReadonlySet<string>>();

  constructor(deps: AmisDeps) {
    this.#deps = deps;
    this.#problems = new StandingProblems(deps.log, deps.clock);
    this.#lists = new ProvenLists({ ...deps, kind: kind(deps.api, deps.clock) });
    this.#ssm = new TtlCache(deps.clock, SSM_MS);
    this.#mutableSsm = new TtlCache(deps.clock, MUTABLE_SSM_MS);
  }

  /** The images of the class, newest first. Empty: none matches. */
  async list(nodeClass: ClassPart): Promise<readonly Ami[]> {
    const { queries, variantsOf } = await this.#search(nodeClass);
    const images = await this.#lists.list(queries, nodeClass.selectedBefore.amis);
    const { amiFamily, amiTerms, amiTagRequirements } = nodeClass;
    const key = canonicalJson([amiFamily, amiTerms, amiTagRequirements]);
    const made = this.#made.get(images) ?? new Map<string, readonly Ami[]>();
    this.#made.set(images, made);
    let amis = made.get(key);
    if (amis === undefined) {
      const nowMs = this.#deps.clock.now();
      const all = images.flatMap((image) =>
        variantsOf(image).map((variant) => toAmi(image, variant, nowMs)),
      );
      const usable = all.filter((ami) => ami !== undefined);
      amis = newestOfEach(usable);
      this.#candidates.set(amis, new Set(usable.map(({ id }) => id)));
      made.set(key, amis);
    }
    return amis;
  }

  /** IDs of the images that a list of this class was chosen from. Empty: it is no such list. */
  candidatesOf(amis: readonly Ami[]): ReadonlySet<string> {
    return this.#candidates.get(amis) ?? NO_CANDIDATES;
  }

  /** What EC2 proves about the images with these IDs and the class. */
  async prove(
    nodeClass: ClassPart,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, Proof<Image>>> {
    const { queries } = await this.#search(nodeClass);
    return this.#lists.prove(queries, nodeClass.selectedBefore.amis, ids);
  }

  async #search(nodeClass: ClassPart): Promise<Search> {
    const kubernetes = await this.#deps.kubernetesVersion();
    const alias = nodeClass.amiTerms.find((term) => term.alias !== undefined)?.alias;
    if (nodeClass.amiTerms.length === 0 || alias !== undefined) {
      const version = alias?.split("@")[1] ?? "latest";
      return this.#ofFamily(ssmQueries(nodeClass.amiFamily, kubernetes, version));
    }
    return {
      queries: await this.#queries(nodeClass.amiTerms.map((term) => ofVersion(term, kubernetes))),
      variantsOf: (image) => [nodeClass.amiTagRequirements ? tagRequirements(image) : []],
    };
  }

  async #ofFamily(queries: readonly SsmQuery[]): Promise<Search> {
    const ids = await Promise.all(queries.map((query) => this.#parameter(query.parameter)));
    const found = [...new Set(ids.filter((id) => id !== undefined))].sort();
    const tried = queries.map((query) => query.parameter).join(", ");
    if (found.length === 0)
      this.#problems.tell(tried, "no image found in SSM for this Kubernetes version", { tried });
    else this.#problems.over(tried);
    return {
      queries: found.length === 0 ? [] : [byIds(found)],
      variantsOf: (image) =>
        queries.flatMap(({ variants }, at) => (ids[at] === image.ImageId ? variants : [])),
    };
  }

  /** Terms that have only an id share one query. A term with a name and no owner searches `self` and `amazon`. */
  async #queries(terms: readonly AmiSelectorTerm[]): Promise<readonly SelectorQuery[]> {
    const ids = new Set<string>();
    const queries: SelectorQuery[] = [];
    for (const { id, name, owner, tags, ssmParameter } of terms) {
      if (ssmParameter !== undefined) {
        const value = await this.#parameter(ssmParameter);
        if (value !== undefined) ids.add(value);
      } else if (id !== undefined && name === undefined && tags === undefined) ids.add(id);
      else {
        const filters = [
          ...(id === undefined ? [] : [{ Name: ID_FILTER, Values: [id] }]),
          ...(name === undefined ? [] : [{ Name: "name", Values: [name] }]),
          ...tagFilters(tags),
        ];
        const byName = name === undefined ? undefined : ["self", "amazon"];
        const owners = owner === undefined ? byName : [owner];
        queries.push({
          Filters: [...filters, AVAILABLE],
          ...(owners === undefined ? {} : { Owners: owners }),
        });
      }
    }
    return ids.size === 0 ? queries : [byIds([...ids].sort()), ...queries];
  }

  /** The value of the parameter. Undefined: it does not exist. */
  #parameter(name: string): Promise<string | undefined> {
    const mutable = /\/(recommended|latest|current)\//.test(name) || !name.startsWith("/aws/");
    const cache = mutable ? this.#mutableSsm : this.#ssm;
    return cache.get(name, async () => {
      try {
        const { Parameter } = await this.#deps.api.ssm.getParameter({ Name: name });
        return Parameter.Value;
      } catch (error) {
        if (error instanceof AwsError && error.code === "ParameterNotFound") {
          this.#deps.log.debug("SSM parameter does not exist", { parameter: name });
          return undefined;
        }
        throw error;
      }
    });
  }
}

const NO_CANDIDATES: ReadonlySet<string> = new Set();
const ID_FILTER = "image-id";
const AVAILABLE: Filter = { Name: "state", Values: ["available"] };

function byIds(ids: readonly string[]): SelectorQuery {
  return { Filters: [{ Name: ID_FILTER, Values: ids }, AVAILABLE] };
}

function kind({ ec2, sts }: AwsApi, clock: Clock): ListedKind<Image> {
  const account = new TtlCache<string>(clock, ACCOUNT_MS);
  const read = async (input: DescribeImagesInput): Promise<readonly Image[]> => {
    const pages = await allPages((token) =>
      ec2.describeImages({ ...input, IncludeDeprecated: true, ...token }),
    );
    return pages.flatMap((page) => page.Images);
  };
  return {
    plural: "images",
    idPrefix: "ami-",
    idFilter: ID_FILTER,
    // Whoever publishes images withdraws a bad one so that it is launched no more.
    staysUnanswered: false,
    idOf: ({ ImageId }) => ImageId,
    filterable: ({ ImageId, Name, State, OwnerId, ImageOwnerAlias, Tags }) => ({
      fields: {
        [ID_FILTER]: ImageId,
        name: Name,
        state: State,
        "owner-id": OwnerId,
        "owner-alias": ImageOwnerAlias,
      },
      tags: Tags,
    }),
    list: ({ Filters, Owners }) =>
      read({ Filters, ...(Owners === undefined ? {} : { Owners }), MaxResults: 1_000 }),
    byId: (ImageIds) => read({ ImageIds, IncludeDisabled: true }),
    account: () =>
      account.get("", async () => (await sts.getCallerIdentity({})).Account).catch(() => undefined),
  };
}

/** Replaces `{kubernetesVersion}` in names and parameters by the version of the cluster. karpenter-ts only. */
function ofVersion(term: AmiSelectorTerm, kubernetes: string): AmiSelectorTerm {
  const { name, ssmParameter } = term;
  const filled = (text: string): string => text.replaceAll("{kubernetesVersion}", kubernetes);
  return {
    ...term,
    ...(name === undefined ? {} : { name: filled(name) }),
    ...(ssmParameter === undefined ? {} : { ssmParameter: filled(ssmParameter) }),
  };
}
