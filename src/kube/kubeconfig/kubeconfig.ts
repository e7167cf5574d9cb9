/**
 * Finds the API server and credentials: in kubeconfig files, or in a pod's service account. It supports every field
 * that client-go supports. It refuses logins that client-go has removed, and names a remedy.
 * upstream: client-go tools/clientcmd, rest.InClusterConfig
 */
import { existsSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { asText, isObject } from "../../base/json.ts";
import { LIMITS } from "../../readers/limits.ts";
import { ReadError } from "../../readers/read-error.ts";
import { readYamlValue } from "../../readers/yaml.ts";
import type { Credentials } from "../transport/credentials.ts";
import { type Entry, KubeconfigError, NoClusterError, pemOf, refused, textOf } from "./entry.ts";
import { credentialsOf, fileCredentials, impersonation, type PluginHost } from "./user.ts";

/** How to connect to one API server. */
export interface ClusterAccess {
  /** URL of the server. It may have a path, if the server is behind a gateway. */
  readonly server: string;
  readonly caPem?: string;
  /** Name in the server's certificate, if it differs from the host in `server`. */
  readonly tlsServerName?: string;
  /** Whether the check of the server's certificate is turned off. */
  readonly insecure?: true;
  /** URL of the proxy, with the scheme `http`, `https` or `socks5`. It may contain a password. */
  readonly proxyUrl?: string;
  readonly credentials: Credentials;
  /** Headers for impersonation (`Impersonate-…`). */
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** Warnings for a person, one sentence each. Absent: there are none. */
  readonly warnings?: readonly string[];
}

/** Facts about the computer that the login depends on. Tests replace them. */
export interface LoginMachine {
  /** Folder of the pod's service account, as the kubelet mounts it. */
  readonly serviceAccount?: string;
  /** Whether a credential plugin may ask the user. Absent: yes if standard input is a terminal. */
  readonly hasTerminal?: boolean;
}

type Env = Readonly<Record<string, string | undefined>>;

const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

interface NamedPart {
  readonly name: string;
  readonly [part: string]: unknown;
}

interface Config {
  readonly "current-context"?: string;
  readonly contexts?: readonly NamedPart[] | null;
  readonly clusters?: readonly NamedPart[] | null;
  readonly users?: readonly NamedPart[] | null;
}

interface LoadedConfig {
  readonly path: string;
  readonly config: Config;
}

/**
 * Reads the access data. `paths`: as in KUBECONFIG, a list of files, of which the first that defines a name is used.
 * Missing files are ignored. Undefined: the pod's service account, or outside a pod `~/.kube/config`. Throws
 * KubeconfigError.
 */
export function clusterAccess(
  paths: string | undefined,
  env: Env,
  clock: Clock,
  {
    serviceAccount = SERVICE_ACCOUNT,
    hasTerminal = process.stdin.isTTY === true,
  }: LoginMachine = {},
): ClusterAccess {
  const host = { env, hasTerminal };
  if (paths !== undefined && paths !== "") return fromFiles(paths.split(delimiter), host, clock);
  const server = env["KUBERNETES_SERVICE_HOST"];
  if (server !== undefined && existsSync(join(serviceAccount, "token")))
    return inCluster(server, env["KUBERNETES_SERVICE_PORT"] ?? "443", serviceAccount, clock);
  const own = join(env["HOME"] ?? "", ".kube", "config");
  if (env["HOME"] !== undefined && existsSync(own)) return fromFiles([own], host, clock);
  throw new NoClusterError(
    "no cluster to talk to: set KUBECONFIG to a kubeconfig file, or run inside a pod with a service account",
  );
}

function inCluster(host: string, port: string, folder: string, clock: Clock): ClusterAccess {
  return {
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    caPem: readFileSync(join(folder, "ca.crt"), "utf8"),
    // The kubelet writes a new token long before the old one expires.
    credentials: fileCredentials({ tokenFile: join(folder, "token") }, clock),
  };
}

function fromFiles(paths: readonly string[], host: PluginHost, clock: Clock): ClusterAccess {
  const loaded = paths
    .filter((path) => path !== "" && existsSync(path))
    .map((path) => ({
      path,
      config: loadKubeconfig(path) as Config,
    }));
  const all = paths.join(delimiter);
  if (loaded.length === 0)
    throw new KubeconfigError(
      `cannot read the kubeconfig ${all}: there is no such file; set KUBECONFIG to the one of your cluster`,
    );
  const current = loaded.map(({ config }) => config["current-context"]).find((name) => name);
  const context = find(loaded, "contexts", "context", current, all);
  const cluster = find(loaded, "clusters", "cluster", textOf(context, "cluster"), all);
  const user = find(loaded, "users", "user", textOf(context, "user"), all);
  const reach = reachOf(cluster);
  const headers = impersonation(user);
  const about = {
    ...reach,
    disableCompression: isTrue(cluster, "disable-compression"),
    config: extension(cluster, "client.authentication.k8s.io/exec"),
  };
  return {
    ...reach,
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    ...(reach.insecure === true ? { warnings: [insecureWarning(cluster)] } : {}),
    credentials: credentialsOf(user, about, host, clock),
  };
}

type Reach = Pick<ClusterAccess, "server" | "caPem" | "tlsServerName" | "insecure" | "proxyUrl">;

/**
 * The address, TLS and proxy of a cluster entry. `disable-compression` is ignored, because this client never asks for
 * compression.
 */
function reachOf(cluster: Entry): Reach {
  const server = textOf(cluster, "server");
  if (server === undefined) throw refused(cluster, "cluster", "has no server");
  const caPem = pemOf(cluster, "certificate-authority");
  const tlsServerName = textOf(cluster, "tls-server-name");
  const proxyUrl = textOf(cluster, "proxy-url");
  const insecure = isTrue(cluster, "insecure-skip-tls-verify");
  if (insecure && caPem !== undefined)
    throw refused(
      cluster,
      "cluster",
      "has a certificate-authority and sets insecure-skip-tls-verify; remove one of them",
    );
  if (proxyUrl !== undefined && !isUrlOf(proxyUrl, ["http:", "https:", "socks5:"]))
    throw refused(
      cluster,
      "cluster",
      "has a proxy-url that is not understood; use http://, https:// or socks5:// and a host",
    );
  return {
    server: serverUrl(cluster, server, caPem !== undefined || insecure),
    ...(caPem === undefined ? {} : { caPem }),
    ...(tlsServerName === undefined ? {} : { tlsServerName }),
    ...(insecure ? { insecure } : {}),
    ...(proxyUrl === undefined ? {} : { proxyUrl }),
  };
}

/**
 * Adds the scheme if it is missing: HTTPS if the entry has TLS fields.
 * upstream: client-go rest/url_utils.go, DefaultServerURL
 */
function serverUrl(cluster: Entry, server: string, isTls: boolean): string {
  const url = server.includes("://") ? server : `${isTls ? "https" : "http"}://${server}`;
  if (isUrlOf(url, ["http:", "https:"])) return url.replace(/\/+$/, "");
  throw refused(
    cluster,
    "cluster",
    `has the server ${JSON.stringify(server)}; use https:// and a host`,
  );
}

function isUrlOf(text: string, protocols: readonly string[]): boolean {
  return URL.canParse(text) && protocols.includes(new URL(text).protocol);
}

function insecureWarning({ path, name }: Entry): string {
  return `${path}: cluster ${name} sets insecure-skip-tls-verify: the API server's certificate is not checked, and anyone on the network path can read the token; give certificate-authority-data instead`;
}

function isTrue({ fields }: Entry, field: string): boolean {
  return asText(fields[field]) === "true";
}

function extension({ fields }: Entry, name: string): unknown {
  return listed(fields["extensions"]).find((one) => one.name === name)?.["extension"];
}

/** The content of a kubeconfig file as JSON. It is `{}` for an empty file. Throws KubeconfigError. */
export function loadKubeconfig(path: string): Readonly<Record<string, unknown>> {
  let content: string;
  try {
    content = readFileSync(path, "utf8");
  } catch (error) {
    throw new KubeconfigError(
      `cannot read the kubeconfig ${path}: ${(error as NodeJS.ErrnoException).code ?? String(error)}`,
    );
  }
  // An empty file is valid and has no entries.
  const config = parsed(path, content) ?? {};
  if (!isObject(config) || (config["kind"] ?? "Config") !== "Config")
    throw new KubeconfigError(
      `${path} is not a kubeconfig: wanted an object of kind Config with clusters, contexts and users`,
    );
  return config;
}

function parsed(path: string, content: string): unknown {
  try {
    const limits = LIMITS.kubeconfig;
    return readYamlValue(content, { source: path, limits, repeatedKeys: "refused" });
  } catch (error) {
    if (!(error instanceof ReadError)) throw error;
    throw new KubeconfigError(`${path} is not a kubeconfig: ${error.problem}`);
  }
}

/**
 * Finds an entry by name. The first file that defines the name is used. upstream: client-go tools/clientcmd/loader.go
 */
function find(
  loaded: readonly LoadedConfig[],
  list: "contexts" | "clusters" | "users",
  part: string,
  name: string | undefined,
  all: string,
): Entry {
  for (const { path, config } of loaded) {
    const [entry, another] = listed(config[list]).filter((one) => one.name === name);
    if (another !== undefined)
      throw new KubeconfigError(
        `${path}: ${list} has two entries named ${JSON.stringify(name)}; remove one of them`,
      );
    if (entry !== undefined)
      return { name: entry.name, path, fields: (entry[part] ?? {}) as Entry["fields"] };
  }
  if (list === "contexts" && name === undefined)
    throw new KubeconfigError(
      `${all}: there is no current-context; choose one: kubectl config use-context NAME`,
    );
  throw new KubeconfigError(
    `${all}: ${list} has no entry named ${JSON.stringify(name ?? "")}; ${remedyOf(loaded, list)}`,
  );
}

/** What to do about a name that no entry of the list has. */
function remedyOf(
  loaded: readonly LoadedConfig[],
  list: "contexts" | "clusters" | "users",
): string {
  const names = loaded.flatMap(({ config }) => listed(config[list]).map(({ name }) => name));
  if (list !== "contexts")
    return `add it, or choose another context: kubectl config use-context NAME`;
  if (names.length === 0) return "set KUBECONFIG to the one of your cluster";
  return `choose one of ${[...new Set(names)].join(", ")}: kubectl config use-context NAME`;
}

function listed(entries: unknown): readonly NamedPart[] {
  return Array.isArray(entries) ? entries.filter((entry: NamedPart) => isObject(entry)) : [];
}
