/** Runs `karpenter migrate handover`: the checks first, then the handover. */
import { parseDuration } from "../../base/duration.ts";
import { printedLines } from "../../base/printable.ts";
import { SystemClock } from "../../base/system-clock.ts";
import { createKubeClient } from "../../kube/client/kube-client.ts";
import { KubeError } from "../../kube/errors.ts";
import { type CheckedItem, isOpen, isUnread } from "../checks/checks.ts";
import { currentCluster } from "../plan/sources.ts";
import { CliError } from "../program/cli-error.ts";
import { toStdout } from "../program/output.ts";
import { handOver } from "./handover.ts";
import { checksOf } from "./run-check.ts";

/** Flags of `karpenter migrate handover`, as the parser gives them. */
export interface HandoverFlags {
  readonly from: string;
  readonly to: string;
  readonly replicas: string;
  readonly timeout: string;
  readonly force?: true;
}

/**
 * Runs the checks and the handover. Throws CliError with exit code 2 if something must be done first or the handover is
 * stuck, 1 for bad input.
 */
export async function runHandover(flags: HandoverFlags): Promise<void> {
  const timeoutMs = parseDuration(flags.timeout) ?? 0;
  if (timeoutMs <= 0)
    throw new CliError(`--timeout ${flags.timeout}: wanted a duration such as 2m`);
  const replicas = Number(flags.replicas);
  if (!Number.isInteger(replicas) || replicas < 1)
    throw new CliError(`--replicas ${flags.replicas}: wanted a whole number of at least 1`);
  const clock = new SystemClock();
  const { transport } = currentCluster(clock, { onlyLive: true });
  try {
    const client = createKubeClient(transport);
    const refusal = handoverRefusal(await checksOf(client, clock.now(), {}));
    if (refusal !== undefined && flags.force !== true) throw refusal;
    await handOver(client, clock, {
      from: flags.from,
      to: flags.to,
      replicas,
      timeoutMs,
      say: (line) => toStdout(printedLines([line])),
    });
  } catch (error) {
    if (error instanceof KubeError) throw new CliError(error.message);
    throw error;
  } finally {
    transport.close();
  }
}

/** Why a cluster with these checks is not handed over. Undefined: nothing is to be done first. Exported for tests. */
export function handoverRefusal(checks: readonly CheckedItem[]): CliError | undefined {
  const open = checks.filter(isOpen);
  if (open.length === 0) return undefined;
  const unread = open.filter(isUnread).map(({ item }) => item);
  return new CliError(
    [
      ...open.map(({ area, item, says }) => `${area} ${item}: ${says}`),
      ...(unread.length === 0 ? [] : [`the checks need the right to list ${unread.join(", ")}`]),
      "nothing was changed: karpenter migrate check says what to do; --force hands over all the same",
    ],
    2,
  );
}
