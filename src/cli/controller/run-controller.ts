/**
 * Runs the operator on the machine's clock until it is stopped or loses the leadership. Logs go to standard output
 * as JSON lines.
 */

import { randomBytes, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import type { Clock } from "../../base/clock.ts";
import { errorText, firstLineOf } from "../../base/error-text.ts";
import { Random } from "../../base/random.ts";
import { SystemClock } from "../../base/system-clock.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { createKubeClient } from "../../kube/client/kube-client.ts";
import { KubeconfigError } from "../../kube/kubeconfig/entry.ts";
import { clusterAccess } from "../../kube/kubeconfig/kubeconfig.ts";
import { withCallRoom } from "../../kube/transport/call-room.ts";
import { rateLimited } from "../../kube/transport/rate-limit.ts";
import type { Transport } from "../../kube/transport/transport.ts";
import { checkPort, PortError } from "../../listen/listener.ts";
import { createOperator, type Operator } from "../../operator/create-operator.ts";
import { type Endpoints, type EndpointsOptions, serveEndpoints } from "../../operator/endpoints.ts";
import { logWriter } from "../../operator/logging/log-outputs.ts";
import { createLogger, type RootLogger } from "../../operator/logging/logger.ts";
import { startLogging } from "../../operator/logging/start-logging.ts";
import { createProfiling } from "../../operator/profiling/profiling.ts";
import { readGlobalSettings } from "../../operator/settings/global-settings.ts";
import { ConfigError, type Options, parseOptions } from "../../operator/settings/parse-options.ts";
import { openSpans } from "../../operator/spans/open-spans.ts";
import { startWebhooks, type Webhooks } from "../../operator/webhooks/webhooks.ts";
import { reviewBy } from "../console/review.ts";
import { BUILD } from "../program/build.ts";
import { CliError } from "../program/cli-error.ts";
import { interrupted } from "../program/interrupted.ts";
import { exitOnUncaught } from "../program/last-resort.ts";
import { nodeVersionNote } from "../program/node-version.ts";
import { Parts } from "../program/parts.ts";
import { keepMemoryLimit } from "./memory-limit.ts";
import { awsProvider, kwokProvider } from "./providers.ts";
import { serverTransports } from "./server-transports.ts";

const NAMESPACE = process.env["SYSTEM_NAMESPACE"] ?? "karpenter";
/** The answer to Prometheus before there are any metrics. */
const NO_METRICS = { contentType: "text/plain; version=0.0.4", parts: none() };
const EXIT_SOON_MS = 1_000;

/** Milliseconds in which a failed controller must release its Lease and close its ports. */
const CLOSE_WITHIN_MS = 8_000;

/** The state of a controller during its start. */
interface Starting {
  readonly provider: "aws" | "kwok";
  readonly flags: Readonly<Record<string, string>>;
  readonly given: Options;
  readonly clock: Clock;
  readonly log: RootLogger;
  readonly parts: Parts;
  readonly hasFailed: () => boolean;
}

/**
 * Runs until it is stopped, loses the leadership or fails. If the start fails, everything that is open is closed,
 * the Lease is released, and it rejects.
 */
export async function runController(
  provider: "aws" | "kwok",
  flags: Readonly<Record<string, string>>,
): Promise<void> {
  const clock = new SystemClock();
  // Wrong flags are reported before anything else.
  const given = settings(flags);
  keepMemoryLimit(given.memoryLimit);
  if (given.changed.includes("clusterName")) requireClusterName(provider, given);
  const log = logOf(given, clock);
  const parts = new Parts();
  let failed = false;
  const close = (withinMs?: number): Promise<void> =>
    parts.close((error) => log.error("failed to close", { error: errorText(error) }), withinMs);
  const fail = (): Promise<void> => {
    failed = true;
    return close(CLOSE_WITHIN_MS);
  };
  exitOnUncaught({
    log: (failure) => log.error("unexpected failure, stopping", { ...failure }),
    close: fail,
  });
  try {
    const start = { provider, flags, given, clock, log, parts, hasFailed: () => failed };
    const why = await runUntilEnd(start);
    log.info("stopping", { reason: why });
    // After losing the leadership the process must exit at once, because another replica decides now.
    if (why === "lost the lead") process.exit(1);
    await close();
    process.exit(0);
  } catch (error) {
    await fail();
    // Open handles must not keep the process alive.
    setTimeout(() => process.exit(), EXIT_SOON_MS).unref();
    if (error instanceof CliError) throw error;
    const { stack } = error as Error;
    log.error("failed to start, stopped", { error: errorText(error), stack });
    throw new CliError(`the controller could not start: ${firstLineOf(error)}`);
  }
}

/** The profiles endpoint. The API server decides who may read profiles. Requests fail until it can be reached. */
function profilesOf(
  { enableProfiling }: Options,
  running: Running,
  clock: Clock,
): Pick<EndpointsOptions, "profiles"> {
  if (!enableProfiling) return {};
  const review = async (token: string, path: string): Promise<boolean> => {
    if (running.client === undefined) throw new Error("it is not reached yet");
    return reviewBy(running.client)(token, path);
  };
  return { profiles: createProfiling({ review, clock }) };
}

/** The parts that are open so far. */
interface Running {
  client?: KubeClient;
  operator?: Operator;
  webhooks?: Webhooks | undefined;
}

function endpointsOf(
  { given, clock, log, hasFailed }: Starting,
  running: Running,
): Promise<Endpoints> {
  const { metricsPort, healthProbePort } = given;
  return serveEndpoints({
    metricsPort,
    healthProbePort,
    clock,
    log,
    metrics: () => {
      const metrics = running.operator?.metrics;
      return metrics === undefined
        ? NO_METRICS
        : { contentType: metrics.contentType, parts: metrics.parts() };
    },
    ready: () => {
      const { operator, webhooks } = running;
      if (webhooks?.isWaitedFor === true) return true;
      return operator?.ready === true && webhooks?.settled !== false;
    },
    failed: hasFailed,
    ...profilesOf(given, running, clock),
    waitsFor: () => [
      ...(running.operator?.waitsFor() ?? ["its settings"]),
      ...(running.webhooks?.settled === false ? ["webhooks"] : []),
    ],
  }).catch(asCliError);
}

/** Opens all parts. Ports are first, so that a port in use ends the start before any request. */
async function runUntilEnd(starting: Starting): Promise<"told to stop" | "lost the lead"> {
  const { provider, flags, given, clock, log, parts } = starting;
  const clientCaPem = clientAuthority(webhookPlace(given).clientCaFile);
  if (!isWithoutWebhooks(given)) await checkWebhookPort(given.webhookPort);
  const running: Running = {};
  const endpoints = await endpointsOf(starting, running);
  parts.add(() => endpoints.close());
  const connected = await connect(starting);
  const { client, transport, leaseTransport, random } = connected;
  running.client = client;
  const older = await readGlobalSettings({ client, clock, log, namespace: NAMESPACE });
  const options = settings(flags, older);
  requireClusterName(provider, options);
  // With --observe-only no webhooks are registered, because that would replace those of the active Karpenter.
  const webhooks = isWithoutWebhooks(options)
    ? undefined
    : webhooksOf({ ...connected, clock, log, options, clientCaPem });
  running.webhooks = webhooks;
  parts.add(() => webhooks?.stop());
  const spans = await openSpans(process.env, { clock, log, version: BUILD.version });
  parts.add(() => spans?.close());
  const operator = createOperator({
    clock,
    random,
    spans,
    ...withCallRoom(rateLimited(transport, clock, requestLimits(options)), clock),
    leaseTransport,
    log,
    options,
    createProvider: provider === "kwok" ? kwokProvider : await awsProvider(options),
    version: BUILD.version,
    commit: BUILD.commit,
    namespace: NAMESPACE,
    identity: `${hostname()}_${randomBytes(4).toString("hex")}`,
  });
  running.operator = operator;
  parts.add(() => operator.stop());
  await openConsole(starting, { ...connected, options, operator });
  const stopped = interrupted();
  await Promise.race([operator.start(), stopped]);
  return Promise.race([
    stopped.then(() => "told to stop" as const),
    operator.lost.then(() => "lost the lead" as const),
  ]);
}

/** The connections to the API server, and the source of random numbers of this process. */
interface Connected {
  readonly client: KubeClient;
  readonly transport: Transport;
  readonly leaseTransport: Transport;
  readonly random: Random;
}

async function connect({ clock, log, parts, provider, given }: Starting): Promise<Connected> {
  // Names and jitter must differ between replicas and runs.
  const random = new Random(randomBytes(16).toString("hex"));
  const cluster = access(clock);
  const mode = given.observeOnly ? { mode: "observe only" } : {};
  log.info("starting", { server: cluster.server, version: BUILD.version, provider, ...mode });
  const oldNode = nodeVersionNote(process.versions.node);
  if (oldNode !== undefined) log.warn(oldNode);
  for (const warning of cluster.warnings ?? []) log.warn(warning);
  const options = { ...cluster, userAgent: `karpenter/${BUILD.version}` };
  const { transport, leaseTransport, close } = serverTransports(options, { clock, log });
  parts.add(close);
  const client = createKubeClient(transport);
  await startLogging(client, { name: given.configLoggingName, namespace: NAMESPACE }, log);
  return { client, transport, leaseTransport, random };
}

interface ConsoleOf {
  readonly options: Options;
  readonly operator: Operator;
}

/**
 * Every replica serves the console, because each one sees the whole cluster. The code is loaded only if it is
 * needed.
 */
async function openConsole(
  { clock, log, parts }: Starting,
  { transport, random, options, operator }: Connected & ConsoleOf,
): Promise<void> {
  const { consolePort: port, clusterName } = options;
  if (port === 0) return;
  const { serveControllerConsole } = await import("../console/controller-console.ts");
  const deps = { transport, random: random.fork("console"), clock, log };
  const { keepVitals } = await import("../console/kept-vitals.ts");
  const { points: vitals, close } = keepVitals(() => operator.metrics, { clock, log });
  parts.add(close);
  const served = await serveControllerConsole(deps, { port, clusterName, vitals }).catch(
    (error: unknown) => {
      if (!(error instanceof PortError)) throw error;
      throw new CliError(`--console-port ${port}: ${error.message}; choose another, or 0 for none`);
    },
  );
  parts.add(() => served.close());
}

/** Fails early if the port of the webhooks is taken. The port itself is opened later, if webhooks are needed. */
async function checkWebhookPort(port: number): Promise<void> {
  try {
    await checkPort(port);
  } catch (error) {
    if (!(error instanceof PortError)) throw error;
    const remedy = "choose another, or set --disable-webhook true if every kind is of v1";
    throw new CliError(`--webhook-port ${port}: ${error.message}; ${remedy}`);
  }
}

function isWithoutWebhooks({ disableWebhook, observeOnly }: Options): boolean {
  return disableWebhook || observeOnly;
}

async function* none(): AsyncIterable<string> {}

/** Requires --cluster-name for AWS: resources there are found and created by it. Exported for tests. */
export function requireClusterName(provider: "aws" | "kwok", options: Options): void {
  if (provider === "aws" && options.clusterName === "") {
    throw new CliError(
      "missing the cluster's name: set --cluster-name or CLUSTER_NAME, or aws.clusterName of karpenter-global-settings",
    );
  }
}

/** Every replica serves the webhooks, because the API server may call any of them. */
function webhooksOf(deps: {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: RootLogger;
  readonly options: Options;
  readonly clientCaPem: string | undefined;
}): Webhooks {
  const { client, clock, random, log, options, clientCaPem } = deps;
  return startWebhooks({
    client,
    clock,
    random: random.fork("operator/webhooks"),
    log: log.webhook,
    ...webhookPlace(options),
    clientCaPem,
    admission: {
      clusterName: options.clusterName,
      acceptMinusOne: true,
      defaultInstanceProfile: options.defaultInstanceProfile || undefined,
    },
  });
}

/** Port and address of the webhooks, for serving and for the API server. Exported for tests. */
export function webhookPlace(options: Options) {
  const { karpenterService, webhookPort: port, webhookUrl, webhookClientCaFile } = options;
  const service = karpenterService || "karpenter";
  return {
    port,
    clientCaFile: webhookClientCaFile,
    address:
      webhookUrl === ""
        ? { service: { name: service, namespace: NAMESPACE, port } }
        : { url: webhookUrl.replace(/\/$/, "") },
    secret: { name: `${service}-cert`, namespace: NAMESPACE },
  };
}

function clientAuthority(file: string): string | undefined {
  if (file === "") return undefined;
  const flag = `--webhook-client-ca-file ${file}`;
  try {
    const pem = readFileSync(file, "utf8");
    // Throws if the file has no certificate. Without one every caller would be refused.
    new X509Certificate(pem);
    return pem;
  } catch (error) {
    throw new CliError(`${flag}: no certificate can be read from it: ${firstLineOf(error)}`);
  }
}

/** Limits for requests to the API server. Exported for tests. */
export function requestLimits({ kubeClientQps, kubeClientBurst }: Options) {
  return { perSecond: kubeClientQps, burst: kubeClientBurst };
}

function logOf(options: Options, clock: Clock): RootLogger {
  try {
    return createLogger({
      clock,
      level: options.logLevel as "" | "debug" | "info" | "error",
      encoding: "json",
      commit: BUILD.commit,
      write: logWriter(options.logOutputPaths, options.logErrorOutputPaths),
    });
  } catch (error) {
    return asCliError(error);
  }
}

function settings(
  flags: Readonly<Record<string, string>>,
  older: Readonly<Record<string, string>> = {},
): Options {
  try {
    return parseOptions(flags, process.env, older);
  } catch (error) {
    return asCliError(error);
  }
}

function access(clock: Clock): ReturnType<typeof clusterAccess> {
  try {
    return clusterAccess(process.env["KUBECONFIG"], process.env, clock);
  } catch (error) {
    return asCliError(error);
  }
}

function asCliError(error: unknown): never {
  if (error instanceof ConfigError || error instanceof KubeconfigError)
    throw new CliError(error.message);
  throw error;
}
