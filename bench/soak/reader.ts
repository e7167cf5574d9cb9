/**
 * The reader of the soak: the controller's mirrors and HTTP transport, which watch pods through the hostile proxy. It
 * is its own process, so that its memory can be measured. Prints a line of JSON every second.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Pod } from "../../src/apis/core/pod.ts";
import { Random } from "../../src/base/random.ts";
import { SystemClock } from "../../src/base/system-clock.ts";
import { pods as podsOf } from "../../src/controllers/mirrors.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { createHttpTransport } from "../../src/kube/transport/http-transport.ts";
import { createKubeClient } from "../../src/kube/client/kube-client.ts";
import { clusterAccess } from "../../src/kube/kubeconfig/kubeconfig.ts";
import { LiveMirrors } from "../../src/kube/mirror/mirrors.ts";
import { createLogger } from "../../src/operator/logging/logger.ts";
import { MARK, type Sample, WRITTEN } from "./sample.ts";

run(process.argv[2] ?? "");

function run(kubeconfig: string): void {
  const clock = new SystemClock();
  const log = createLogger({
    clock,
    level: "error",
    encoding: "console",
    commit: "",
    write: (line) => process.stderr.write(`${line}\n`),
  });
  const access = clusterAccess(kubeconfig, {}, clock);
  const client = createKubeClient(createHttpTransport({ ...access, userAgent: "soak" }));
  let lists = 0;
  const counting: KubeClient = {
    ...client,
    list: (kind, options) => {
      lists++;
      return client.list(kind, options);
    },
  };
  const mirrors = new LiveMirrors({ client: counting, clock, random: new Random(process.pid), log });
  const pods = podsOf({ mirrors });
  const loop = monitorEventLoopDelay({ resolution: 5 });
  loop.enable();
  let cpu = process.cpuUsage();
  let lagsMs: number[] = [];
  const heard = new Map<string, string>();
  pods.on((event, pod) => {
    const written = pod.metadata.annotations?.[WRITTEN];
    if (event === "removed" || written === undefined) return;
    const key = pod.metadata.name;
    if (heard.get(key) === written) return;
    heard.set(key, written);
    lagsMs.push(clock.now() - Number(written));
  });
  const tell = (last: boolean): void => {
    const taken = process.cpuUsage(cpu);
    cpu = process.cpuUsage();
    const sample: Sample = {
      lagsMs,
      lists,
      objects: pods.size,
      current: mirrors.current,
      rssBytes: process.memoryUsage().rss,
      cpuMs: (taken.user + taken.system) / 1_000,
      lateMs: Math.round(loop.max / 1e6),
      ...(last ? { marks: marksOf(pods.list()) } : {}),
    };
    lagsMs = [];
    loop.reset();
    process.stdout.write(`${JSON.stringify(sample)}\n`);
  };
  const timer = setInterval(() => tell(false), 1_000);
  // The process ends when its standard input closes, also if the soak was killed.
  process.stdin.resume().on("end", () => {
    clearInterval(timer);
    tell(true);
    process.stdout.write("", () => process.exit());
  });
}

function marksOf(pods: readonly Pod[]): Record<string, string> {
  return Object.fromEntries(
    pods.map(({ metadata }) => [metadata.name, metadata.annotations?.[MARK] ?? ""]),
  );
}
