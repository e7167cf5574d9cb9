/**
 * Runs the sandbox live until it is interrupted: the API on loopback, a kubeconfig, and one line for each event.
 */

import { dirname, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { errorText } from "../../base/error-text.ts";
import type { Logger } from "../../base/log.ts";
import { PacedClock } from "../../base/paced-clock.ts";
import { printedLines } from "../../base/printable.ts";
import { Random } from "../../base/random.ts";
import { SystemClock } from "../../base/system-clock.ts";
import type { ConsoleSource } from "../../console/source.ts";
import { checkPort, PortError } from "../../listen/listener.ts";
import { serveEndpoints } from "../../operator/endpoints.ts";
import { openSpans } from "../../operator/spans/open-spans.ts";
import type { SpanExport } from "../../operator/spans/span-export.ts";
import { startHttps } from "../../sandbox/apiserver/https/https-server.ts";
import { startAwsEndpoint } from "../../sandbox/ec2/wire/server.ts";
import type { Trace } from "../../sandbox/trace.ts";
import type { VitalsDoors } from "../console/kept-vitals.ts";
import { settingFlags } from "../controller/setting-flags.ts";
import { BUILD } from "../program/build.ts";
import { CliError } from "../program/cli-error.ts";
import { interrupted } from "../program/interrupted.ts";
import { exitOnUncaught } from "../program/last-resort.ts";
import { nodeVersionNote } from "../program/node-version.ts";
import { besides, toStderr } from "../program/output.ts";
import { Parts } from "../program/parts.ts";
import { shellWord } from "../program/shell-word.ts";
import { textLog } from "../program/text-log.ts";
import { type Box, openBox } from "./box.ts";
import { restartWithPod } from "./karpenter-pod.ts";
import { checkKubeconfig, checkNotTaken, writeKubeconfig } from "./kubeconfig-file.ts";
import { actOnSandbox, sandboxActs } from "./sandbox-acts.ts";
import { DEFAULT_KUBECONFIG, type SandboxFlags } from "./sandbox-flags.ts";
import { readSchedulerProfiles } from "./scheduler-file.ts";
import { tellSlowTime } from "./slow-time.ts";
import { heldTrace, tracePrinter } from "./trace-printer.ts";

/** Milliseconds in which a failed sandbox must close. */
const CLOSE_WITHIN_MS = 5_000;

/**
 * Milliseconds in which the simulated cluster may finish what it has begun, such as the creation of a thousand pods.
 * Then its clock stops, and no further request of it is answered.
 */
const FINISH_WITHIN_MS = 1_000;

/** Runs the sandbox until it is interrupted, or runs one scenario. */
export async function runSandbox(flags: SandboxFlags): Promise<void> {
  // The SDK's warning about Node versions is for developers, not for users of the sandbox.
  process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] = "true";
  const beside = besides(flags.output === "json");
  const say = (...lines: readonly string[]): void => beside(printedLines(lines));
  const file = resolve(flags.kubeconfig);
  checkKubeconfig(file);
  await checkPort(flags.port, "127.0.0.1").catch(refused);
  await checkNotTaken(file, flags.port);
  const oldNode = nodeVersionNote(process.versions.node);
  if (oldNode !== undefined) toStderr(printedLines([oldNode]));
  const clock = new PacedClock(flags.speed, behindMs(flags.speed));
  const parts = new Parts();
  parts.add(() => clock.stop());
  const log = textLog(clock);
  const close = (withinMs?: number): Promise<void> =>
    parts.close((error) => log.error("failed to close", { error: errorText(error) }), withinMs);
  exitOnUncaught({
    log: (failure) => log.error("unexpected failure, stopping", { ...failure }),
    close: () => close(CLOSE_WITHIN_MS),
  });
  try {
    await serve(flags, clock, parts, log, say);
  } finally {
    await close();
  }
}

/**
 * Opens the sandbox, prints how to use it, and waits for an interruption. `parts` collects what must be closed at the
 * end.
 */
async function serve(
  flags: SandboxFlags,
  clock: PacedClock,
  parts: Parts,
  log: Logger,
  say: (...lines: readonly string[]) => void,
): Promise<void> {
  let awsUrl = "";
  const { trace, release } = heldTrace(tracePrinter(flags.output));
  const box = await openBox({
    ...flags,
    spans: await spansOf(parts, log),
    flags: settingFlags(flags.setting ?? []),
    schedulerProfiles: readSchedulerProfiles(flags.kubeSchedulerConfig),
    clock,
    isAsked: true,
    trace,
    connectAws: async (sandbox) => {
      // Uses the real SDK and the real wire protocols, so the same code runs as against AWS.
      const endpoint = await startAwsEndpoint(sandbox.aws, { port: 0, log });
      parts.add(() => endpoint.close());
      awsUrl = endpoint.url;
      const { createSdkApi } = await import("../../providers/aws/sdk.ts");
      return createSdkApi({
        region: flags.region,
        endpoint: endpoint.url,
        credentials: { accessKeyId: "sandbox", secretAccessKey: "sandbox" },
      });
    },
  });
  parts.add(() => box.stop(), FINISH_WITHIN_MS);
  const file = resolve(flags.kubeconfig);
  const served = { port: flags.port, directory: `${dirname(file)}/pki`, clock, log };
  const https = await startHttps(box.sandbox.apiServer, served).catch(refused);
  parts.add(() => https.close());
  const failed = (error: unknown): void =>
    say(`Karpenter could not be started again: ${(error as Error).message}`);
  parts.add(restartWithPod(box, failed));
  const endpoints = await serveEndpoints({
    metricsPort: "any",
    healthProbePort: "any",
    host: "127.0.0.1",
    // Metrics of the present Karpenter. A restart replaces it.
    metrics: () => {
      const { metrics } = box.operator;
      return { contentType: metrics.contentType, parts: metrics.parts() };
    },
    clock,
    log,
    ready: () => box.operator.ready,
  });
  parts.add(() => endpoints.close());
  // Another sandbox may have written the file while this one started.
  await checkNotTaken(file, https.port);
  writeKubeconfig(file, https);
  const { serveConsole } = await import("../console/serve-console.ts");
  const vitals = await vitalsOf(box, { clock, log }, parts);
  const source = await sourceOf({ box, flags, clock, log, trace, say, vitals });
  const page = await serveConsole(source, { port: 0, log });
  parts.add(() => page.close());
  // Signals are handled before the first output says that the sandbox runs.
  const interruption = interrupted();
  const metrics = endpoints.metricsUrl ?? "";
  const urls = { api: https.url, console: page.url, metrics, aws: awsUrl };
  say(...greeting(flags, file, urls).split("\n"));
  release();
  parts.add(tellSlowTime(clock, new SystemClock(), say));
  await interruption;
  say("stopping…");
}

