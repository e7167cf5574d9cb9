/**
 * User data of AL2023: MIME whose last part is a NodeConfig for nodeadm. nodeadm merges NodeConfigs in order, so
 * Karpenter's values win over the user's.
 * upstream: amifamily/bootstrap/nodeadm.go
 */
import type { Taint } from "../../../apis/core/node.ts";
import { isObject } from "../../../base/json.ts";
import { NodeClassNotReadyError } from "../../../core/cloudprovider/errors.ts";
import type { MimePart } from "../../../readers/mime.ts";
import { ReadError } from "../../../readers/read-error.ts";
import { writeYaml } from "../../../readers/write-yaml.ts";
import { readYamlValue } from "../../../readers/yaml.ts";
import { type Bootstrap, dnsServers, labelsFlag, nodeTaints, USER_DATA } from "./bootstrap.ts";
import { formatMime, isMime, parseMime, shellPart } from "./mime.ts";

/** The MIME text: the user's parts, then a NodeConfig for nodeadm. */
export function al2023UserData(bootstrap: Bootstrap): string {
  return formatMime([...userParts(bootstrap.custom), nodeConfigPart(nodeConfig(bootstrap))]);
}

function userParts(custom: string | undefined): readonly MimePart[] {
  if (custom === undefined || custom.trim() === "") return [];
  if (isMime(custom)) return parseMime(custom);
  return [isYamlMap(custom) ? nodeConfigPart(custom) : shellPart(custom)];
}

function nodeConfigPart(content: string): MimePart {
  return { headers: ["Content-Type: application/node.eks.aws"], content };
}

function isYamlMap(text: string): boolean {
  try {
    return isObject(readYamlValue(text, { ...USER_DATA, repeatedKeys: "refused" }));
  } catch (error) {
    if (error instanceof ReadError) return false;
    throw error;
  }
}

function nodeConfig(bootstrap: Bootstrap): string {
  const { clusterName, clusterEndpoint, caBundle, clusterCidr, kubelet, raid0 } = bootstrap;
  if (clusterCidr === undefined) {
    throw new NodeClassNotReadyError("resolving cluster CIDR: not known yet");
  }
  const dns = dnsServers(bootstrap);
  const flag = labelsFlag(bootstrap);
  const config = {
    ...kubelet,
    maxPods: bootstrap.maxPods,
    ...(dns.length === 0 ? {} : { clusterDNS: dns }),
    registerWithTaints: nodeTaints(bootstrap).map(toKubeletTaint),
  };
  const document = {
    apiVersion: "node.eks.aws/v1alpha1",
    kind: "NodeConfig",
    metadata: {},
    spec: {
      cluster: {
        apiServerEndpoint: clusterEndpoint,
        ...(caBundle === undefined ? {} : { certificateAuthority: caBundle }),
        cidr: clusterCidr,
        name: clusterName,
      },
      containerd: {},
      instance: { localStorage: raid0 ? { strategy: "RAID0" } : {} },
      kubelet: { config, ...(flag === undefined ? {} : { flags: [flag] }) },
    },
  };
  return `# Karpenter Generated NodeConfig\n${writeYaml(document)}`;
}

function toKubeletTaint({ key, value, effect }: Taint): Record<string, string> {
  return { key, ...(value === undefined ? {} : { value }), effect };
}
