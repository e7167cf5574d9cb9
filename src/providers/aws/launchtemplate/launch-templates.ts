/**
 * Launch templates that we made: created when first needed, deleted when long unused or when their class
 * goes. Only templates that carry our cluster tag, and not the UID of another cluster, are ever deleted.
 * upstream: pkg/providers/launchtemplate
 */
import type { Clock } from "../../../base/clock.ts";
import type { Logger } from "../../../base/log.ts";
import { allPages, type Filter } from "../api/call.ts";
import type { Ec2Api } from "../api/ec2.ts";
import type { CreateLaunchTemplateInput } from "../api/launches.ts";
import { Pace } from "../batch/pace.ts";
import { describeError, isAlreadyExists, isNotFound } from "../errors.ts";
import { isAnothers, NODECLASS_TAG, TEMPLATE_CLUSTER_TAG } from "../tags/tags.ts";
import { launchTemplate, type TemplateInput } from "./template-data.ts";

/** Kept this long after the last launch, so that a workload that scales up and down can use them again. */
const UNUSED_MS = 300_000;
const REMEMBERED = 512;

/** Launch templates by a hash of their content. Equal content is created once. */
export class LaunchTemplates {
  readonly #ec2: Ec2Api;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #clusterName: string;
  readonly #clusterUid: () => string | undefined;
  readonly #pace: { readonly create: Pace; readonly describe: Pace };
  /** Name → last use. */
  readonly #usedMs = new Map<string, number>();
  readonly #ensuring = new Map<string, Promise<void>>();
  /** Input text → the template: making one means rendering and hashing kilobytes. */
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

  /** The template of these inputs, worked out once. */
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

  /** Resolves once the template exists. */
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

  /** The template does not exist in EC2 any more: the next launch creates it again. */
  forget(name: string): void {
    this.#usedMs.delete(name);
    this.#ensuring.delete(name);
  }

  /** Deletes templates without a recent launch. The first run also reads those of an earlier process. */
  async sweep(): Promise<void> {
    if (!this.#hydrated) {
      const filters = [this.#clusterFilter()];
      for (const name of await this.#names(filters)) {
        if (!this.#usedMs.has(name)) this.#usedMs.set(name, this.#clock.elapsedMs());
      }
      this.#hydrated = true;
    }
    const before = this.#clock.elapsedMs() - UNUSED_MS;
    const unused = [...this.#usedMs].filter(([, usedMs]) => usedMs <= before);
    for (const [name] of unused.sort()) await this.#delete(name);
  }

  /** With the class they were made for. */
  async deleteOf(className: string): Promise<void> {
    const tag: Filter = { Name: `tag:${NODECLASS_TAG}`, Values: [className] };
    for (const name of await this.#names([this.#clusterFilter(), tag])) await this.#delete(name);
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

  async #delete(name: string): Promise<void> {
    this.forget(name);
    try {
      // By name alone it may be one that another cluster has made since.
      if (
        !(
          await this.#names([
            { Name: "launch-template-name", Values: [name] },
            this.#clusterFilter(),
          ])
        ).includes(name)
      )
        return;
      await this.#ec2.deleteLaunchTemplate({ LaunchTemplateName: name });
      this.#log.debug("deleted launch template", { "launch-template-name": name });
    } catch (error) {
      if (isNotFound(error)) return;
      // Looked at again with the next sweep: the time of use is now.
      this.#usedMs.set(name, this.#clock.elapsedMs());
      this.#log.error("failed to delete launch template", {
        "launch-template-name": name,
        error: describeError(error),
      });
    }
  }

  async #names(Filters: readonly Filter[]): Promise<readonly string[]> {
    const pages = await allPages((token) =>
      this.#ec2.describeLaunchTemplates({ Filters, MaxResults: 200, ...token }),
    );
    return pages
      .flatMap((page) => page.LaunchTemplates)
      .filter((one) => !isAnothers(one.Tags, this.#clusterUid()))
      .map((one) => one.LaunchTemplateName)
      .sort();
  }

  #clusterFilter(): Filter {
    return { Name: `tag:${TEMPLATE_CLUSTER_TAG}`, Values: [this.#clusterName] };
  }
}