/** Sends Karpenter's traces, if the environment asks for that. */
async function spansOf(parts: Parts, log: Logger): Promise<SpanExport | undefined> {
  const { version } = BUILD;
  const spans = await openSpans(process.env, { clock: new SystemClock(), log, version });
  parts.add(() => spans?.close());
  return spans;
}

/** The health of the present Karpenter, from its metrics. */
async function vitalsOf(box: Box, doors: VitalsDoors, parts: Parts) {
  const { keepVitals } = await import("../console/kept-vitals.ts");
  const { points, close } = keepVitals(() => box.operator.metrics, doors);
  parts.add(close);
  return points;
}

/** The console's source, with the rights of an administrator. */
async function sourceOf({
  box,
  flags,
  clock,
  log,
  trace,
  say,
  vitals,
}: {
  readonly box: Box;
  readonly flags: SandboxFlags;
  readonly clock: PacedClock;
  readonly log: Logger;
  readonly trace: Trace;
  readonly say: (line: string) => void;
  readonly vitals: NonNullable<ConsoleSource["vitals"]>;
}): Promise<ConsoleSource> {
  const { liveSource } = await import("../console/live-source.ts");
  const { provider, clusterName } = flags;
  return liveSource({
    name: clusterName,
    mode: "sandbox",
    transport: box.sandbox.transport,
    clock,
    random: new Random(flags.seed).fork("console"),
    log,
    nowMs: () => clock.now(),
    vitals,
    acts: sandboxActs(
      provider,
      box.sandbox.aws.state.zones.map(({ ZoneName }) => ZoneName),
    ),
    act: (name, values) =>
      actOnSandbox({ box, provider, clusterName, clock, trace, say }, name, values),
  });
}

interface Urls {
  readonly api: string;
  readonly console: string;
  readonly metrics: string;
  readonly aws: string;
}

function refused(error: unknown): never {
  const why = (error as Error).message;
  throw new CliError(
    error instanceof PortError
      ? `${why}: stop what listens there or choose another port with --port`
      : why,
  );
}

/** Real milliseconds of a usual session. For this time, the cluster's clock stays behind the machine's. */
const SESSION_MS = 3_600_000;

/**
 * How far in the past a faster clock begins. Clients that compute ages themselves (kubectl describe, k9s) use the
 * machine's time, and show `<invalid>` for times in the future. So the clock reaches the machine's time only at the
 * end of a session. Their ages are wrong anyway, because the two clocks differ in speed.
 */
function behindMs(speed: number): number {
  return Math.max(0, Math.round((speed - 1) * SESSION_MS));
}

const AGES = `at this speed the cluster's clock is behind this machine's, and catches up within an hour: kubectl get shows right ages,
while kubectl describe and k9s, which go by this machine's clock, show greater ones
`;

function greeting(flags: SandboxFlags, file: string, urls: Urls): string {
  const examples = relative(
    process.cwd(),
    fileURLToPath(new URL("../../../examples", import.meta.url)),
  );
  const nodepool = `${examples}/${flags.provider === "kwok" ? "kwok" : "v1"}/nodepool.yaml`;
  // The default file is printed as the documents show it. Another path must hold in any folder.
  const kubeconfig = file === resolve(DEFAULT_KUBECONFIG) ? DEFAULT_KUBECONFIG : file;
  return `
cluster ${flags.clusterName} is up at ${urls.api} (Kubernetes ${flags.kubernetesVersion}, provider ${flags.provider}, speed ${flags.speed})

open in a browser: ${urls.console}

or in another terminal:
  export KUBECONFIG=${shellWord(kubeconfig)}
  kubectl apply -f ${shellWord(nodepool)} -f ${shellWord(`${examples}/inflate.yaml`)}
  kubectl scale deployment inflate --replicas=5
  kubectl get nodeclaims -w
  kubectl -n karpenter logs karpenter-0 -f

Karpenter's metrics: ${urls.metrics}
the simulated AWS, for the aws command line (any credentials do):
  export AWS_ENDPOINT_URL=${urls.aws}
  export AWS_DEFAULT_REGION=${flags.region} AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any
  aws --endpoint-url $AWS_ENDPOINT_URL sqs list-queues
${flags.speed > 1 ? AGES : ""}Ctrl-C ends it. What happens in the cluster:
`;
}
