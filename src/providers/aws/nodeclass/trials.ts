/**
 * Checks by dry runs whether AWS would allow a launch from a class, and names the missing permission. A result is
 * cached for half an hour, by everything that the launch depends on. Nothing is created for it: the dry run of
 * CreateFleet names a launch template that need not exist, so only a missing permission counts as a failure.
 * upstream: pkg/controllers/nodeclass/validation.go
 */
import type { AwsClass } from "../../../apis/hub/aws-class.ts";
import type { Clock } from "../../../base/clock.ts";
import { canonicalJson } from "../../../base/json.ts";
import type { Ami } from "../ami/choose.ts";
import { AwsError } from "../api/call.ts";
import type { Ec2Api } from "../api/ec2.ts";
import type { TagSpecification } from "../api/launches.ts";
import type { SecurityGroup, Subnet } from "../api/network.ts";
import { TtlCache } from "../cache/ttl-cache.ts";
import { describeError, launchFailure } from "../errors.ts";
import { clusterTag, EKS_CLUSTER_TAG, NODECLASS_TAG, toTagList } from "../tags/tags.ts";

const KEEP_MS = 30 * 60_000;

/** The input of the trial calls. */
export interface TrialInput {
  readonly nodeClass: AwsClass;
  readonly subnets: readonly Subnet[];
  readonly securityGroups: readonly SecurityGroup[];
  readonly amis: readonly Ami[];
  readonly instanceProfile: string;
}

/** A refusal, as reason and message of the condition. */
export interface TrialRefusal {
  readonly reason: string;
  readonly message: string;
}

/** Dry runs of the launch calls, so that the status of the class shows a missing permission before a launch. */
export class Trials {
  readonly #ec2: Ec2Api;
  readonly #clusterName: string;
  readonly #cache: TtlCache<TrialRefusal | undefined>;

  constructor(ec2: Ec2Api, clock: Clock, clusterName: string) {
    this.#ec2 = ec2;
    this.#clusterName = clusterName;
    this.#cache = new TtlCache(clock, KEEP_MS);
  }

  /** Why AWS would refuse a launch. Undefined: it would not. Rejects if AWS gave no verdict; then ask again. */
  of(input: TrialInput): Promise<TrialRefusal | undefined> {
    const { nodeClass, subnets, securityGroups, amis, instanceProfile } = input;
    const key = canonicalJson([
      nodeClass.id,
      nodeClass.hash,
      nodeClass.uid,
      subnets.map((one) => one.SubnetId),
      securityGroups.map((one) => one.GroupId),
      amis.map((one) => one.id),
      instanceProfile,
    ]);
    return this.#cache
      .get(key, () => this.#try(input))
      .catch((error: unknown) => {
        // This result is not cached, because the profile may be created at any moment.
        if (error instanceof NoProfileError) return error.refusal;
        throw error;
      });
  }

  async #try(input: TrialInput): Promise<TrialRefusal | undefined> {
    const { nodeClass, subnets, securityGroups, amis, instanceProfile } = input;
    const [ami] = amis;
    if (ami === undefined) return undefined;
    const tags = toTagList({
      ...nodeClass.tags,
      [clusterTag(this.#clusterName)]: "owned",
      "karpenter.sh/nodepool": "validation",
      [EKS_CLUSTER_TAG]: this.#clusterName,
      [NODECLASS_TAG]: nodeClass.name,
    });
    const tagged = (...types: readonly string[]): TagSpecification[] =>
      types.map((ResourceType) => ({ ResourceType, Tags: tags }));
    const LaunchTemplateName = `karpenter.k8s.aws/trial-${nodeClass.uid}`;
    const template = await refusal("CreateLaunchTemplateAuthCheckFailed", () =>
      this.#ec2.createLaunchTemplate({
        LaunchTemplateName,
        LaunchTemplateData: { ImageId: ami.id },
        TagSpecifications: tagged("launch-template"),
        DryRun: true,
      }),
    );
    if (template !== undefined) return template;
    const InstanceType = isArm(ami) ? "m6g.large" : "m5.large";
    const fleet = await refusal("CreateFleetAuthCheckFailed", () =>
      this.#ec2.createFleet({
        Type: "instant",
        LaunchTemplateConfigs: [
          {
            LaunchTemplateSpecification: { LaunchTemplateName, Version: "$Latest" },
            Overrides: subnets.map(({ SubnetId }) => ({ InstanceType, SubnetId })),
          },
        ],
        TargetCapacitySpecification: {
          TotalTargetCapacity: 1,
          DefaultTargetCapacityType: "on-demand",
        },
        TagSpecifications: tagged("instance", "volume", "fleet"),
        DryRun: true,
      }),
    );
    if (fleet !== undefined) return fleet;
    // One subnet that allows a launch is enough. If none does, the refusal for the first one is reported.
    let first: TrialRefusal | undefined;
    for (const { SubnetId } of subnets) {
      const run = await refusal("RunInstancesAuthCheckFailed", () =>
        this.#ec2.runInstances({
          MinCount: 1,
          MaxCount: 1,
          ImageId: ami.id,
          InstanceType,
          SubnetId,
          SecurityGroupIds: securityGroups.map((one) => one.GroupId),
          IamInstanceProfile: { Name: instanceProfile },
          // IAM policies allow a network interface only with its tags, which launch templates set.
          TagSpecifications: tagged("instance", "volume", "network-interface"),
          DryRun: true,
        }),
      );
      if (run === undefined) return undefined;
      if (run.reason === NO_PROFILE && nodeClass.instanceProfile !== undefined)
        throw new NoProfileError(run);
      first ??= run;
    }
    // EC2 does not know a new profile for some seconds, so this says nothing about the class.
    return first?.reason === NO_PROFILE ? undefined : first;
  }
}

function isArm(ami: Ami): boolean {
  return ami.requirements.some(
    (one) => one.key === "kubernetes.io/arch" && one.values?.includes("arm64"),
  );
}

const NO_PROFILE = "InstanceProfileNotFound";

class NoProfileError extends Error {
  override readonly name = "NoProfileError";
  readonly refusal: TrialRefusal;

  constructor(refusal: TrialRefusal) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

const NO_PERMISSION = /UnauthorizedOperation|AccessDenied|AuthFailure/;

/**
 * The refusal if a permission or the instance profile is missing. Undefined: the dry run succeeded, or failed for
 * another reason. Rejects if AWS was not available or throttled the call.
 */
async function refusal(
  reason: string,
  call: () => Promise<unknown>,
): Promise<TrialRefusal | undefined> {
  try {
    await call();
    return undefined;
  } catch (error) {
    if (!(error instanceof AwsError) || error.code === "DryRunOperation") return undefined;
    if (error.status >= 500 || error.status === 0 || error.code === "RequestLimitExceeded")
      throw error;
    const text = describeError(error);
    if (/iamInstanceProfile\.name is invalid/.test(text)) {
      const message = `spec.instanceProfile does not exist (${text}): create it, or name another`;
      return { reason: NO_PROFILE, message };
    }
    if (!NO_PERMISSION.test(text)) return undefined;
    const message = `the controller may not call ec2:${error.action}: ${launchFailure(text).message}; grant it as in deploy/aws/policies/node-lifecycle.json`;
    return { reason, message };
  }
}
