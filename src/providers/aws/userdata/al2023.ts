/**
 * User data of AL2023: MIME whose last part is a nodeadm NodeConfig. nodeadm merges NodeConfigs in order,
 * so what Karpenter must decide wins over the user's. upstream: amifamily/bootstrap/nodeadm.go
 */
import { parse, stringify } from "yaml";
import type { Taint } from "../../../apis/core/node.ts";
import { isObject } from "../../../base/json.ts";
import { NodeClassNotReadyError } from "../../../core/cloudprovider/errors.ts";
import { type Bootstrap, dnsServers, labelsFlag, nodeTaints } from "./bootstrap.ts";
import { formatMime, isMime, type MimePart, parseMime, shellPart } from "./mime.ts";

/** nodeadm reads version 1.1, where a bare `yes` would be a boolean: texts of that look are quoted. */
const NODEADM_YAML = { version: "1.1", lineWidth: 0 } as const;

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
    return isObject(parse(text));
  } catch {
    return false;
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
  return `# Karpenter Generated NodeConfig\n${stringify(document, NODEADM_YAML)}`;
}

function toKubeletTaint({ key, value, effect }: Taint): Record<string, string> {
  return { key, ...(value === undefined ? {} : { value }), effect };
}
