/** Runs `karpenter doctor`: gathers facts, checks them, prints the results. */
import { customResourceDefinitions } from "../../apis/crds/all.ts";
import type { Clock } from "../../base/clock.ts";
import { SystemClock } from "../../base/system-clock.ts";
import { createKubeClient } from "../../kube/client/kube-client.ts";
import { KubeError } from "../../kube/errors.ts";
import { exitCodeOf, printedChecks } from "../checks/checks.ts";
import { currentCluster } from "../plan/sources.ts";
import { accessProblem } from "../program/access-problem.ts";
import { BUILD } from "../program/build.ts";
import { CliError } from "../program/cli-error.ts";
import { toStdout } from "../program/output.ts";
import { doctorChecks } from "./checks.ts";
import { type DoctorOptions, gatherDoctor, runningProvider } from "./gather.ts";
import { quotasOf } from "./quotas.ts";
import { roomOfSubnets, tryAws, tryName } from "./tries.ts";

/** Flags of `karpenter doctor`, as the parser gives them. */
export interface DoctorFlags {
  /** Absent: the provider of the controller that runs. */
  readonly provider?: "aws" | "kwok";
  readonly namespace: string;
  readonly serviceAccount?: string;
  readonly interruptionQueue?: string;
  readonly output: "text" | "json";
}

/** Prints the checks and returns the exit code. Throws CliError if the cluster cannot be reached. */
export async function runDoctor(flags: DoctorFlags): Promise<0 | 2> {
  const { serviceAccount, namespace } = flags;
  if (serviceAccount !== undefined && !/^[^/]+\/[^/]+$/.test(serviceAccount))
    throw new CliError(`--service-account ${serviceAccount}: wanted NAMESPACE/NAME`);
  const clock = new SystemClock();
  const { transport, server, warnings } = currentCluster(clock, { onlyLive: true });
  try {
    const client = createKubeClient(transport);
    const provider = flags.provider ?? (await runningProvider(client, namespace)) ?? "aws";
    const aws = provider === "aws" ? await awsDoors(flags, clock) : { tries: [] };
    const tries = [tryName("API server", server), ...aws.tries];
    const options = { provider, namespace, serviceAccount, ...aws, tries };
    const facts = await gatherDoctor(client, clock, options);
    const checks = doctorChecks(facts, customResourceDefinitions());
    toStdout(
      printedChecks(checks, { output: flags.output, version: BUILD.version, notes: warnings }),
    );
    return exitCodeOf(checks);
  } catch (error) {
    const problem = accessProblem(error);
    if (problem !== undefined) throw problem;
    if (error instanceof KubeError) throw new CliError(error.message);
    throw error;
  } finally {
    transport.close();
  }
}

async function awsDoors(
  { interruptionQueue }: DoctorFlags,
  clock: Clock,
): Promise<Pick<DoctorOptions, "tries" | "roomOf" | "quotasOf">> {
  const region = process.env["AWS_REGION"] || process.env["AWS_DEFAULT_REGION"];
  if (region === undefined)
    return {
      tries: [async () => ({ what: "AWS", skipped: "AWS was not asked: set AWS_REGION" })],
    };
  // The SDK warns about Node.js versions. This program has its own note about them.
  process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] = "true";
  const { createSdkApi } = await import("../../providers/aws/sdk.ts");
  const endpoint = process.env["AWS_ENDPOINT_URL"];
  const api = createSdkApi({ region, ...(endpoint === undefined ? {} : { endpoint }) });
  const queue = interruptionQueue ?? process.env["INTERRUPTION_QUEUE"];
  return {
    tries: tryAws(api, queue),
    roomOf: roomOfSubnets(api),
    quotasOf: quotasOf(api, clock),
  };
}
