/**
 * Finds faults in the fields of a class before anything is looked up: kubelet settings that are invalid or ignored by
 * its images, impossible volumes, user data that cannot be merged or is too long for EC2.
 * upstream: pkg/controllers/nodeclass/validation.go
 */
import type { AwsClass } from "../../../apis/hub/aws-class.ts";
import { sharingProblem } from "../dra/sharing.ts";
import { describeError, isPassing, UserDataError } from "../errors.ts";
import { kubeletProblem } from "../kubelet/check.ts";
import type { AwsDeps, AwsParts } from "../parts.ts";
import { userData } from "../userdata/user-data.ts";
import { deviceProblem } from "./devices-check.ts";
import type { TrialRefusal } from "./trials.ts";

/** Maximum size of user data before base64. upstream: EC2's limit */
const MOST_USER_DATA_BYTES = 16_384;

/** The first error in the spec of the class. Undefined: it is valid. Rejects if that cannot be decided now. */
export async function specProblem(
  deps: Pick<AwsDeps, "settings">,
  parts: Pick<AwsParts, "facts">,
  nodeClass: AwsClass,
): Promise<TrialRefusal | undefined> {
  const cidr = nodeClass.amiFamily === "AL2023" ? await serviceCidr(parts) : undefined;
  if (typeof cidr === "object") return cidr;
  const expressionsAllowed = deps.settings.kubeletExpressions === true;
  return (
    kubeletProblem(nodeClass.kubelet, nodeClass.amiFamily, { expressionsAllowed }) ??
    deviceProblem(nodeClass.blockDeviceMappings) ??
    sharingProblem(nodeClass, { gpusOffered: deps.settings.devices?.nvidiaGpu === true }) ??
    (await userDataProblem(deps, parts, nodeClass, cidr))
  );
}

async function serviceCidr({ facts }: Pick<AwsParts, "facts">): Promise<string | TrialRefusal> {
  const reason = "ClusterCIDRResolutionFailed";
  try {
    const cidr = await facts.serviceCidr();
    if (cidr !== undefined) return cidr;
    return { reason, message: "EKS returned no service CIDR, which AL2023 needs" };
  } catch (error) {
    if (isPassing(error instanceof Error ? error.cause : undefined)) throw error;
    return { reason, message: `AL2023 needs the cluster's service CIDR: ${describeError(error)}` };
  }
}

async function userDataProblem(
  { settings }: Pick<AwsDeps, "settings">,
  { facts }: Pick<AwsParts, "facts">,
  nodeClass: AwsClass,
  clusterCidr: string | undefined,
): Promise<TrialRefusal | undefined> {
  const custom = nodeClass.userData;
  if (custom === undefined) return undefined;
  // Checked before parsing: EC2 would refuse a longer text anyway.
  const tooLong = tooLongForEc2("", custom);
  if (tooLong !== undefined) return tooLong;
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
    return tooLongForEc2("with what nodes need to join ", text);
  } catch (error) {
    if (!(error instanceof UserDataError)) throw error;
    return { reason: "UserDataInvalid", message: error.message };
  }
}

function tooLongForEc2(joined: string, text: string): TrialRefusal | undefined {
  const bytes = Buffer.byteLength(text);
  if (bytes <= MOST_USER_DATA_BYTES) return undefined;
  const message = `spec.userData: ${joined}it has ${bytes} bytes, EC2 takes ${MOST_USER_DATA_BYTES}; load the rest from elsewhere at boot`;
  return { reason: "UserDataSizeLimitExceeded", message };
}
