/**
 * Runs the operator on the machine's clock until it is told to stop or loses the lead. Logs go to
 * standard output as JSON lines.
 */
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import { Random } from "../base/random.ts";
import { SystemClock } from "../base/system-clock.ts";
import { createHttpTransport } from "../kube/http-transport.ts";
import { createKubeClient } from "../kube/kube-client.ts";
import { clusterAccess, KubeconfigError } from "../kube/kubeconfig.ts";
import { rateLimited } from "../kube/rate-limit.ts";
import type { Transport } from "../kube/transport.ts";
import { createOperator } from "../operator/create-operator.ts";
import { serveEndpoints } from "../operator/endpoints.ts";
import { createLogger } from "../operator/logger.ts";
import { ConfigError, type Options, parseOptions } from "../operator/options.ts";
import { startWebhooks, type Webhooks } from "../operator/webhooks/webhooks.ts";
import { BUILD } from "./build.ts";
import { CliError } from "./cli-error.ts";
import { interrupted } from "./interrupted.ts";
import { awsProvider, kwokProvider } from "./providers.ts";

const NAMESPACE = process.env["SYSTEM_NAMESPACE"] ?? "karpenter";

export async function runController(
  provider: "aws" | "kwok",
  flags: Readonly<Record<string, string>>,
): Promise<void> {
  const options = settings(flags);
  if (provider === "aws" && options.clusterName === "") {
    throw new CliError("missing the cluster's name: set --cluster-name or CLUSTER_NAME");
  }
  const clock = new SystemClock();
  const log = createLogger({
    clock,
    level: options.logLevel as "" | "debug" | "info" | "error",
    encoding: "json",
    commit: BUILD.commit,
    write: (line) => process.stdout.write(`${line}\n`),
  });
  // Names and jitter must differ between replicas and runs.
  const random = new Random(randomBytes(16).toString("hex"));
  const transport = createHttpTransport({
    ...access(clock),
    userAgent: `karpenter/${BUILD.version}`,
  });
  const limits = { perSecond: options.kubeClientQps, burst: options.kubeClientBurst };
  const operator = createOperator({
    clock,
    random,
    transport: rateLimited(transport, clock, limits),
    leaseTransport: transport,
    log,
    options,
    createProvider: provider === "kwok" ? kwokProvider : await awsProvider(options),
    version: BUILD.version,
    commit: BUILD.commit,
    namespace: NAMESPACE,
    identity: `${hostname()}_${randomBytes(4).toString("hex")}`,
  });
  const webhooks = options.disableWebhook
    ? undefined
    : webhooksOf({ clock, random, log, options, transport });
  const endpoints = await serveEndpoints({
    metricsPort: options.metricsPort,
    healthProbePort: options.healthProbePort,
    metrics: async () => ({
      contentType: operator.metrics.contentType,
      text: await operator.metrics.render(),
    }),
    ready: () => operator.ready && webhooks?.settled !== false,
  }).catch(asCliError);
  const stopped = interrupted();
  await Promise.race([operator.start(), stopped]);
  const why = await Promise.race([
    stopped.then(() => "told to stop"),
    operator.lost.then(() => "lost the lead"),
  ]);
  log.info("stopping", { reason: why });
  await operator.stop();
  await webhooks?.stop();
  await endpoints.close();
  // Whoever lost the lead must not linger: another replica decides now.
  process.exit(why === "told to stop" ? 0 : 1);
}

/** In every replica, leading or not: the API server calls any of them. */
function webhooksOf(doors: {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly options: Options;
  readonly transport: Transport;
}): Webhooks {
  const { clock, random, log, options, transport } = doors;
  const service = options.karpenterService || "karpenter";
  return startWebhooks({
    client: createKubeClient(transport),
    clock,
    random: random.fork("operator/webhooks"),
    log: log.named("webhook"),
    port: options.webhookPort,
    address:
      options.webhookUrl === ""
        ? { service: { name: service, namespace: NAMESPACE, port: options.webhookPort } }
        : { url: options.webhookUrl.replace(/\/$/, "") },
    secret: { name: `${service}-cert`, namespace: NAMESPACE },
    admission: {
      clusterName: options.clusterName,
      acceptMinusOne: true,
      defaultInstanceProfile: options.defaultInstanceProfile || undefined,
    },
  });
}

function settings(flags: Readonly<Record<string, string>>): Options {
  try {
    return parseOptions(flags, process.env);
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
