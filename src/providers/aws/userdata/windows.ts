/** User data of Windows: one PowerShell script, the user's lines first. */
import { type Bootstrap, dnsServers, kubeletFlags } from "./bootstrap.ts";

/** A PowerShell script: the user's lines, then the bootstrap call. */
export function windowsUserData(bootstrap: Bootstrap): string {
  const { clusterName, clusterEndpoint, caBundle, custom } = bootstrap;
  const dns = dnsServers(bootstrap)[0];
  const call = [
    "& $EKSBootstrapScriptFile",
    `-EKSClusterName '${clusterName}'`,
    `-APIServerEndpoint '${clusterEndpoint}'`,
    caBundle === undefined ? undefined : `-Base64ClusterCA '${caBundle}'`,
    `-KubeletExtraArgs '${kubeletFlags(bootstrap)}'`,
    dns === undefined ? undefined : `-DNSClusterIP '${dns}'`,
  ];
  const lines = [
    "<powershell>",
    ...(custom === undefined || custom === "" ? [] : [custom]),
    '[string]$EKSBootstrapScriptFile = "$env:ProgramFiles\\Amazon\\EKS\\Start-EKSBootstrap.ps1"',
    call.filter((part) => part !== undefined).join(" "),
    "</powershell>",
  ];
  return lines.join("\n");
}
