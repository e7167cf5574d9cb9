/**
 * `npm run cluster -- up|down|status [--ports api=6443,etcd=2379,…] [--data DIR]`: a real control plane with kwok
 * on this machine's loopback, with its kubeconfig in DIR (default .karpenter/cluster). It runs until `down`. Free
 * ports are used for those not named. `build` only builds.
 */
import { resolve } from "node:path";
import { binaries } from "../test/cluster/binaries.ts";
import {
  PORT_NAMES,
  type Ports,
  startControlPlane,
  status,
  stopControlPlane,
} from "../test/cluster/control-plane.ts";
import { scriptFlags } from "./script-flags.ts";

const { positionals, values } = scriptFlags(import.meta.url, {
  allowPositionals: true,
  options: {
    data: { type: "string", default: ".karpenter/cluster" },
    ports: { type: "string", default: "" },
  },
});
const directory = resolve(values.data);
const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

switch (positionals[0]) {
  case "up":
    await orSay(up);
    break;
  case "build":
    await orSay(() => binaries(say));
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
    process.stderr.write(
      "usage: npm run cluster -- build|up|down|status [--ports …] [--data DIR]\n",
    );
    process.exitCode = 2;
}

async function up(): Promise<void> {
  const ports = portsIn(values.ports);
  if (ports === undefined) return;
  // If it is interrupted while starting, everything that was started ends.
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    process.once(name, () => {
      stopControlPlane(directory).then(
        () => process.exit(130),
        (error: unknown) => {
          say(String(error));
          process.exit(1);
        },
      );
    });
  }
  const startedMs = performance.now();
  const plane = await startControlPlane({ directory, ports, stays: true, tell: say });
  plane.transport.close();
  say(`ready after ${((performance.now() - startedMs) / 1000).toFixed(1)} s: ${plane.url}`);
  say(`export KUBECONFIG=${plane.kubeconfig}`);
}

/** Reads `api=6443,etcd=2379`. Undefined, with a message, if the text has another form. */
function portsIn(text: string): Partial<Ports> | undefined {
  const ports: Partial<Record<keyof Ports, number>> = {};
  for (const part of text === "" ? [] : text.split(",")) {
    const [, given, number] = /^([a-z]+)=(\d+)$/.exec(part) ?? [];
    const name = PORT_NAMES.find((one) => one === given);
    if (name === undefined || Number(number) < 1 || Number(number) > 65_535) {
      const wanted = `name=port with a name of ${PORT_NAMES.join(", ")}, joined by commas`;
      process.stderr.write(`--ports: "${part}" is not understood; wanted is ${wanted}\n`);
      process.exitCode = 2;
      return undefined;
    }
    ports[name] = Number(number);
  }
  return ports;
}

/** Prints an error as one line, without a stack. */
async function orSay(run: () => Promise<unknown>): Promise<void> {
  try {
    await run();
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
    process.exitCode = 1;
  }
}
