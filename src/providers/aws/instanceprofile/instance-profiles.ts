/**
 * The instance profile of a class: named as it is, made and kept for a role, or the settings' default.
 * A managed profile carries the class' tags and exactly one role; it goes with the class.
 * upstream: pkg/providers/instanceprofile (spec: generations 11.2)
 */

import { LABEL_NODECLASS } from "../../../apis/aws/labels.ts";
import type { AwsClass } from "../../../apis/hub/aws-class.ts";
import { contentHash } from "../../../apis/karpenter/nodepool-hash.ts";
import type { Clock } from "../../../base/clock.ts";
import type { Logger } from "../../../base/log.ts";
import { CreateError, NodeClassNotReadyError } from "../../../core/cloudprovider/errors.ts";
import type { IamApi, InstanceProfile } from "../api.ts";
import { TtlCache } from "../cache/ttl-cache.ts";
import { isAlreadyExists, isNotFound } from "../errors.ts";
import {
  clusterTag,
  EKS_CLUSTER_TAG,
  fromTagList,
  MANAGED_BY_TAG,
  toTagList,
} from "../tags/tags.ts";

const KEEP_MS = 900_000;

export interface InstanceProfileDeps {
  readonly iam: IamApi;
  readonly clock: Clock;
  readonly log: Logger;
  readonly clusterName: string;
  readonly region: string;
  readonly defaultInstanceProfile: string;
}

export class InstanceProfiles {
  readonly #deps: InstanceProfileDeps;
  readonly #ensured: TtlCache<string>;
  readonly #found: TtlCache<boolean>;

  constructor(deps: InstanceProfileDeps) {
    this.#deps = deps;
    this.#ensured = new TtlCache(deps.clock, KEEP_MS);
    this.#found = new TtlCache(deps.clock, KEEP_MS);
  }

  /** The profile's name for the status: makes the managed one when the class has a role. */
  ensure(nodeClass: AwsClass): Promise<string> {
    if (nodeClass.instanceProfile !== undefined) return Promise.resolve(nodeClass.instanceProfile);
    const { role, uid, tags } = nodeClass;
    if (role === undefined) return this.#default(nodeClass);
    const key = JSON.stringify([uid, role, tags]);
    return this.#ensured.get(key, () => this.#make(nodeClass, role));
  }

  /** What a launch uses. `statusProfile` is what the class' status names. */
  forLaunch(nodeClass: AwsClass, statusProfile: string | undefined): Promise<string> {
    if (nodeClass.role === undefined) return this.ensure(nodeClass);
    if (statusProfile === undefined || statusProfile === "") {
      throw new NodeClassNotReadyError(
        `instance profile of ${nodeClass.id} is not resolved yet (role ${nodeClass.role})`,
      );
    }
    return Promise.resolve(statusProfile);
  }

  /** Removes the managed profile; gone already counts as done. */
  async delete(nodeClass: AwsClass): Promise<void> {
    const { iam } = this.#deps;
    const name = this.managedName(nodeClass);
    let profile: InstanceProfile;
    try {
      profile = (await iam.getInstanceProfile({ InstanceProfileName: name })).InstanceProfile;
    } catch (error) {
      if (isNotFound(error)) return;
      throw error;
    }
    for (const { RoleName } of profile.Roles) {
      await iam.removeRoleFromInstanceProfile({ InstanceProfileName: name, RoleName });
    }
    await iam.deleteInstanceProfile({ InstanceProfileName: name });
  }

  /** `<cluster>_<hash of region and class name>` */
  managedName({ name }: Pick<AwsClass, "name">): string {
    const { clusterName, region } = this.#deps;
    return `${clusterName}_${contentHash(`${region}${name}`)}`;
  }

  async #make(nodeClass: AwsClass, role: string): Promise<string> {
    const { iam, log } = this.#deps;
    const name = this.managedName(nodeClass);
    const roleName = role.slice(role.lastIndexOf("/") + 1);
    const tags = this.#tags(nodeClass);
    const profile = await this.#getOrCreate(name, tags);
    const existing = fromTagList(profile.Tags ?? []);
    if (Object.entries(tags).some(([key, value]) => existing[key] !== value)) {
      await iam.tagInstanceProfile({ InstanceProfileName: name, Tags: toTagList(tags) });
    }
    for (const { RoleName } of profile.Roles) {
      if (RoleName === roleName) continue;
      await iam.removeRoleFromInstanceProfile({ InstanceProfileName: name, RoleName });
    }
    if (!profile.Roles.some((one) => one.RoleName === roleName)) {
      await iam.addRoleToInstanceProfile({ InstanceProfileName: name, RoleName: roleName });
      log.info("created instance profile", { "instance-profile": name, role: roleName });
    }
    return name;
  }

  async #getOrCreate(
    name: string,
    tags: Readonly<Record<string, string>>,
  ): Promise<InstanceProfile> {
    const { iam } = this.#deps;
    const InstanceProfileName = name;
    try {
      return (await iam.getInstanceProfile({ InstanceProfileName })).InstanceProfile;
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    try {
      const Tags = toTagList(tags);
      return (await iam.createInstanceProfile({ InstanceProfileName, Tags })).InstanceProfile;
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      return (await iam.getInstanceProfile({ InstanceProfileName })).InstanceProfile;
    }
  }

  #tags(nodeClass: AwsClass): Readonly<Record<string, string>> {
    const { clusterName, region } = this.#deps;
    const owner = nodeClass.generation === "v1" ? EKS_CLUSTER_TAG : MANAGED_BY_TAG;
    return {
      ...nodeClass.tags,
      [clusterTag(clusterName)]: "owned",
      [owner]: clusterName,
      [LABEL_NODECLASS]: nodeClass.name,
      "topology.kubernetes.io/region": region,
    };
  }

  /**
   * Alpha classes without a profile. An inline provider block may also fall back on the profile that the
   * getting-started stack makes (our extension: spec S1-19).
   */
  async #default(nodeClass: AwsClass): Promise<string> {
    const { defaultInstanceProfile, clusterName } = this.#deps;
    if (defaultInstanceProfile !== "") return defaultInstanceProfile;
    const usual = `KarpenterNodeInstanceProfile-${clusterName}`;
    if (nodeClass.id.startsWith("provisioner/") && (await this.#exists(usual))) return usual;
    const message =
      "neither spec.provider.instanceProfile nor --default-instance-profile is specified";
    throw new CreateError(message, { reason: "InstanceProfileNotFound", message });
  }

  #exists(name: string): Promise<boolean> {
    return this.#found.get(name, async () => {
      try {
        await this.#deps.iam.getInstanceProfile({ InstanceProfileName: name });
        return true;
      } catch (error) {
        if (isNotFound(error)) return false;
        throw error;
      }
    });
  }
}
