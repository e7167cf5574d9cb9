/**
 * Reads the kubelet's settings from the user data of a booting instance. Amazon Linux 2 and Ubuntu run
 * `bootstrap.sh`, Amazon Linux 2023 merges NodeConfig documents, Bottlerocket reads TOML settings, Windows runs
 * a PowerShell script. The code follows the operating systems and not the AWS provider, so user data that fails
 * on the real system fails here too.
 */

import { errorText } from "../../../base/error-text.ts";
import { asText, isObject } from "../../../base/json.ts";
import { LIMITS } from "../../../readers/limits.ts";
import { headerOf, type MimePart, readMime } from "../../../readers/mime.ts";
import { ReadError } from "../../../readers/read-error.ts";
import { readToml } from "../../../readers/toml.ts";
import { readYaml } from "../../../readers/yaml.ts";

/** How an image reads its user data. */
export type ImageFamily =
  | "AL2"
  | "AL2023"
  | "Bottlerocket"
  | "Ubuntu"
  | "Windows2019"
  | "Windows2022"
  | "Windows2025"
  | "Custom";

/** A taint with which the kubelet registers its Node. */
export interface BootTaint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

/** The kubelet's settings from user data. Quantities stay text, as in Kubernetes. */
export interface BootSettings {
  readonly clusterName?: string;
  readonly apiServer?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly BootTaint[];
  readonly maxPods?: number;
  readonly podsPerCore?: number;
  readonly kubeReserved: Readonly<Record<string, string>>;
  readonly systemReserved: Readonly<Record<string, string>>;
  readonly evictionHard: Readonly<Record<string, string>>;
  /** Whether the storage of pods is on the local disks, joined as RAID 0. */
  readonly raid0?: boolean;
}

/** The kubelet's settings, or a few words on why the kubelet cannot start. */
export type BootResult =
  | { readonly ok: true; readonly settings: BootSettings }
  | { readonly ok: false; readonly problem: string };

interface Draft {
  clusterName?: string;
  apiServer?: string;
  labels: Record<string, string>;
  taints: BootTaint[];
  maxPods?: number;
  podsPerCore?: number;
  kubeReserved: Record<string, string>;
  systemReserved: Record<string, string>;
  evictionHard: Record<string, string>;
  raid0?: boolean;
  booted: boolean;
}

class BootError extends Error {}

const USER_DATA = { source: "user data", limits: LIMITS.userData };

/**
 * Decodes the user data of an image family. It is base64, as in a launch template, or absent. For a `Custom`
 * image, the format of the user data tells the operating system.
 */
export function decodeUserData(family: ImageFamily, base64: string | undefined): BootResult {
  const text = base64 === undefined ? "" : Buffer.from(base64, "base64").toString("utf8");
  const draft: Draft = {
    labels: {},
    taints: [],
    kubeReserved: {},
    systemReserved: {},
    evictionHard: {},
    booted: false,
  };
  try {
    readInto(draft, family === "Custom" ? familyOfText(text) : family, text);
  } catch (error) {
    return { ok: false, problem: errorText(error) };
  }
  const { booted, ...settings } = draft;
  if (!booted) return { ok: false, problem: "user data starts no kubelet" };
  return { ok: true, settings };
}

