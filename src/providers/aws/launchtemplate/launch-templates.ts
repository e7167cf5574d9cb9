/**
 * Launch templates made by this controller: created when first needed, deleted when long unused or with their class.
 * Only templates with this cluster's tag, and without the UID of another cluster, are ever deleted. Karpenter in Go
 * deletes them in the same way, so what it leaves at a handover is deleted here.
 * upstream: pkg/providers/launchtemplate
 */
import type { Clock } from "../../../base/clock.ts";
import type { Logger } from "../../../base/log.ts";
import { allPages, type Filter } from "../api/call.ts";
import type { Ec2Api } from "../api/ec2.ts";
import type { CreateLaunchTemplateInput, LaunchTemplate } from "../api/launches.ts";
import { Pace } from "../batch/pace.ts";
import { describeError, isAlreadyExists, isNotFound } from "../errors.ts";
import {
  EKS_CLUSTER_TAG,
  fromTagList,
  isAnothers,
  NODECLASS_TAG,
  TEMPLATE_CLUSTER_TAG,
} from "../tags/tags.ts";
import { launchTemplate, TEMPLATE_PREFIX, type TemplateInput } from "./template-data.ts";

/** How long a template is kept after its last launch, so that a workload that scales up and down can use it again. */
const UNUSED_MS = 300_000;
const REMEMBERED = 512;
/** Tags of templates whose value is the name of the cluster. */
const KEYS = [TEMPLATE_CLUSTER_TAG, EKS_CLUSTER_TAG];

/** Launch templates by a hash of their content. Equal content is created once. */
export class LaunchTemplates {
  readonly #ec2: Ec2Api;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #clusterName: string;
  readonly #clusterUid: () => string | undefined;
  readonly #pace: { readonly create: Pace; readonly describe: Pace };
  /** Time of last use, by template name. */
  readonly #usedMs = new Map<string, number>();
  readonly #ensuring = new Map<string, Promise<void>>();
  /** Templates by the text of their input, because rendering and hashing one takes kilobytes of text. */
  readonly #named = new Map<string, CreateLaunchTemplateInput>();
  #hydrated = false;

  constructor(deps: {
    ec2: Ec2Api;
    clock: Clock;
    log: Logger;
    clusterName: string;
    /** An id that differs between clusters of the same name; undefined: not known. */
    clusterUid: () => string | undefined;
  }) {
    this.#ec2 = deps.ec2;
    this.#clock = deps.clock;
    this.#log = deps.log;
    this.#clusterName = deps.clusterName;
    this.#clusterUid = deps.clusterUid;
    this.#pace = { create: new Pace(deps.clock), describe: new Pace(deps.clock) };
  }

