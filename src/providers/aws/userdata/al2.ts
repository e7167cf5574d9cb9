/** User data of AL2 and Ubuntu: MIME with the user's parts first and EKS's bootstrap script last. */
import type { MimePart } from "../../../readers/mime.ts";
import { type Bootstrap, dnsServers, kubeletFlags } from "./bootstrap.ts";
import { formatMime, isMime, parseMime, shellPart } from "./mime.ts";

/** `withRuntime`: AL2 in v1alpha5 names the container runtime; Ubuntu and later generations do not. */
export function al2UserData(bootstrap: Bootstrap, withRuntime: boolean): string {
  return formatMime([...userParts(bootstrap.custom), shellPart(script(bootstrap, withRuntime))]);
}

/** A MIME document's parts, or the text as one script. */
function userParts(custom: string | undefined): readonly MimePart[] {
  if (custom === undefined || custom.trim() === "") return [];
  return isMime(custom) ? parseMime(custom) : [shellPart(custom)];
}

function script(bootstrap: Bootstrap, withRuntime: boolean): string {
  const { clusterName, clusterEndpoint, caBundle, kubelet, raid0 } = bootstrap;
  const dns = dnsServers(bootstrap)[0];
  const ca = caBundle === undefined ? "" : ` --b64-cluster-ca '${caBundle}'`;
  const lines = [
    `/etc/eks/bootstrap.sh '${clusterName}' --apiserver-endpoint '${clusterEndpoint}'${ca}`,
  ];
  if (dns?.includes(":")) lines.push("--ip-family ipv6");
  if (withRuntime) lines.push(`--container-runtime ${kubelet?.containerRuntime ?? "containerd"}`);
  if (dns !== undefined) lines.push(`--dns-cluster-ip '${dns}'`);
  lines.push("--use-max-pods false", `--kubelet-extra-args '${kubeletFlags(bootstrap)}'`);
  if (raid0) lines.push("--local-disks raid0");
  return [
    "#!/bin/bash -xe",
    "exec > >(tee /var/log/user-data.log|logger -t user-data -s 2>/dev/console) 2>&1",
    lines.join(" \\\n"),
  ].join("\n");
}
