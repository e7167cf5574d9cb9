/**
 * The SSM parameters in which AWS publishes the newest image of each family, by Kubernetes version, architecture and
 * variant. Each says which instance types its image is for.
 * upstream: pkg/providers/amifamily
 */

import {
  LABEL_INSTANCE_ACCELERATOR_COUNT,
  LABEL_INSTANCE_GPU_COUNT,
} from "../../../apis/aws/labels.ts";
import type { AmiFamily } from "../../../apis/hub/aws-class.ts";
import { OS_LABEL_KEY, WINDOWS_BUILD_LABEL_KEY } from "../../../apis/karpenter/labels.ts";
import type { RequirementSpec } from "../../../apis/karpenter/nodepool.ts";
import { traitsOf } from "./families.ts";

/** One parameter, and the kinds of instance that its image fits. Each kind has its own entry in the status. */
export interface SsmQuery {
  readonly parameter: string;
  readonly variants: readonly (readonly RequirementSpec[])[];
}

const STANDARD: readonly RequirementSpec[] = [
  { key: LABEL_INSTANCE_ACCELERATOR_COUNT, operator: "DoesNotExist" },
  { key: LABEL_INSTANCE_GPU_COUNT, operator: "DoesNotExist" },
];
const NVIDIA: readonly RequirementSpec[] = [{ key: LABEL_INSTANCE_GPU_COUNT, operator: "Exists" }];
const NEURON: readonly RequirementSpec[] = [
  { key: LABEL_INSTANCE_ACCELERATOR_COUNT, operator: "Exists" },
];

/**
 * The SSM parameters that name the images of a family. `kubernetes`: a version such as `1.34`. `version`: `latest` or a
 * version of the alias. The family Custom has no parameters.
 */
export function ssmQueries(
  family: AmiFamily,
  kubernetes: string,
  version: string,
): readonly SsmQuery[] {
  switch (family) {
    case "AL2":
      return al2(kubernetes, version);
    case "AL2023":
      return al2023(kubernetes, version);
    case "Bottlerocket":
      return bottlerocket(kubernetes, version);
    case "Ubuntu":
      return ["amd64", "arm64"].map((arch) => ({
        parameter: `/aws/service/canonical/ubuntu/eks/20.04/${kubernetes}/stable/current/${arch}/hvm/ebs-gp2/ami-id`,
        variants: [[]],
      }));
    case "Windows2019":
    case "Windows2022":
    case "Windows2025":
      return windows(family, kubernetes);
    case "Custom":
      return [];
  }
}

const EKS = "/aws/service/eks/optimized-ami";

function al2(kubernetes: string, version: string): readonly SsmQuery[] {
  const path = (directory: string, name: string): string => {
    const image = version === "latest" ? "recommended" : `${name}-${kubernetes}-${version}`;
    return `${EKS}/${kubernetes}/${directory}/${image}/image_id`;
  };
  return [
    { parameter: path("amazon-linux-2", "amazon-eks-node"), variants: [STANDARD] },
    { parameter: path("amazon-linux-2-gpu", "amazon-eks-gpu-node"), variants: [NVIDIA, NEURON] },
    { parameter: path("amazon-linux-2-arm64", "amazon-eks-arm64-node"), variants: [STANDARD] },
  ];
}

function al2023(kubernetes: string, version: string): readonly SsmQuery[] {
  const query = (arch: string, variant: string, serves: readonly RequirementSpec[]): SsmQuery => {
    const name = `amazon-eks-node-al2023-${arch}-${variant}-${kubernetes}-${version}`;
    const image = version === "latest" ? "recommended" : name;
    const path = `${EKS}/${kubernetes}/amazon-linux-2023/${arch}/${variant}/${image}/image_id`;
    return { parameter: path, variants: [serves] };
  };
  return [
    query("x86_64", "standard", STANDARD),
    query("x86_64", "nvidia", NVIDIA),
    query("x86_64", "neuron", NEURON),
    query("arm64", "standard", STANDARD),
    query("arm64", "nvidia", NVIDIA),
  ];
}

function bottlerocket(kubernetes: string, version: string): readonly SsmQuery[] {
  const release = version === "latest" ? version : version.replace(/^v/, "");
  const path = (variant: string, arch: string): string =>
    `/aws/service/bottlerocket/aws-k8s-${kubernetes}${variant}/${arch}/${release}/image_id`;
  return [
    { parameter: path("", "x86_64"), variants: [STANDARD, NEURON] },
    { parameter: path("-nvidia", "x86_64"), variants: [NVIDIA] },
    { parameter: path("", "arm64"), variants: [STANDARD] },
    { parameter: path("-nvidia", "arm64"), variants: [NVIDIA] },
  ];
}

function windows(family: AmiFamily, kubernetes: string): readonly SsmQuery[] {
  const year = family.replace("Windows", "");
  const build = traitsOf(family).windowsBuild as string;
  return [
    {
      parameter: `/aws/service/ami-windows-latest/Windows_Server-${year}-English-Core-EKS_Optimized-${kubernetes}/image_id`,
      variants: [
        [
          { key: OS_LABEL_KEY, operator: "In", values: ["windows"] },
          { key: WINDOWS_BUILD_LABEL_KEY, operator: "In", values: [build] },
        ],
      ],
    },
  ];
}