function familyOfText(text: string): ImageFamily {
  if (/<powershell>/i.test(text)) return "Windows2022";
  if (/^\s*\[+settings/m.test(text)) return "Bottlerocket";
  if (/application\/node\.eks\.aws|kind:\s*"?NodeConfig/.test(text)) return "AL2023";
  return "AL2";
}

function readInto(draft: Draft, family: ImageFamily, text: string): void {
  switch (family) {
    case "Bottlerocket":
      readBottlerocket(draft, text);
      return;
    case "AL2023":
      readNodeadm(draft, text);
      return;
    case "AL2":
    case "Ubuntu":
    case "Custom":
      readBootstrapScript(draft, text);
      return;
    case "Windows2019":
    case "Windows2022":
    case "Windows2025":
      readPowerShell(draft, text);
  }
}

// --- MIME --------------------------------------------------------------------------------------

interface Part {
  readonly type: string;
  readonly body: string;
}

/** The parts of a MIME multipart document, or the whole text as one part of unknown type. */
function mimeParts(text: string): Part[] {
  if (!/^(MIME-Version|Content-Type):/i.test(text.trimStart())) return [{ type: "", body: text }];
  const message = readMime(text.replaceAll("\r", ""), USER_DATA);
  const parts = message.boundary === undefined ? [message] : message.parts;
  return parts.map((part) => ({
    type: baseType(headerOf(part, "content-type") ?? "text/plain"),
    body: decodeBody(part),
  }));
}

function decodeBody(part: MimePart): string {
  const encoding = headerOf(part, "content-transfer-encoding")?.toLowerCase();
  return encoding === "base64"
    ? Buffer.from(part.content, "base64").toString("utf8")
    : part.content;
}

function baseType(contentType: string): string {
  return (contentType.split(";")[0] ?? "").trim().toLowerCase();
}

// --- Amazon Linux 2 and Ubuntu -----------------------------------------------------------------

function readBootstrapScript(draft: Draft, text: string): void {
  for (const part of mimeParts(text)) {
    if (part.type !== "" && part.type !== "text/x-shellscript") continue;
    // cloud-init runs a plain text only if it is a script.
    if (part.type === "" && !part.body.trimStart().startsWith("#!")) continue;
    for (const line of part.body.replaceAll("\\\n", " ").split("\n")) {
      const words = shellWords(line);
      const at = words.findIndex((word) => word.endsWith("/bootstrap.sh"));
      if (at >= 0) readBootstrapArguments(draft, words.slice(at + 1));
    }
  }
}

function readBootstrapArguments(draft: Draft, words: readonly string[]): void {
  draft.booted = true;
  for (let i = 0; i < words.length; i++) {
    const word = words[i] as string;
    if (!word.startsWith("--")) {
      draft.clusterName ??= word;
      continue;
    }
    const value = words[++i] ?? "";
    if (word === "--kubelet-extra-args") readKubeletFlags(draft, shellWords(value));
    else if (word === "--apiserver-endpoint") draft.apiServer = value;
    else if (word === "--local-disks") draft.raid0 = value === "raid0";
  }
}

/** Splits a line like a shell: quotes, backslashes and comments, but no expansion. */
function shellWords(line: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote = "";
  for (let i = 0; i < line.length; i++) {
    const char = line[i] as string;
    if (quote !== "") {
      if (char === quote) quote = "";
      else if (char === "\\" && quote === '"' && i + 1 < line.length) word += line[++i] as string;
      else word += char;
    } else if (char === "'" || char === '"') {
      quote = char;
      word ??= "";
    } else if (char === "\\" && i + 1 < line.length) {
      word = (word ?? "") + (line[++i] as string);
    } else if (/\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (char === "#" && word === undefined) {
      return words;
    } else {
      word = (word ?? "") + char;
    }
  }
  if (word !== undefined) words.push(word);
  return words;
}

// --- kubelet flags and configuration -----------------------------------------------------------

function readKubeletFlags(draft: Draft, words: readonly string[]): void {
  for (const word of words) {
    const equals = word.indexOf("=");
    if (!word.startsWith("--") || equals < 0) continue;
    const flag = word.slice(2, equals);
    const value = word.slice(equals + 1);
    if (flag === "node-labels") addLabels(draft, value);
    else if (flag === "register-with-taints") draft.taints.push(...parseTaints(value));
    else if (flag === "max-pods") draft.maxPods = wholeNumber("--max-pods", value);
    else if (flag === "pods-per-core") draft.podsPerCore = wholeNumber("--pods-per-core", value);
    else if (flag === "kube-reserved") Object.assign(draft.kubeReserved, pairs(value, "="));
    else if (flag === "system-reserved") Object.assign(draft.systemReserved, pairs(value, "="));
    else if (flag === "eviction-hard") Object.assign(draft.evictionHard, pairs(value, "<"));
  }
}

function wholeNumber(flag: string, text: unknown): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0) {
    throw new BootError(
      `kubelet does not start: ${flag} ${JSON.stringify(text)} is no whole number`,
    );
  }
  return value;
}

function pairs(text: string, separator: string): Record<string, string> {
  const result: Record<string, string> = {};
  for (const pair of text.split(",")) {
    const at = pair.indexOf(separator);
    if (at > 0) result[pair.slice(0, at).trim()] = pair.slice(at + separator.length).trim();
  }
  return result;
}

function addLabels(draft: Draft, text: string): void {
  for (const pair of text.split(",")) {
    if (pair === "") continue;
    const at = pair.indexOf("=");
    setLabel(draft, at < 0 ? pair : pair.slice(0, at), at < 0 ? "" : pair.slice(at + 1));
  }
}

/** Labels of Kubernetes' own domains that a kubelet may set on its node. */
const KUBELET_LABELS: ReadonlySet<string> = new Set([
  "kubernetes.io/hostname",
  "kubernetes.io/arch",
  "kubernetes.io/os",
  "beta.kubernetes.io/arch",
  "beta.kubernetes.io/os",
  "beta.kubernetes.io/instance-type",
  "node.kubernetes.io/instance-type",
  "failure-domain.beta.kubernetes.io/region",
  "failure-domain.beta.kubernetes.io/zone",
  "topology.kubernetes.io/region",
  "topology.kubernetes.io/zone",
]);

// A kubelet refuses to start with labels that only the control plane may set.
function setLabel(draft: Draft, key: string, value: string): void {
  const domain = key.includes("/") ? key.slice(0, key.indexOf("/")) : "";
  const isKubernetes = /(^|\.)(kubernetes\.io|k8s\.io)$/.test(domain);
  const isKubelets = /(^|\.)(kubelet|node)\.kubernetes\.io$/.test(domain);
  if (isKubernetes && !isKubelets && !KUBELET_LABELS.has(key)) {
    throw new BootError(`kubelet does not start: unknown 'kubernetes.io' or 'k8s.io' label ${key}`);
  }
  draft.labels[key] = value;
}

/** Parses comma-separated taints: `key=value:Effect` or `key:Effect`. */
function parseTaints(text: string): BootTaint[] {
  const taints: BootTaint[] = [];
  for (const item of text.split(",")) {
    if (item.trim() === "") continue;
    const colon = item.lastIndexOf(":");
    if (colon < 0) throw new BootError(`kubelet does not start: invalid taint ${item}`);
    const pair = item.slice(0, colon).trim();
    const equals = pair.indexOf("=");
    const effect = item.slice(colon + 1).trim();
    const value = equals < 0 ? "" : pair.slice(equals + 1);
    taints.push(taint(equals < 0 ? pair : pair.slice(0, equals), value, effect));
  }
  return taints;
}

function taint(key: string, value: unknown, effect: unknown): BootTaint {
  const text = value === undefined || value === null ? "" : asText(value);
  if (!["NoSchedule", "PreferNoSchedule", "NoExecute"].includes(asText(effect))) {
    throw new BootError(
      `kubelet does not start: taint ${key} has effect ${JSON.stringify(effect)}`,
    );
  }
  return text === ""
    ? { key, effect: asText(effect) }
    : { key, value: text, effect: asText(effect) };
}

// --- Amazon Linux 2023 -------------------------------------------------------------------------

function readNodeadm(draft: Draft, text: string): void {
  for (const part of mimeParts(text)) {
    const isConfig =
      part.type === "application/node.eks.aws" ||
      (part.type === "" && /kind:\s*"?NodeConfig/.test(part.body));
    if (!isConfig) continue;
    for (const document of nodeConfigs(part.body)) readNodeConfig(draft, document);
  }
}

function nodeConfigs(text: string): unknown[] {
  try {
    return readYaml(text, { ...USER_DATA, repeatedKeys: "refused" });
  } catch (error) {
    if (error instanceof ReadError) throw new BootError(`nodeadm: ${error.problem}`);
    throw error;
  }
}

function readNodeConfig(draft: Draft, document: unknown): void {
  if (!isObject(document) || document["kind"] !== "NodeConfig") return;
  const spec = fieldsOf(document["spec"]);
  const cluster = fieldsOf(spec["cluster"]);
  const kubelet = fieldsOf(spec["kubelet"]);
  const { strategy } = fieldsOf(fieldsOf(spec["instance"])["localStorage"]);
  if (strategy !== undefined) draft.raid0 = strategy === "RAID0";
  if (typeof cluster["name"] === "string") draft.clusterName = cluster["name"];
  if (typeof cluster["apiServerEndpoint"] === "string")
    draft.apiServer = cluster["apiServerEndpoint"];
  // nodeadm needs all fields of the cluster section. They may come from several documents.
  if (draft.clusterName !== undefined && draft.apiServer !== undefined) draft.booted = true;
  readKubeletConfiguration(draft, fieldsOf(kubelet["config"]));
  if (Array.isArray(kubelet["flags"])) {
    readKubeletFlags(
      draft,
      kubelet["flags"].flatMap((flag) => shellWords(asText(flag))),
    );
  }
}

function readKubeletConfiguration(draft: Draft, config: Record<string, unknown>): void {
  if (config["maxPods"] !== undefined) draft.maxPods = wholeNumber("maxPods", config["maxPods"]);
  if (config["podsPerCore"] !== undefined)
    draft.podsPerCore = wholeNumber("podsPerCore", config["podsPerCore"]);
  if (Array.isArray(config["registerWithTaints"])) {
    // A list in a later document replaces the earlier one, as in nodeadm.
    draft.taints = config["registerWithTaints"].map((item) => {
      const fields = fieldsOf(item);
      return taint(asText(fields["key"]), fields["value"], fields["effect"]);
    });
  }
  Object.assign(draft.kubeReserved, textsOf(config["kubeReserved"]));
  Object.assign(draft.systemReserved, textsOf(config["systemReserved"]));
  Object.assign(draft.evictionHard, textsOf(config["evictionHard"]));
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}

function textsOf(value: unknown): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fieldsOf(value)).map(([key, item]) => [key, asText(item)]),
  );
}

