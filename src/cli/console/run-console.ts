/** Runs `karpenter console`: serves the console of the current cluster on loopback, read-only, until Ctrl-C. */

import { randomInt } from "node:crypto";
import { mustNotFail } from "../../base/must-not-fail.ts";
import { printedLines } from "../../base/printable.ts";
import { Random } from "../../base/random.ts";
import { SystemClock } from "../../base/system-clock.ts";
import { createKubeClient } from "../../kube/client/kube-client.ts";
import { PortError } from "../../listen/listener.ts";
import { timeOf } from "../plan/live-cluster.ts";
import { currentCluster } from "../plan/sources.ts";
import { CliError } from "../program/cli-error.ts";
import { followAccess } from "../program/follow-access.ts";
import { interrupted } from "../program/interrupted.ts";
import { nodeVersionNote } from "../program/node-version.ts";
import { toStderr, toStdout } from "../program/output.ts";
import { textLog } from "../program/text-log.ts";
import { liveSource } from "./live-source.ts";
import { serveConsole } from "./serve-console.ts";

export interface ConsoleFlags {
  readonly port: number;
}

/** Serves the console until Ctrl-C. Throws CliError if there is no cluster or the port is in use. */
export async function runConsole({ port }: ConsoleFlags): Promise<void> {
  const oldNode = nodeVersionNote(process.versions.node);
  if (oldNode !== undefined) toStderr(printedLines([oldNode]));
  const clock = new SystemClock();
  const log = textLog(clock);
  const { transport, server, warnings } = currentCluster(clock);
  const client = createKubeClient(transport);
  const source = liveSource({
    name: new URL(server).host,
    mode: "cluster",
    transport,
    clock,
    random: new Random(randomInt(2 ** 31)),
    log,
    // The time is read from the server each time, because a simulated cluster's clock may be faster than this
    // machine's.
    nowMs: async () => (await timeOf(client)) ?? clock.now(),
    notes: warnings,
  });
  const served = await serveConsole(source, { port, log }).catch((error: unknown) => {
    if (!(error instanceof PortError)) throw error;
    throw new CliError(`${error.message}: choose another port with --port`);
  });
  const interruption = interrupted();
  const lines = [
    `console of ${server}, read-only: ${served.url}`,
    "The address holds a secret: whoever has it sees what you may see. Ctrl-C ends it.",
  ];
  toStdout(printedLines(lines));
  // Not awaited, so that Ctrl-C ends the console at once.
  const say = (line: string) => toStderr(printedLines([line]));
  mustNotFail(
    followAccess({ client, clock, server, say, over: interruption }),
    "following the API server",
  );
  // The next request of the page shows this error.
  served.warm().catch(() => undefined);
  await interruption;
  await served.close();
  transport.close();
}
