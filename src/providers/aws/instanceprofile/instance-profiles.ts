/**
 * The instance profile of a class: the one that it names, or one that is managed here for its role, or the default of
 * the settings. A managed profile has the tags of its class and never changes its role, because running nodes must keep
 * their identity. If a class names another role, it gets another profile. An old profile is deleted once no node uses
 * it, or with the class.
 * upstream: pkg/providers/instanceprofile
 */

import { LABEL_NODECLASS } from "../../../apis/aws/labels.ts";
import type { AwsClass } from "../../../apis/hub/aws-class.ts";
import { CLUSTER_UID_KEY } from "../../../apis/karpenter/labels.ts";
import { contentHash } from "../../../apis/karpenter/nodepool-hash.ts";
import type { Clock } from "../../../base/clock.ts";
import type { Logger } from "../../../base/log.ts";
import { CreateError, NodeClassNotReadyError } from "../../../core/cloudprovider/errors.ts";
import { tryEach } from "../../../kube/errors.ts";
import type { Ec2Api } from "../api/ec2.ts";
import type { IamApi, InstanceProfile } from "../api/iam.ts";
import { TtlCache } from "../cache/ttl-cache.ts";
import { isAlreadyExists, isNotFound } from "../errors.ts";
import { listInstances } from "../instance/ec2-batches.ts";
import {
  clusterTag,
  EKS_CLUSTER_TAG,
  fromTagList,
  isAnothers,
  MANAGED_BY_TAG,
  type Tags,
  toTagList,
} from "../tags/tags.ts";

const KEEP_MS = 900_000;

export interface InstanceProfileDeps {
  readonly iam: IamApi;
  readonly ec2: Pick<Ec2Api, "describeInstances">;
  readonly clock: Clock;
  readonly log: Logger;
  readonly clusterName: string;
  readonly region: string;
  /** An id that differs between clusters of the same name; undefined: not known. */
  readonly clusterUid: () => string | undefined;
  readonly defaultInstanceProfile: string;
}

export class InstanceProfiles {
  readonly #deps: InstanceProfileDeps;
  #ensured: TtlCache<string>;
  /** Profiles that were unused at the last sweep. */
  #unused: ReadonlySet<string> = new Set();
  readonly #found: TtlCache<boolean>;

  constructor(deps: InstanceProfileDeps) {
    this.#deps = deps;
    this.#ensured = new TtlCache(deps.clock, KEEP_MS);
    this.#found = new TtlCache(deps.clock, KEEP_MS);
  }

  /** The name of the profile, for the status of the class. Creates a managed profile if the class names a role. */
  ensure(nodeClass: AwsClass): Promise<string> {
    if (nodeClass.instanceProfile !== undefined) return Promise.resolve(nodeClass.instanceProfile);
    const { role, uid, tags } = nodeClass;
    if (role === undefined) return this.#default(nodeClass);
    const key = JSON.stringify([uid, role, tags]);
    return this.#ensured.get(key, () => this.#make(nodeClass, role));
  }

  /** The profile for a launch. `statusProfile`: the one in the status of the class. */
  forLaunch(nodeClass: AwsClass, statusProfile: string | undefined): Promise<string> {
    if (nodeClass.role === undefined) return this.ensure(nodeClass);
    if (statusProfile === undefined || statusProfile === "") {
      throw new NodeClassNotReadyError(
        `instance profile of ${nodeClass.id} is not resolved yet (role ${nodeClass.role})`,
      );
    }
    return Promise.resolve(statusProfile);
  }

  /**
   * Deletes the profiles that were made for the class. A profile that an instance still uses stays: resolves with the
   * IDs of such instances.
   */
  async delete(nodeClass: AwsClass): Promise<readonly string[]> {
    const later = await this.#listed(this.#path(nodeClass.uid));
    const users: string[] = [];
    await tryEach([this.managedName(nodeClass), ...later], async (name) => {
      const { usedBy } = await this.#remove(
        name,
        ({ Tags }) => !isAnothers(Tags, this.#deps.clusterUid()),
      );
      users.push(...usedBy);
    });
    return users;
  }