// --- Bottlerocket ------------------------------------------------------------------------------

/**
 * Whether the commands include `apiclient ephemeral-storage bind`, which moves the pods' storage to the disks that
 * `init` striped.
 */
function bindsLocalDisks(bootstrapCommands: unknown): boolean {
  return Object.values(fieldsOf(bootstrapCommands)).some((one) => {
    const { commands } = fieldsOf(one);
    const words = Array.isArray(commands)
      ? commands.map((command) => [command].flat().join(" "))
      : [];
    return words.some((line) => line.startsWith("apiclient ephemeral-storage bind"));
  });
}

function readBottlerocket(draft: Draft, text: string): void {
  const settings = fieldsOf(readToml(text, USER_DATA)["settings"]);
  if (bindsLocalDisks(settings["bootstrap-commands"])) draft.raid0 = true;
  const kubernetes = fieldsOf(settings["kubernetes"]);
  const name = kubernetes["cluster-name"];
  const server = kubernetes["api-server"];
  if (typeof name !== "string" || typeof server !== "string") return;
  draft.booted = true;
  draft.clusterName = name;
  draft.apiServer = server;
  for (const [key, value] of Object.entries(textsOf(kubernetes["node-labels"])))
    setLabel(draft, key, value);
  for (const [key, values] of Object.entries(fieldsOf(kubernetes["node-taints"]))) {
    for (const item of Array.isArray(values) ? values : [values]) {
      const [value = "", effect] = asText(item).split(":");
      draft.taints.push(taint(key, value, effect));
    }
  }
  if (kubernetes["max-pods"] !== undefined)
    draft.maxPods = wholeNumber("max-pods", kubernetes["max-pods"]);
  Object.assign(draft.kubeReserved, textsOf(kubernetes["kube-reserved"]));
  Object.assign(draft.systemReserved, textsOf(kubernetes["system-reserved"]));
  Object.assign(draft.evictionHard, textsOf(kubernetes["eviction-hard"]));
}

// --- Windows -----------------------------------------------------------------------------------

function readPowerShell(draft: Draft, text: string): void {
  const script = /<powershell>([\s\S]*?)<\/powershell>/i.exec(text)?.[1];
  if (script === undefined) return;
  const parameter = (name: string): string | undefined =>
    new RegExp(`-${name}\\s+'((?:[^']|'')*)'`, "i").exec(script)?.[1]?.replaceAll("''", "'");
  const name = parameter("EKSClusterName");
  if (name === undefined) return;
  draft.booted = true;
  draft.clusterName = name;
  const server = parameter("APIServerEndpoint");
  if (server !== undefined) draft.apiServer = server;
  readKubeletFlags(draft, shellWords(parameter("KubeletExtraArgs") ?? ""));
}
