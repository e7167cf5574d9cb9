/**
 * What is wrong with a class by its own words, before anything that it selects is looked at: kubelet settings that
 * its images would drop, expressions that are none, user data that cannot be merged or is too long for EC2.
 * upstream: pkg/controllers/nodeclass/validation.go (spec: upstream-aws 1.7)
 */
import type { AmiFamily, AwsClass } from "../../../apis/hub/aws-class.ts";
import type { KubeletConfiguration } from "../../../apis/karpenter/kubelet.ts";
import { parseDuration } from "../../../base/duration.ts";
import { parseUnits } from "../../../base/quantity.ts";
import { describeError, isPassing, UserDataError } from "../errors.ts";
import { compileProblems, expressionsOf } from "../kubelet/expressions.ts";
import type { AwsDeps, AwsParts } from "../parts.ts";
import { userData } from "../userdata/user-data.ts";
import type { Refusal } from "./trials.ts";

/** upstream: EC2's limit, before base64 */
const MOST_USER_DATA_BYTES = 16_384;
/** Families whose nodes read all that the class says. */
const READ_ALL: readonly AmiFamily[] = ["AL2023", "Custom"];

/** Undefined when nothing is. Rejects when it cannot be told now. */
export async function specProblem(
  deps: Pick<AwsDeps, "settings">,
  parts: Pick<AwsParts, "facts">,
  nodeClass: AwsClass,
): Promise<Refusal | undefined> {
  const cidr = nodeClass.amiFamily === "AL2023" ? await serviceCidr(parts) : undefined;
  if (typeof cidr === "object") return cidr;
  return kubeletProblem(deps, nodeClass) ?? (await userDataProblem(deps, parts, nodeClass, cidr));
}

async function serviceCidr({ facts }: Pick<AwsParts, "facts">): Promise<string | Refusal> {
  const reason = "ClusterCIDRResolutionFailed";
  try {
    const cidr = await facts.serviceCidr();
    if (cidr !== undefined) return cidr;
    return { reason, message: "EKS tells no service CIDR of this cluster, which AL2023 needs" };
  } catch (error) {
    if (isPassing(error instanceof Error ? error.cause : undefined)) throw error;
    return { reason, message: `AL2023 needs the cluster's service CIDR: ${describeError(error)}` };
  }
}

/** What the schema cannot see: thresholds and graces are text. */
function thresholdProblems(kubelet: KubeletConfiguration | undefined): readonly string[] {
  const wrong: string[] = [];
  for (const field of ["evictionHard", "evictionSoft"] as const) {
    for (const [signal, text] of Object.entries(kubelet?.[field] ?? {}).sort())
      if (!isThreshold(text))
        wrong.push(
          `spec.kubelet.${field}[${signal}]: ${JSON.stringify(text)} is neither a share from 0% to 100% nor an amount such as 500Mi`,
        );
  }
  for (const [signal, text] of Object.entries(kubelet?.evictionSoftGracePeriod ?? {}).sort())
    if (parseDuration(text) === undefined || text.startsWith("-"))
      wrong.push(
        `spec.kubelet.evictionSoftGracePeriod[${signal}]: ${JSON.stringify(text)} is no duration such as 1m30s`,
      );
  return wrong;
}

function isThreshold(text: string): boolean {
  if (!text.endsWith("%")) return (parseUnits(text) ?? -1) >= 0;
  const share = text.slice(0, -1);
  return /^[0-9.]+$/.test(share) && Number(share) <= 100;
}

function kubeletProblem(
  { settings }: Pick<AwsDeps, "settings">,
  { kubelet, amiFamily }: AwsClass,
): Refusal | undefined {
  const thresholds = thresholdProblems(kubelet);
  if (thresholds.length > 0)
    return { reason: "InvalidKubeletConfiguration", message: thresholds.join("; ") };
  const expressions = expressionsOf(kubelet);
  if (expressions.length > 0 && settings.kubeletExpressions !== true) {
    const fields = expressions.map((one) => `spec.kubelet.${one.field}`).join(", ");
    const message = `${fields}: expressions need the gate NodeClassCEL (settings.awsFeatureGates.nodeClassCEL); open it, or give a number`;
    return { reason: "KubeletExpressionsDisabled", message };
  }
  const broken = compileProblems(kubelet);
  if (broken.length > 0) {
    const message = broken.map((one) => `spec.kubelet.${one}`).join("; ");
    return { reason: "KubeletExpressionInvalid", message };
  }
  const reason = "UnsupportedKubeletConfiguration";
  if (amiFamily === "Bottlerocket" && kubelet?.podsPerCore !== undefined) {
    const message =
      "spec.kubelet.podsPerCore: Bottlerocket does not read it; leave it out, or use spec.kubelet.maxPods";
    return { reason, message };
  }
  if ((kubelet?.clusterDNS?.length ?? 0) > 1 && !READ_ALL.includes(amiFamily)) {
    const message = `spec.kubelet.clusterDNS: ${amiFamily} reads one address only; name one, or use AL2023`;
    return { reason, message };
  }
  return undefined;
}

async function userDataProblem(
  { settings }: Pick<AwsDeps, "settings">,
  { facts }: Pick<AwsParts, "facts">,
  nodeClass: AwsClass,
  clusterCidr: string | undefined,
): Promise<Refusal | undefined> {
  const custom = nodeClass.userData;
  if (custom === undefined) return undefined;
  const [clusterEndpoint, caBundle, dnsIp] = await Promise.all([
    facts.endpoint(),
    facts.caBundle(),
    facts.dnsIp(),
  ]);
  try {
    const text = userData(nodeClass.amiFamily, {
      ...{ generation: nodeClass.generation, clusterName: settings.clusterName },
      ...{ clusterEndpoint, caBundle, dnsIp, clusterCidr, custom },
      ...{ kubelet: undefined, maxPods: 0, labels: {}, taints: [] },
      raid0: nodeClass.instanceStorePolicy === "RAID0",
    });
    const bytes = Buffer.byteLength(text);
    if (bytes <= MOST_USER_DATA_BYTES) return undefined;
    const message = `spec.userData: with what nodes need to join it has ${bytes} bytes, EC2 takes ${MOST_USER_DATA_BYTES}; load the rest from elsewhere at boot`;
    return { reason: "UserDataSizeLimitExceeded", message };
  } catch (error) {
    if (!(error instanceof UserDataError)) throw error;
    return { reason: "UserDataInvalid", message: error.message };
  }
}
