/**
 * `npm run cluster -- up|down|status [--data DIR]`: a real control plane with kwok on this machine's
 * loopback, its kubeconfig in DIR (default .karpenter/cluster). It runs until `down`. `build` only builds.
 */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { binaries, NoGoError } from "../test/cluster/binaries.ts";
import { startControlPlane, status, stopControlPlane } from "../test/cluster/control-plane.ts";

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { data: { type: "string", default: ".karpenter/cluster" } },
});
const directory = resolve(values.data);
const say = (line: string): void => void process.stdout.write(`${line}\n`);

switch (positionals[0]) {
  case "up":
    await withGo(up);
    break;
  case "build":
    await withGo(() => binaries(say));
    break;
  case "down":
    await stopControlPlane(directory);
    say("nothing of it runs any more");
    break;
  case "status": {
    const entries = status(directory);
    for (const { program, pid, alive } of entries)
      say(`${program.padEnd(24)} ${alive ? `runs, pid ${pid}` : "ended"}`);
    if (entries.length === 0) say(`nothing runs in ${directory}`);
    if (entries.length === 0 || entries.some(({ alive }) => !alive)) process.exitCode = 1;
    break;
  }
  default:
    process.stderr.write("usage: npm run cluster -- build|up|down|status [--data DIR]\n");
    process.exitCode = 2;
}

async function up(): Promise<void> {
  // Interrupted on the way up, nothing stays.
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    process.once(name, () => {
      void stopControlPlane(directory).then(() => process.exit(130));
    });
  }
  const startedMs = performance.now();
  const plane = await startControlPlane({ directory, stays: true, tell: say });
  plane.transport.close();
  say(`ready after ${((performance.now() - startedMs) / 1000).toFixed(1)} s: ${plane.url}`);
  say(`export KUBECONFIG=${plane.kubeconfig}`);
}

/** Without Go there is one line, no stack. */
async function withGo(run: () => Promise<unknown>): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (!(error instanceof NoGoError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}
