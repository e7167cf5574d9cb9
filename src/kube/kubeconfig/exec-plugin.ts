/**
 * Credential plugins of a kubeconfig: programs such as `aws eks get-token` that print an ExecCredential. A plugin runs
 * when a credential is needed. The credential is kept until it expires or the server refuses it.
 * upstream: client-go plugin/pkg/client/auth/exec
 */
import { spawn } from "node:child_process";
import { isAbsolute, resolve } from "node:path";
import { fromRfc3339 } from "../../base/clock.ts";
import { isObject } from "../../base/json.ts";
import {
  type Credential,
  CredentialsError,
  type TimedCredential,
} from "../transport/credentials.ts";

/** The entry `users[].user.exec`. */
export interface ExecConfig {
  readonly command?: string;
  readonly args?: readonly string[] | null;
  readonly env?: readonly { readonly name: string; readonly value: string }[] | null;
  readonly apiVersion?: string;
  readonly installHint?: string;
  readonly provideClusterInfo?: boolean;
  readonly interactiveMode?: "Never" | "IfAvailable" | "Always";
}

/** The data of the cluster, for plugins with provideClusterInfo. */
export interface ExecCluster {
  readonly server: string;
  readonly caPem?: string | undefined;
  readonly tlsServerName?: string | undefined;
  readonly insecure?: boolean | undefined;
  readonly proxyUrl?: string | undefined;
  readonly disableCompression?: boolean;
  /** The extension for plugins in the cluster's entry. */
  readonly config?: unknown;
}

const VERSIONS = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];
const TIMEOUT_MS = 60_000;

/** What is wrong with the entry. Undefined: it can be used. The plugin is not run. */
export function execProblem(
  { command, apiVersion, interactiveMode = "IfAvailable" }: ExecConfig,
  hasTerminal: boolean,
): string | undefined {
  if (!command) return "its exec plugin has no command";
  if (!VERSIONS.includes(apiVersion ?? ""))
    return `its exec plugin speaks ${JSON.stringify(apiVersion ?? "")}; use ${VERSIONS.join(" or ")}`;
  if (!["Never", "IfAvailable", "Always"].includes(interactiveMode))
    return `its exec plugin has the interactiveMode ${JSON.stringify(interactiveMode)}; use Never, IfAvailable or Always`;
  if (interactiveMode === "Always" && !hasTerminal)
    return "its exec plugin wants a terminal (interactiveMode: Always), and standard input is none";
  return undefined;
}

/** Runs the plugin once. `folder`: the folder of the kubeconfig, where relative commands start. */
export async function runExecPlugin(
  config: ExecConfig,
  cluster: ExecCluster,
  folder: string,
  { env, hasTerminal }: { readonly env: NodeJS.ProcessEnv; readonly hasTerminal: boolean },
): Promise<TimedCredential> {
  const { command = "", apiVersion = "" } = config;
  const path = command.includes("/") && !isAbsolute(command) ? resolve(folder, command) : command;
  const interactive = hasTerminal && config.interactiveMode !== "Never";
  const info = {
    apiVersion,
    kind: "ExecCredential",
    spec: {
      interactive,
      ...(config.provideClusterInfo === true ? { cluster: clusterInfo(cluster) } : {}),
    },
  };
  const given = Object.fromEntries((config.env ?? []).map(({ name, value }) => [name, value]));
  const told = { ...env, ...given, KUBERNETES_EXEC_INFO: JSON.stringify(info) };
  const output = await outputOf(path, config.args ?? [], told, interactive).catch(
    (error: NodeJS.ErrnoException) => {
      const hint = config.installHint === undefined ? "" : `; ${config.installHint.trim()}`;
      const why = error.code === "ENOENT" ? `there is no such program${hint}` : error.message;
      throw new CredentialsError(`credential plugin ${command}: ${why}`);
    },
  );
  return leaseOf(output, apiVersion, command);
}

/** The cluster in the form that plugins read. upstream: client-go pkg/apis/clientauthentication, Cluster */
function clusterInfo(cluster: ExecCluster): object {
  const { server, caPem, tlsServerName, insecure, proxyUrl, disableCompression, config } = cluster;
  return {
    server,
    ...(tlsServerName === undefined ? {} : { "tls-server-name": tlsServerName }),
    ...(insecure === true ? { "insecure-skip-tls-verify": true } : {}),
    ...(caPem === undefined
      ? {}
      : { "certificate-authority-data": Buffer.from(caPem).toString("base64") }),
    ...(proxyUrl === undefined ? {} : { "proxy-url": proxyUrl }),
    ...(disableCompression === true ? { "disable-compression": true } : {}),
    ...(config === undefined ? {} : { config }),
  };
}

function outputOf(
  path: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  interactive: boolean,
): Promise<string> {
  return new Promise((done, fail) => {
    // The plugin's standard error is for the user, so it is passed to the standard error of this process.
    const child = spawn(path, args, {
      env,
      stdio: [interactive ? "inherit" : "ignore", "pipe", "inherit"],
      // The option `timeout` is not used. If the program cannot start, the timer of that option keeps this process
      // running.
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
    child.once("error", fail);
    child.once("close", (code, signal) => {
      if (code === 0) done(text);
      else fail(new Error(signal === null ? `it ended with ${code}` : `it ended by ${signal}`));
    });
  });
}

function leaseOf(output: string, apiVersion: string, command: string): TimedCredential {
  const refuse = (why: string): never => {
    throw new CredentialsError(`credential plugin ${command}: ${why}`);
  };
  let answer: { apiVersion?: string; kind?: string; status?: Readonly<Record<string, string>> };
  try {
    const printed: unknown = JSON.parse(output);
    if (!isObject(printed)) return refuse("what it printed is no JSON object");
    answer = printed;
  } catch (error) {
    if (error instanceof CredentialsError) throw error;
    return refuse("what it printed is no JSON");
  }
  if (answer.kind !== "ExecCredential" || answer.apiVersion !== apiVersion)
    return refuse(
      `it printed a ${answer.apiVersion} ${answer.kind}, not an ExecCredential of ${apiVersion}`,
    );
  const { token, clientCertificateData, clientKeyData, expirationTimestamp } = answer.status ?? {};
  if ((clientCertificateData === undefined) !== (clientKeyData === undefined))
    return refuse("it gave a certificate without a key, or a key without a certificate");
  if (!token && clientCertificateData === undefined)
    return refuse("it gave neither a token nor a certificate");
  const credential: Credential = {
    ...(token ? { token } : {}),
    ...(clientCertificateData === undefined || clientKeyData === undefined
      ? {}
      : { clientCertificate: { certPem: clientCertificateData, keyPem: clientKeyData } }),
  };
  return { credential, untilMs: fromRfc3339(expirationTimestamp) };
}