  /**
   * Deletes later profiles of this cluster's classes that were unused at the last sweep and are unused now. Two sweeps,
   * because a launch in progress may be the first to use a profile. A profile must have the UID of this cluster or of
   * one of its classes: another cluster may have the same name. Resolves with the names of deleted profiles.
   */
  async sweep(
    inUse: ReadonlySet<string>,
    classUids: ReadonlySet<string>,
  ): Promise<readonly string[]> {
    const unused = (await this.#listed(this.#path())).filter((name) => !inUse.has(name));
    const ripe = unused.filter((name) => this.#unused.has(name));
    this.#unused = new Set(unused);
    const gone: string[] = [];
    await tryEach(ripe, async (name) => {
      const { isGone } = await this.#remove(name, (one) => this.#isOurs(one, classUids));
      if (!isGone) return;
      gone.push(name);
      // Forgets which profiles were created. If a class names its old role again, the deleted profile is created again.
      this.#ensured = new TtlCache(this.#deps.clock, KEEP_MS);
    });
    return gone;
  }

  /** The first profile of a class: `<cluster>_<hash of region and class name>`. */
  managedName({ name }: Pick<AwsClass, "name">): string {
    const { clusterName, region } = this.#deps;
    return `${clusterName}_${contentHash(`${region}${name}`)}`;
  }

  /** The path of later profiles: `/karpenter/<region>/<cluster>/<class uid>/` */
  #path(uid?: string): string {
    const { clusterName, region } = this.#deps;
    return `/karpenter/${region}/${clusterName}/${uid === undefined ? "" : `${uid}/`}`;
  }

  async #listed(PathPrefix: string): Promise<readonly string[]> {
    const names: string[] = [];
    let Marker: string | undefined;
    do {
      const page = await this.#deps.iam.listInstanceProfiles({
        PathPrefix,
        ...(Marker === undefined ? {} : { Marker }),
      });
      // Only profiles of this cluster may be deleted, so the answer's paths are checked here too.
      const below = page.InstanceProfiles.filter((one) => one.Path?.startsWith(PathPrefix));
      names.push(...below.map((one) => one.InstanceProfileName));
      Marker = page.IsTruncated === true ? page.Marker : undefined;
    } while (Marker !== undefined);
    return names.sort();
  }

  #isOurs({ Path = "", Tags }: InstanceProfile, classUids: ReadonlySet<string>): boolean {
    const tagged = fromTagList(Tags ?? [])[CLUSTER_UID_KEY];
    if (tagged !== undefined) return tagged === this.#deps.clusterUid();
    return classUids.has(Path.split("/").at(-2) ?? "");
  }

  /**
   * Deletes the profile, unless a running instance uses it. Instances are listed, because an instance may have lost its
   * claim.
   */
  async #remove(
    name: string,
    mayGo: (profile: InstanceProfile) => boolean,
  ): Promise<{ readonly isGone: boolean; readonly usedBy: readonly string[] }> {
    const { iam, log } = this.#deps;
    try {
      const profile = (await iam.getInstanceProfile({ InstanceProfileName: name })).InstanceProfile;
      if (!mayGo(profile)) return { isGone: false, usedBy: [] };
      const usedBy = await this.#usersOf(profile);
      if (usedBy.length > 0) return { isGone: false, usedBy };
      const { Roles } = profile;
      for (const { RoleName } of Roles)
        await iam.removeRoleFromInstanceProfile({ InstanceProfileName: name, RoleName });
      await iam.deleteInstanceProfile({ InstanceProfileName: name });
      log.debug("deleted instance profile", { "instance-profile": name });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    return { isGone: true, usedBy: [] };
  }

  async #usersOf({ Arn }: InstanceProfile): Promise<readonly string[]> {
    const filter = { Name: "iam-instance-profile.arn", Values: [Arn] };
    return (await listInstances(this.#deps.ec2, [filter])).map(({ InstanceId }) => InstanceId);
  }

  async #make(nodeClass: AwsClass, role: string): Promise<string> {
    const roleName = role.slice(role.lastIndexOf("/") + 1);
    const tags = this.#tags(nodeClass);
    const first = await this.#getOrCreate(this.managedName(nodeClass), "/", tags);
    if (first.Roles.every((one) => one.RoleName === roleName))
      return this.#complete(first, roleName, tags);
    const { clusterName, region } = this.#deps;
    const name = `${clusterName}_${contentHash(`${region}${nodeClass.name}${roleName}`)}`;
    const later = await this.#getOrCreate(name, this.#path(nodeClass.uid), tags);
    return this.#complete(later, roleName, tags);
  }

  async #complete(profile: InstanceProfile, RoleName: string, tags: Tags): Promise<string> {
    const { iam, log } = this.#deps;
    const { InstanceProfileName } = profile;
    const existing = fromTagList(profile.Tags ?? []);
    // The tag of the owning cluster never changes, because two clusters of the same name share their profiles.
    const wanted = { ...tags, ...pick(existing, CLUSTER_UID_KEY) };
    if (Object.entries(wanted).some(([key, value]) => existing[key] !== value)) {
      await iam.tagInstanceProfile({ InstanceProfileName, Tags: toTagList(wanted) });
    }
    if (profile.Roles.length === 0) {
      await iam.addRoleToInstanceProfile({ InstanceProfileName, RoleName });
      log.info("created instance profile", {
        "instance-profile": InstanceProfileName,
        role: RoleName,
      });
    }
    return InstanceProfileName;
  }

  async #getOrCreate(name: string, Path: string, tags: Tags): Promise<InstanceProfile> {
    const { iam } = this.#deps;
    const InstanceProfileName = name;
    try {
      return (await iam.getInstanceProfile({ InstanceProfileName })).InstanceProfile;
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    try {
      const Tags = toTagList(tags);
      return (await iam.createInstanceProfile({ InstanceProfileName, Path, Tags })).InstanceProfile;
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      return (await iam.getInstanceProfile({ InstanceProfileName })).InstanceProfile;
    }
  }

  #tags(nodeClass: AwsClass): Tags {
    const { clusterName, region } = this.#deps;
    const clusterUid = this.#deps.clusterUid();
    const owner = nodeClass.generation === "v1" ? EKS_CLUSTER_TAG : MANAGED_BY_TAG;
    return {
      ...nodeClass.tags,
      [clusterTag(clusterName)]: "owned",
      ...(clusterUid === undefined ? {} : { [CLUSTER_UID_KEY]: clusterUid }),
      [owner]: clusterName,
      [LABEL_NODECLASS]: nodeClass.name,
      "topology.kubernetes.io/region": region,
    };
  }

  /**
   * The profile of an AWSNodeTemplate that names none. For an inline provider block it may be the profile that the
   * getting-started stack creates (karpenter-ts only).
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

function pick(tags: Tags, key: string): Tags {
  return tags[key] === undefined ? {} : { [key]: tags[key] };
}
