/**
 * The images of a node class. SSM parameters name the images of a family or an alias; for other terms DescribeImages
 * finds the images. Values of fixed AWS parameters are cached for a day, values of other parameters for five minutes,
 * images for a minute. upstream: pkg/providers/amifamily/ami.go, pkg/providers/ssm
 */
import type { AmiSelectorTerm } from "../../../apis/aws/ec2nodeclass.ts";
import type { AwsClass } from "../../../apis/hub/aws-class.ts";
import type { Clock } from "../../../base/clock.ts";
import { canonicalJson } from "../../../base/json.ts";
import type { Logger } from "../../../base/log.ts";
import { StandingProblems } from "../../../base/standing-problems.ts";
import type { AwsApi } from "../api/aws-api.ts";
import { AwsError, allPages } from "../api/call.ts";
import type { DescribeImagesInput, Image } from "../api/images-and-types.ts";
import { TtlCache } from "../cache/ttl-cache.ts";
import { tagFilters } from "../subnet/filters.ts";
import { type Ami, newestOfEach, tagRequirements, toAmi } from "./choose.ts";
import { type SsmQuery, ssmQueries } from "./ssm-paths.ts";

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

type ClassPart = Pick<AwsClass, "amiFamily" | "amiTerms" | "amiTagRequirements">;

/** The images of a node class, by selector terms or by SSM parameters. Answers are cached. */
export class Amis {
  readonly #deps: AmisDeps;
  /** Problems that are reported once while they last, by selector term or parameter. */
  readonly #problems: StandingProblems;
  readonly #cache: TtlCache<readonly Ami[]>;
  readonly #ssm: TtlCache<string | undefined>;
  readonly #mutableSsm: TtlCache<string | undefined>;

  constructor(deps: AmisDeps) {
    this.#deps = deps;
    this.#problems = new StandingProblems(deps.log, deps.clock);
    this.#cache = new TtlCache(deps.clock, deps.refreshMs);
    this.#ssm = new TtlCache(deps.clock, SSM_MS);
    this.#mutableSsm = new TtlCache(deps.clock, MUTABLE_SSM_MS);
  }

  /** The images of the class, newest first. Empty: none matches. */
  async list(nodeClass: ClassPart): Promise<readonly Ami[]> {
    const kubernetes = await this.#deps.kubernetesVersion();
    const { amiFamily, amiTerms, amiTagRequirements } = nodeClass;
    const key = canonicalJson([kubernetes, amiFamily, amiTerms, amiTagRequirements]);
    return this.#cache.get(key, () => this.#read(nodeClass, kubernetes));
  }

  async #read(nodeClass: ClassPart, kubernetes: string): Promise<readonly Ami[]> {
    const alias = nodeClass.amiTerms.find((term) => term.alias !== undefined)?.alias;
    if (nodeClass.amiTerms.length === 0 || alias !== undefined) {
      const version = alias?.split("@")[1] ?? "latest";
      return this.#fromFamily(ssmQueries(nodeClass.amiFamily, kubernetes, version));
    }
    const amiTerms = nodeClass.amiTerms.map((term) => ofVersion(term, kubernetes));
    return this.#fromTerms({ ...nodeClass, amiTerms });
  }

  async #fromFamily(queries: readonly SsmQuery[]): Promise<readonly Ami[]> {
    const ids = await Promise.all(queries.map((query) => this.#parameter(query.parameter)));
    const found = [...new Set(ids.filter((id) => id !== undefined))].sort();
    const tried = queries.map((query) => query.parameter).join(", ");
    if (found.length === 0) {
      this.#problems.tell(tried, "no image found in SSM for this Kubernetes version", { tried });
      return [];
    }
    this.#problems.over(tried);
    const images = await this.#describe({ Filters: [{ Name: "image-id", Values: found }] });
    const byId = new Map(images.map((image) => [image.ImageId, image]));
    const nowMs = this.#deps.clock.now();
    const amis = queries.flatMap((query, at) => {
      const image = byId.get(ids[at] ?? "");
      if (image === undefined) return [];
      return query.variants.map((variant) => toAmi(image, variant, nowMs));
    });
    return newestOfEach(amis.filter((ami) => ami !== undefined));
  }

  async #fromTerms(nodeClass: ClassPart): Promise<readonly Ami[]> {
    const inputs = await this.#inputs(nodeClass.amiTerms);
    const answers = await Promise.all(inputs.map((input) => this.#describe(input)));
    const images = new Map(answers.flat().map((image) => [image.ImageId, image]));
    const nowMs = this.#deps.clock.now();
    const amis = [...images.values()].map((image) =>
      toAmi(image, nodeClass.amiTagRequirements ? tagRequirements(image) : [], nowMs),
    );
    return newestOfEach(amis.filter((ami) => ami !== undefined));
  }

  /** Terms that have only an id share one query. A term with a name and no owner searches `self` and `amazon`. */
  async #inputs(terms: readonly AmiSelectorTerm[]): Promise<readonly DescribeImagesInput[]> {
    const ids = new Set<string>();
    const inputs: DescribeImagesInput[] = [];
    for (const { id, name, owner, tags, ssmParameter } of terms) {
      if (ssmParameter !== undefined) {
        const value = await this.#parameter(ssmParameter);
        if (value !== undefined) ids.add(value);
      } else if (id !== undefined && name === undefined && tags === undefined) ids.add(id);
      else {
        const filters = [
          ...(id === undefined ? [] : [{ Name: "image-id", Values: [id] }]),
          ...(name === undefined ? [] : [{ Name: "name", Values: [name] }]),
          ...tagFilters(tags),
        ];
        const byName = name === undefined ? undefined : ["self", "amazon"];
        const owners = owner === undefined ? byName : [owner];
        inputs.push({ Filters: filters, ...(owners === undefined ? {} : { Owners: owners }) });
      }
    }
    if (ids.size === 0) return inputs;
    return [{ Filters: [{ Name: "image-id", Values: [...ids].sort() }] }, ...inputs];
  }

  async #describe(input: DescribeImagesInput): Promise<readonly Image[]> {
    const Filters = [...(input.Filters ?? []), { Name: "state", Values: ["available"] }];
    const pages = await allPages((token) =>
      this.#deps.api.ec2.describeImages({
        ...input,
        Filters,
        IncludeDeprecated: true,
        MaxResults: 1_000,
        ...token,
      }),
    );
    return pages.flatMap((page) => page.Images);
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