  /** The template for this input. It is computed once. */
  of(input: TemplateInput): CreateLaunchTemplateInput {
    const { nodeClass, ...rest } = input;
    const key = JSON.stringify([nodeClass.id, nodeClass.hash, rest]);
    const known = this.#named.get(key) ?? launchTemplate(input);
    this.#named.delete(key);
    this.#named.set(key, known);
    if (this.#named.size > REMEMBERED)
      this.#named.delete(this.#named.keys().next().value as string);
    return known;
  }

  /** Creates the template unless it exists. Resolves with its name. */
  async ensure(template: CreateLaunchTemplateInput): Promise<string> {
    const name = template.LaunchTemplateName;
    const known = this.#usedMs.has(name);
    this.#usedMs.set(name, this.#clock.elapsedMs());
    if (!known) {
      const ensuring = this.#findOrCreate(template);
      this.#ensuring.set(name, ensuring);
    }
    try {
      await this.#ensuring.get(name);
    } catch (error) {
      this.forget(name);
      throw error;
    }
    return name;
  }

  /** Call this if EC2 has no such template any more. The next launch creates it again. */
  forget(name: string): void {
    this.#usedMs.delete(name);
    this.#ensuring.delete(name);
  }

  /** Deletes templates without a recent launch. The first run also finds the templates of an earlier process. */
  async sweep(): Promise<void> {
    if (!this.#hydrated) {
      for (const name of await this.#names()) {
        if (!this.#usedMs.has(name)) this.#usedMs.set(name, this.#clock.elapsedMs());
      }
      // Without the UID, this cluster's templates cannot be distinguished from another cluster's, so the next sweep
      // lists again.
      this.#hydrated = this.#clusterUid() !== undefined;
    }
    const before = this.#clock.elapsedMs() - UNUSED_MS;
    const unused = [...this.#usedMs].filter(([, usedMs]) => usedMs <= before);
    for (const [name] of unused.sort()) {
      const problem = await this.#delete(name);
      if (problem !== undefined)
        this.#log.error("failed to delete launch template", {
          "launch-template-name": name,
          error: describeError(problem),
        });
    }
  }

  /** Deletes the templates that were made for the class. Throws the first error, after all were tried. */
  async deleteOf(className: string): Promise<void> {
    const tag: Filter = { Name: `tag:${NODECLASS_TAG}`, Values: [className] };
    const problems: Error[] = [];
    for (const name of await this.#names([tag])) {
      const problem = await this.#delete(name);
      if (problem !== undefined) problems.push(problem);
    }
    if (problems[0] !== undefined) throw problems[0];
  }

  async #findOrCreate(template: CreateLaunchTemplateInput): Promise<void> {
    const name = template.LaunchTemplateName;
    try {
      const found = await this.#pace.describe.run(() =>
        this.#ec2.describeLaunchTemplates({ LaunchTemplateNames: [name] }),
      );
      if (found.LaunchTemplates.length > 0) return;
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    try {
      const { LaunchTemplate } = await this.#pace.create.run(() =>
        this.#ec2.createLaunchTemplate(template),
      );
      this.#log.debug("created launch template", {
        "launch-template-name": name,
        id: LaunchTemplate.LaunchTemplateId,
      });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  }

  /** Resolves with the error if AWS refuses. Undefined: the template is gone. */
  async #delete(name: string): Promise<Error | undefined> {
    this.forget(name);
    try {
      // The name alone does not suffice: another cluster may have created a template of that name meanwhile.
      if (!(await this.#names([{ Name: "launch-template-name", Values: [name] }])).includes(name))
        return undefined;
      await this.#ec2.deleteLaunchTemplate({ LaunchTemplateName: name });
      this.#log.debug("deleted launch template", { "launch-template-name": name });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      // The template counts as used now, so that a later sweep checks it again.
      this.#usedMs.set(name, this.#clock.elapsedMs());
      return error instanceof Error ? error : new Error(String(error));
    }
    return undefined;
  }

  /** Templates of this cluster that match. Those of Karpenter in Go v1 have the second tag only. */
  async #names(filters: readonly Filter[] = []): Promise<readonly string[]> {
    const found = await Promise.all(
      KEYS.map((key) => {
        const Filters = [this.#tagged(key), ...filters];
        return allPages((token) =>
          this.#ec2.describeLaunchTemplates({ Filters, MaxResults: 200, ...token }),
        );
      }),
    );
    const names = found
      .flat()
      .flatMap((page) => page.LaunchTemplates)
      .filter((one) => one.LaunchTemplateName.startsWith(TEMPLATE_PREFIX))
      // An endpoint that ignores filters answers with templates of other clusters and of other classes.
      .filter((one) => KEYS.some((key) => passes(one, [this.#tagged(key), ...filters])))
      .filter((one) => !isAnothers(one.Tags, this.#clusterUid()))
      .map((one) => one.LaunchTemplateName);
    return [...new Set(names)].sort();
  }

  #tagged(key: string): Filter {
    return { Name: `tag:${key}`, Values: [this.#clusterName] };
  }
}

/** Whether the template passes filters by its name and by tags. */
function passes(
  { LaunchTemplateName, Tags = [] }: LaunchTemplate,
  filters: readonly Filter[],
): boolean {
  return filters.every(({ Name, Values }) => {
    const has =
      Name === "launch-template-name"
        ? LaunchTemplateName
        : fromTagList(Tags)[Name.replace(/^tag:/, "")];
    return has !== undefined && Values.includes(has);
  });
}
