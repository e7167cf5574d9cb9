/** Runs `karpenter migrate check`: reads the cluster and the given files, checks them, prints the results. */
import { SystemClock } from "../../base/system-clock.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { createKubeClient } from "../../kube/client/kube-client.ts";
import { exitCodeOf, printedChecks } from "../checks/checks.ts";
import { timeOf } from "../plan/live-cluster.ts";
import { currentCluster } from "../plan/sources.ts";
import { BUILD } from "../program/build.ts";
import { toStdout } from "../program/output.ts";
import { migrationChecks } from "./check.ts";
import { gatherMigration, ownFacts } from "./gather.ts";

/** Flags of `karpenter migrate check`, as the parser gives them. */
export interface MigrateCheckFlags {
  readonly values?: string;
  readonly policy?: readonly string[];
  readonly output: "text" | "json";
}

/** Prints the checks and returns the exit code. Throws CliError for bad input. */
export async function runMigrateCheck(flags: MigrateCheckFlags): Promise<0 | 2> {
  const clock = new SystemClock();
  const { transport, warnings } = currentCluster(clock, { onlyLive: true });
  try {
    const client = createKubeClient(transport);
    const checks = await checksOf(client, clock.now(), flags);
    toStdout(
      printedChecks(checks, { output: flags.output, version: BUILD.version, notes: warnings }),
    );
    return exitCodeOf(checks);
  } finally {
    transport.close();
  }
}

/** The checks of a cluster. Exported for tests. `fallbackMs`: the time to use if the server does not tell its own. */
export async function checksOf(
  client: Pick<KubeClient, "list" | "raw">,
  fallbackMs: number,
  flags: Pick<MigrateCheckFlags, "values" | "policy">,
) {
  const nowMs = (await timeOf(client)) ?? fallbackMs;
  return migrationChecks(await gatherMigration(client, nowMs, flags), ownFacts());
}
