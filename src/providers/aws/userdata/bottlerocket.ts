/**
 * User data of Bottlerocket: the user's TOML, in which Karpenter's values replace those of `settings.kubernetes`.
 * Labels are merged and taints replaced; other settings of the user stay.
 * upstream: amifamily/bootstrap/bottlerocket.go
 */
import { isObject } from "../../../base/json.ts";
import { ReadError } from "../../../readers/read-error.ts";
import { readTypedToml, type TomlTable, writeToml } from "../../../readers/toml.ts";
import { UserDataError } from "../errors.ts";
import {
  type Bootstrap,
  dnsServers,
  durations,
  nodeLabels,
  nodeTaints,
  USER_DATA,
} from "./bootstrap.ts";

/** The TOML text: the user's settings, with Karpenter's values in their place. */
export function bottlerocketUserData(bootstrap: Bootstrap): string {
  const document = parseToml(bootstrap.custom);
  const settings = tableIn(document, "settings");
  const kubernetes = tableIn(settings, "settings.kubernetes");
  const { clusterName, clusterEndpoint, caBundle, maxPods } = bootstrap;
  kubernetes["cluster-name"] = clusterName;
  kubernetes["api-server"] = clusterEndpoint;
  if (caBundle !== undefined) kubernetes["cluster-certificate"] = caBundle;
  kubernetes["max-pods"] = BigInt(maxPods);
  const dns = dnsServers(bootstrap)[0];
  if (dns !== undefined) kubernetes["cluster-dns-ip"] = dns;
  const labels = tableIn(kubernetes, "settings.kubernetes.node-labels");
  for (const [key, value] of nodeLabels(bootstrap)) labels[key] = value;
  kubernetes["node-taints"] = taintTable(bootstrap);
  applyKubelet(kubernetes, bootstrap);
  if (bootstrap.raid0) {
    tableIn(settings, "settings.bootstrap-commands")["000-mount-instance-storage"] = {
      commands: [
        ["apiclient", "ephemeral-storage", "init"],
        ["apiclient", "ephemeral-storage", "bind", ...boundFolders(bootstrap)],
      ],
      mode: "always",
      essential: true,
    };
  }
  return writeToml(document);
}

/** Images before 1.46.0 need a list of the directories to put on the instance store. */
function boundFolders({ imageVersion }: Bootstrap): readonly string[] {
  if (imageVersion === "latest") return [];
  const [major = 0, minor = 0] = (imageVersion ?? "").split(".").map(Number);
  if (major > 1 || (major === 1 && minor >= 46)) return [];
  return ["--dirs", "/var/lib/containerd", "/var/lib/kubelet", "/var/log/pods"];
}

function parseToml(text: string | undefined): TomlTable {
  if (text === undefined || text.trim() === "") return {};
  try {
    return readTypedToml(text, USER_DATA);
  } catch (error) {
    if (!(error instanceof ReadError)) throw error;
    throw new UserDataError(
      `parsing custom user data: spec.userData must be TOML for amiFamily Bottlerocket: ${error.problem}`,
    );
  }
}

/**
 * The table at the path inside `parent`, created if missing. Any other value there is refused, because it would be
 * lost. Upstream refuses it too, because it parses user data into typed settings.
 */
function tableIn(parent: TomlTable, path: string): TomlTable {
  const key = path.slice(path.lastIndexOf(".") + 1);
  const found = parent[key];
  if (found === undefined) parent[key] = {};
  else if (!isTable(found)) {
    const value = JSON.stringify(found, (_, one) => (typeof one === "bigint" ? Number(one) : one));
    throw new UserDataError(
      `parsing custom user data: spec.userData: ${path} must be a table, not ${value}; write [${path}] and its settings below`,
    );
  }
  return parent[key] as TomlTable;
}

function isTable(value: unknown): value is TomlTable {
  return isObject(value) && !Array.isArray(value) && !(value instanceof Date);
}

function taintTable(bootstrap: Bootstrap): TomlTable {
  const table: Record<string, string[]> = {};
  for (const { key, value, effect } of nodeTaints(bootstrap)) {
    table[key] = [...(table[key] ?? []), `${value ?? ""}:${effect}`];
  }
  return table;
}

function applyKubelet(kubernetes: TomlTable, { kubelet = {} }: Bootstrap): void {
  const replace = (key: string, value: unknown): void => {
    if (value !== undefined) kubernetes[key] = value;
  };
  replace("system-reserved", texts(kubelet.systemReserved));
  replace("kube-reserved", texts(kubelet.kubeReserved));
  replace("eviction-hard", kubelet.evictionHard);
  replace("eviction-soft", kubelet.evictionSoft);
  replace("eviction-soft-grace-period", durations(kubelet.evictionSoftGracePeriod));
  replace("eviction-max-pod-grace-period", integer(kubelet.evictionMaxPodGracePeriod));
  replace("image-gc-high-threshold-percent", text(kubelet.imageGCHighThresholdPercent));
  replace("image-gc-low-threshold-percent", text(kubelet.imageGCLowThresholdPercent));
  replace("cpu-cfs-quota-enforced", kubelet.cpuCFSQuota);
}

function texts(map: Readonly<Record<string, string | number>> | undefined): unknown {
  if (map === undefined) return undefined;
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, String(value)]));
}

function integer(value: number | undefined): bigint | undefined {
  return value === undefined ? undefined : BigInt(value);
}

function text(value: number | undefined): string | undefined {
  return value === undefined ? undefined : String(value);
}
