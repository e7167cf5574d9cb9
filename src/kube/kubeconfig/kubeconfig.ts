/**
 * Where the API server is and how to prove who we are: from kubeconfig files, or inside a pod from the
 * service account's files. What can change while we run (tokens and certificates in files, plugins, OIDC)
 * becomes credentials that are looked up anew. What is not supported is refused with a remedy.
 * upstream: client-go tools/clientcmd, rest.InClusterConfig
 */
import { existsSync, readFileSync } from "node:fs";
import { delimiter, dirname, join, resolve } from "node:path";
import { parse } from "yaml";
import type { Clock } from "../../base/clock.ts";
import { firstLineOf } from "../../base/error-text.ts";
import { isObject } from "../../base/json.ts";
import {
  type Credential,
  type Credentials,
  CredentialsError,
  cachedCredentials,
  fixedCredentials,
} from "../transport/credentials.ts";
import { type ExecConfig, execProblem, runExecPlugin } from "./exec-plugin.ts";
import { type OidcConfig, oidcTokens } from "./oidc.ts";

/** How to reach one API server. */
export interface ClusterAccess {
  readonly server: string;
  readonly caPem?: string;
  /** Name in the server's certificate, where it is not that of `server`. */
  readonly tlsServerName?: string;
  readonly credentials: Credentials;
  /** Whom to act as: `Impersonate-…`. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** The kubeconfig cannot be used; `message` names the file, the entry and the remedy. */
export class KubeconfigError extends Error {
  override readonly name = "KubeconfigError";
}

type Env = Readonly<Record<string, string | undefined>>;

const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";
/** Files with tokens and certificates are read again after this time. upstream: client-go transport */
const FILE_LIFETIME_MS = 60_000;

interface Entry {
  readonly name: string;
  readonly [part: string]: unknown;
}

interface Config {
  readonly "current-context"?: string;
  readonly contexts?: readonly Entry[] | null;
  readonly clusters?: readonly Entry[] | null;
  readonly users?: readonly Entry[] | null;
}

interface LoadedConfig {
  readonly path: string;
  readonly config: Config;
}

/** One entry's fields, and the file they stand in. */
interface Found {
  readonly name: string;
  readonly path: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/**
 * `paths` as in KUBECONFIG: kubeconfig files, of which the first to name something counts. Absent, the pod's
 * own service account is used (its files, as the kubelet mounts them), and outside a pod `~/.kube/config`.
 * Throws KubeconfigError.
 */
export function clusterAccess(
  paths: string | undefined,
  env: Env,
  clock: Clock,
  serviceAccount = SERVICE_ACCOUNT,
): ClusterAccess {
  if (paths !== undefined && paths !== "") return fromFiles(paths.split(delimiter), env, clock);
  const host = env["KUBERNETES_SERVICE_HOST"];
  if (host !== undefined && existsSync(join(serviceAccount, "token")))
    return inCluster(host, env["KUBERNETES_SERVICE_PORT"] ?? "443", serviceAccount, clock);
  const own = join(env["HOME"] ?? "", ".kube", "config");
  if (env["HOME"] !== undefined && existsSync(own)) return fromFiles([own], env, clock);
  throw new KubeconfigError(
    "no cluster to talk to: set KUBECONFIG to a kubeconfig file, or run inside a pod with a service account",
  );
}

function inCluster(host: string, port: string, folder: string, clock: Clock): ClusterAccess {
  return {
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    caPem: readFileSync(join(folder, "ca.crt"), "utf8"),
    // The kubelet writes a new one long before this one is over.
    credentials: fileCredentials({ tokenFile: join(folder, "token") }, clock),
  };
}

function fromFiles(paths: readonly string[], env: Env, clock: Clock): ClusterAccess {
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
  const cluster = find(loaded, "clusters", "cluster", text(context, "cluster"), all);
  const user = find(loaded, "users", "user", text(context, "user"), all);
  const server = text(cluster, "server");
  if (server === undefined) throw refused(cluster, "cluster", "has no server");
  if (String(cluster.fields["insecure-skip-tls-verify"]) === "true")
    throw refused(
      cluster,
      "cluster",
      "sets insecure-skip-tls-verify, which is not supported; give certificate-authority-data instead",
    );
  if (cluster.fields["proxy-url"] !== undefined)
    throw refused(cluster, "cluster", "sets proxy-url, which is not supported");
  const caPem = pem(cluster, "certificate-authority");
  const tlsServerName = text(cluster, "tls-server-name");
  const headers = impersonation(user);
  return {
    server,
    ...(caPem === undefined ? {} : { caPem }),
    ...(tlsServerName === undefined ? {} : { tlsServerName }),
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    credentials: credentialsOf(user, cluster, env, clock),
  };
}

function credentialsOf(user: Found, cluster: Found, env: Env, clock: Clock): Credentials {
  const { fields, path } = user;
  const folder = dirname(resolve(path));
  if (fields["exec"] !== undefined) {
    const config = fields["exec"] as ExecConfig;
    const problem = execProblem(config);
    if (problem !== undefined) throw refused(user, "user", `cannot log in: ${problem}`);
    const about = {
      server: text(cluster, "server") ?? "",
      caPem: pem(cluster, "certificate-authority"),
      tlsServerName: text(cluster, "tls-server-name"),
      config: extension(cluster, "client.authentication.k8s.io/exec"),
    };
    return cachedCredentials(() => runExecPlugin(config, about, folder, env), clock, false);
  }
  const provider = fields["auth-provider"] as
    | { readonly name?: string; readonly config?: OidcConfig }
    | undefined;
  if (provider !== undefined) {
    if (provider.name !== "oidc")
      throw refused(
        user,
        "user",
        `logs in with the auth-provider ${JSON.stringify(provider.name ?? "")}, which Kubernetes has removed; use an exec plugin`,
      );
    const config = provider.config ?? {};
    const ca = pem({ ...user, fields: config }, "idp-certificate-authority");
    return cachedCredentials(
      oidcTokens(config, ca, () => clock.now()),
      clock,
      false,
    );
  }
  if (fields["username"] !== undefined)
    throw refused(user, "user", "has a password, which API servers no longer take; use a token");
  const given: Credential = {
    ...(text(user, "token") === undefined ? {} : { token: text(user, "token") as string }),
    ...certificate(pem(user, "client-certificate"), pem(user, "client-key")),
  };
  const file = (field: string): string | undefined => {
    const name = fields[`${field}-data`] === undefined ? text(user, field) : undefined;
    return name === undefined ? undefined : resolve(folder, name);
  };
  const tokenFile = text(user, "tokenFile");
  const files: CredentialFiles = {
    // Where both are given the file counts, as in client-go.
    tokenFile: tokenFile === undefined ? undefined : resolve(folder, tokenFile),
    certFile: file("client-certificate"),
    keyFile: file("client-key"),
  };
  return Object.values(files).every((one) => one === undefined)
    ? fixedCredentials(given)
    : fileCredentials(files, clock, given);
}

interface CredentialFiles {
  readonly tokenFile?: string | undefined;
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
}

/** Read again now and then; a file that cannot be read leaves the last credential in use. */
function fileCredentials(
  { tokenFile, certFile, keyFile }: CredentialFiles,
  clock: Clock,
  given: Credential = {},
): Credentials {
  let last: Credential = given;
  const read = (file: string): string => {
    try {
      return readFileSync(file, "utf8");
    } catch (error) {
      throw new CredentialsError(`cannot read ${file}: ${(error as NodeJS.ErrnoException).code}`);
    }
  };
  const fetch = async () => {
    const next: Credential = {
      ...given,
      ...(tokenFile === undefined ? {} : { token: read(tokenFile).trim() }),
      ...certificate(
        certFile === undefined ? given.clientCertificate?.certPem : read(certFile),
        keyFile === undefined ? given.clientCertificate?.keyPem : read(keyFile),
      ),
    };
    // What did not change keeps its connections.
    if (JSON.stringify(next) !== JSON.stringify(last)) last = next;
    return { credential: last, forMs: FILE_LIFETIME_MS };
  };
  return cachedCredentials(fetch, clock, true);
}

function certificate(certPem: string | undefined, keyPem: string | undefined): Credential {
  return certPem === undefined || keyPem === undefined
    ? {}
    : { clientCertificate: { certPem, keyPem } };
}

/** Acting as somebody else, where one's rights allow that. */
function impersonation(user: Found): Record<string, string> {
  if (user.fields["as-groups"] !== undefined || user.fields["as-user-extra"] !== undefined)
    throw refused(user, "user", "sets as-groups or as-user-extra, which is not supported");
  const [as, uid] = [text(user, "as"), text(user, "as-uid")];
  return {
    ...(as === undefined ? {} : { "impersonate-user": as }),
    ...(uid === undefined ? {} : { "impersonate-uid": uid }),
  };
}

/** What a kubeconfig file holds, as plain JSON; `{}` for an empty one. Throws KubeconfigError. */
export function loadKubeconfig(path: string): Readonly<Record<string, unknown>> {
  let content: string;
  try {
    content = readFileSync(path, "utf8");
  } catch (error) {
    throw new KubeconfigError(
      `cannot read the kubeconfig ${path}: ${(error as NodeJS.ErrnoException).code ?? String(error)}`,
    );
  }
  // An empty file says nothing, and is none the worse for that.
  const config = parsed(path, content) ?? {};
  if (!isObject(config) || (config["kind"] ?? "Config") !== "Config")
    throw new KubeconfigError(
      `${path} is not a kubeconfig: wanted an object of kind Config with clusters, contexts and users`,
    );
  return config;
}

function parsed(path: string, content: string): unknown {
  try {
    return parse(content);
  } catch (error) {
    throw new KubeconfigError(`${path} is not a kubeconfig: not valid YAML: ${firstLineOf(error)}`);
  }
}

function find(
  loaded: readonly LoadedConfig[],
  list: "contexts" | "clusters" | "users",
  part: string,
  name: string | undefined,
  all: string,
): Found {
  for (const { path, config } of loaded) {
    const entry = listed(config[list]).find((one) => one.name === name);
    if (entry !== undefined)
      return { name: entry.name, path, fields: (entry[part] ?? {}) as Found["fields"] };
  }
  if (list === "contexts" && name === undefined)
    throw new KubeconfigError(
      `${all}: there is no current-context; choose one: kubectl config use-context NAME`,
    );
  throw new KubeconfigError(`${all}: ${list} has no entry named ${JSON.stringify(name ?? "")}`);
}

function listed(entries: Config["contexts"]): readonly Entry[] {
  return Array.isArray(entries) ? entries.filter((entry: Entry) => isObject(entry)) : [];
}

function refused({ path, name }: Found, what: string, why: string): KubeconfigError {
  return new KubeconfigError(`${path}: ${what} ${name} ${why}`);
}

function text({ fields }: Found, field: string): string | undefined {
  const value = fields[field];
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** `<field>-data` holds base64, `<field>` a path beside the kubeconfig. */
function pem(found: Found, field: string): string | undefined {
  const data = text(found, `${field}-data`);
  if (data !== undefined) return Buffer.from(data, "base64").toString("utf8");
  const file = text(found, field);
  if (file === undefined) return undefined;
  try {
    return readFileSync(resolve(dirname(resolve(found.path)), file), "utf8");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    throw new KubeconfigError(
      `${found.path}: ${found.name}: cannot read ${field} ${file}: ${code}`,
    );
  }
}

function extension({ fields }: Found, name: string): unknown {
  const extensions = fields["extensions"] as readonly Entry[] | undefined;
  return extensions?.find((one) => one.name === name)?.["extension"];
}
