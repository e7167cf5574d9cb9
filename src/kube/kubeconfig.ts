/**
 * Where the API server is and how to prove who we are: from a kubeconfig file, or inside a pod from the
 * service account's files. Tokens, token files and client certificates; plugins (exec, OIDC) are
 * refused with a clear error.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { parse } from "yaml";

/** How to reach one API server. */
export interface ClusterAccess {
  readonly server: string;
  readonly caPem?: string;
  readonly token?: string;
  readonly clientCertificate?: { readonly certPem: string; readonly keyPem: string };
}

/** The kubeconfig cannot be used; `message` names the file, the entry and the remedy. */
export class KubeconfigError extends Error {
  override readonly name = "KubeconfigError";
}

const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

interface NamedEntries {
  readonly [entry: string]:
    | readonly { readonly name: string; readonly [part: string]: unknown }[]
    | undefined;
}

type Fields = Readonly<Record<string, string | undefined>>;

/** `path` is a kubeconfig file; absent, the pod's own service account is used. Throws KubeconfigError. */
export function clusterAccess(
  path: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): ClusterAccess {
  return path === undefined || path === "" ? inCluster(env) : fromFile(path);
}

function inCluster(env: Readonly<Record<string, string | undefined>>): ClusterAccess {
  const host = env["KUBERNETES_SERVICE_HOST"];
  const port = env["KUBERNETES_SERVICE_PORT"] ?? "443";
  if (host === undefined || !existsSync(`${SERVICE_ACCOUNT}/token`)) {
    throw new KubeconfigError(
      "no cluster to talk to: set KUBECONFIG to a kubeconfig file, or run inside a pod with a service account",
    );
  }
  return {
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    caPem: readFileSync(`${SERVICE_ACCOUNT}/ca.crt`, "utf8"),
    token: readFileSync(`${SERVICE_ACCOUNT}/token`, "utf8").trim(),
  };
}

function fromFile(path: string): ClusterAccess {
  const config = readConfig(path);
  const contextName = (config as { "current-context"?: string })["current-context"];
  const context = entry(config, "contexts", contextName, "context", path);
  const cluster = entry(config, "clusters", context["cluster"], "cluster", path);
  const user = entry(config, "users", context["user"], "user", path);
  if (user["exec"] !== undefined || user["auth-provider"] !== undefined) {
    throw new KubeconfigError(
      `${path}: user ${context["user"]} logs in with a plugin, which is not supported yet; use a token or a client certificate`,
    );
  }
  const { server } = cluster;
  if (server === undefined)
    throw new KubeconfigError(`${path}: cluster ${context["cluster"]} has no server`);
  if (String(cluster["insecure-skip-tls-verify"]) === "true") {
    throw new KubeconfigError(
      `${path}: cluster ${context["cluster"]} sets insecure-skip-tls-verify, which is not supported; give certificate-authority-data instead`,
    );
  }
  const folder = dirname(resolve(path));
  const caPem = pem(cluster, "certificate-authority", folder);
  const certPem = pem(user, "client-certificate", folder);
  const keyPem = pem(user, "client-key", folder);
  const tokenFile = user["tokenFile"];
  const token =
    user["token"] ??
    (tokenFile === undefined ? undefined : readFileSync(resolve(folder, tokenFile), "utf8").trim());
  return {
    server,
    ...(caPem === undefined ? {} : { caPem }),
    ...(token === undefined ? {} : { token }),
    ...(certPem === undefined || keyPem === undefined
      ? {}
      : { clientCertificate: { certPem, keyPem } }),
  };
}

function readConfig(path: string): NamedEntries {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new KubeconfigError(
      `cannot read the kubeconfig ${path}: ${(error as NodeJS.ErrnoException).code ?? String(error)}`,
    );
  }
  const parsed: unknown = parse(text);
  if (typeof parsed !== "object" || parsed === null)
    throw new KubeconfigError(`${path} is not a kubeconfig`);
  return parsed as NamedEntries;
}

function entry(
  config: NamedEntries,
  list: string,
  name: string | undefined,
  part: string,
  path: string,
): Fields {
  const found = config[list]?.find((item) => item.name === name);
  if (found === undefined)
    throw new KubeconfigError(`${path}: ${list} has no entry named ${JSON.stringify(name ?? "")}`);
  return (found[part] ?? {}) as Fields;
}

/** `<field>-data` holds base64, `<field>` a path beside the kubeconfig. */
function pem(fields: Fields, field: string, folder: string): string | undefined {
  const data = fields[`${field}-data`];
  if (data !== undefined) return Buffer.from(data, "base64").toString("utf8");
  const file = fields[field];
  return file === undefined ? undefined : readFileSync(resolve(folder, file), "utf8");
}
