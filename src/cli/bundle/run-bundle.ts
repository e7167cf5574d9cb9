/** Runs `karpenter support-bundle`: collects the files and writes them to a new folder. */
import { existsSync } from "node:fs";
import { NAMESPACE } from "../../apis/core/kinds.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { counted } from "../../base/counted.ts";
import { printedLines } from "../../base/printable.ts";
import { SystemClock } from "../../base/system-clock.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { createKubeClient } from "../../kube/client/kube-client.ts";
import { KubeError } from "../../kube/errors.ts";
import { isKnownMissing } from "../checks/missing.ts";
import { currentCluster } from "../plan/sources.ts";
import { accessProblem } from "../program/access-problem.ts";
import { BUILD } from "../program/build.ts";
import { CliError } from "../program/cli-error.ts";
import { toStdout } from "../program/output.ts";
import { collectBundle } from "./collect.ts";
import { writeBundle } from "./write-bundle.ts";

/** Flags of `karpenter support-bundle`, as the parser gives them. */
export interface BundleFlags {
  /** The folder to write. Absent: `defaultFolder`. */
  readonly out?: string;
  readonly namespace: string;
}

/**
 * The name of the folder without `--out`: `karpenter-support-20260131T120000Z`. The time makes it new. Exported
 * for tests.
 */
export function defaultFolder(nowMs: number): string {
  return `karpenter-support-${toRfc3339(nowMs).replaceAll(/[-:]/g, "")}`;
}

/** Collects and writes a support bundle. Throws CliError if the folder exists already or the cluster cannot be read. */
export async function runBundle({ out: given, namespace }: BundleFlags): Promise<void> {
  const clock = new SystemClock();
  const out = given ?? defaultFolder(clock.now());
  if (existsSync(out)) throw new CliError(`--out ${out}: it exists already; name a new folder`);
  const { transport } = currentCluster(clock, { onlyLive: true });
  try {
    const client = createKubeClient(transport);
    await checkNamespace(client, namespace);
    const { files, missing } = await collectBundle(client, { namespace, version: BUILD.version });
    writeBundle(out, files);
    toStdout(
      printedLines([
        `wrote ${counted(files.length, "file")} to ${out}`,
        ...missing.map((one) => `missing: ${one}`),
        "Secrets, user data and what looks like a token were taken out. Read it before you send it.",
      ]),
    );
  } catch (error) {
    const problem = accessProblem(error);
    if (problem !== undefined) throw problem;
    if (error instanceof KubeError)
      throw new CliError(`the cluster cannot be read: ${error.message}`);
    throw error;
  } finally {
    transport.close();
  }
}

/**
 * Checks that the namespace exists. Otherwise the bundle would silently lack the Deployment, its Lease and its
 * metrics.
 */
async function checkNamespace(client: Pick<KubeClient, "raw">, namespace: string): Promise<void> {
  if (await isKnownMissing(client, NAMESPACE, { name: namespace }))
    throw new CliError(
      `-n ${namespace}: there is no such namespace; give the controller's: kubectl get deployments -A -l app.kubernetes.io/name=karpenter lists them`,
    );
}
