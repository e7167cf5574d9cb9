/**
 * The kind AWSNodeTemplate (karpenter.k8s.aws/v1alpha1), and the AWS fields that it shares with `spec.provider` of a
 * Provisioner. Selectors are maps: all keys must match, commas separate alternatives, `*` matches any value, and
 * `aws-ids` and `aws::ids` contain ids.
 * upstream: provider's pkg/apis/v1alpha1 at v0.31
 */
import type { RequirementSpec } from "../karpenter/nodepool.ts";
import type { Kind, KubeObject } from "../meta.ts";
import type { BlockDeviceMapping, MetadataOptions } from "./ec2nodeclass.ts";

type StringMap = Readonly<Record<string, string>>;

/** The fields that `spec.provider` of a Provisioner and AWSNodeTemplate have in common. */
export interface AwsProviderBlock {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly amiFamily?: string;
  readonly context?: string;
  readonly instanceProfile?: string;
  readonly subnetSelector?: StringMap;
  readonly securityGroupSelector?: StringMap;
  readonly tags?: StringMap;
  /** Name of a launch template that Karpenter does not manage. If it is set, most other fields must be empty. */
  readonly launchTemplate?: string;
  readonly metadataOptions?: MetadataOptions;
  readonly blockDeviceMappings?: readonly BlockDeviceMapping[];
}

/** An AWSNodeTemplate of karpenter.k8s.aws/v1alpha1: the node class of a Provisioner. */
export interface AWSNodeTemplate extends KubeObject {
  readonly spec: AwsProviderBlock & {
    readonly userData?: string;
    readonly amiSelector?: StringMap;
    readonly detailedMonitoring?: boolean;
  };
  readonly status?: {
    readonly subnets?: readonly { readonly id: string; readonly zone: string }[];
    readonly securityGroups?: readonly { readonly id: string; readonly name?: string }[];
    readonly amis?: readonly {
      readonly id: string;
      readonly name?: string;
      readonly requirements: readonly RequirementSpec[];
    }[];
  };
}

export const AWS_NODE_TEMPLATE: Kind<AWSNodeTemplate> = {
  group: "karpenter.k8s.aws",
  version: "v1alpha1",
  kind: "AWSNodeTemplate",
  plural: "awsnodetemplates",
  namespaced: false,
};
