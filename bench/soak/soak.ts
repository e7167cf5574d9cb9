/**
 * `npm run soak -- [--minutes N] [--objects N] [--rate N]`: loads the path of watches for N minutes. A writer changes
 * pods on a real kube-apiserver (without scheduler and kubelets). A reader follows them with the controller's own
 * mirrors. Between them is the hostile proxy, which injects a random fault every ten seconds.
 * Prints lag, relists and memory as a table with a small plot. It also prints how much of a lag can be the reader's
 * own; the rest is the server's, the proxy's and the writer's. Fails if the reader's copy differs from the server at
 * the end.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { POD, type Pod } from "../../src/apis/core/pod.ts";
import { Random } from "../../src/base/random.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { createKubeClient } from "../../src/kube/client/kube-client.ts";
import { startControlPlane } from "../../test/cluster/control-plane.ts";
import { type HostileProxy, startHostileProxy } from "../../test/cluster/hostile-proxy.ts";
import { MARK, type Sample, WRITTEN } from "./sample.ts";
import { scriptFlags } from "../../scripts/script-flags.ts";

const FAULT_EVERY_MS = 10_000;
const ROWS = 20;

const { values } = scriptFlags(import.meta.url, {
  options: {
    minutes: { type: "string", default: "5" },
    objects: { type: "string", default: "2000" },
    rate: { type: "string", default: "100" },
  },
});
const minutes = Number(values.minutes);
const [objects, rate] = [Number(values.objects), Number(values.rate)];
if (!(minutes > 0 && objects > 0 && rate > 0)) {
  process.stderr.write("--minutes, --objects and --rate (writes a second) are numbers above 0\n");
  process.exit(2);
}

const directory = mkdtempSync(join(tmpdir(), "soak-"));
const plane = await startControlPlane({
  directory,
  programs: ["etcd", "kube-apiserver", "kube-controller-manager"],
  controllers: ["serviceaccount-token-controller"],
  // Short compaction, so that watches that resume late find their version gone.
  extraArguments: { "kube-apiserver": ["--etcd-compaction-interval=30s"] },
  tell: (line) => process.stderr.write(`${line}\n`),
});
const random = new Random("soak");
const proxy = await startHostileProxy(directory, plane.url, () => random.fraction(), plane.kubeconfig);
const client = createKubeClient(plane.transport);
const reader = spawn(
  process.execPath,
  ["--import", "tsx", fileURLToPath(new URL("reader.ts", import.meta.url)), proxy.kubeconfig],
  { stdio: ["pipe", "pipe", "inherit"] },
);
const samples: Sample[] = [];
createInterface({ input: reader.stdout }).on("line", (line) => samples.push(JSON.parse(line)));
try {
  await fill(client);
  await sleep(3_000);
  samples.length = 0;
  const ended = { now: false };
  const writing = write(client, ended);
  const faults = await hurt(proxy, ended);
  const writes = await writing;
  proxy.heal();
  await untilCurrent();
  reader.stdin.end();
  await new Promise((resolve) => reader.once("exit", resolve));
  report(writes, faults);
  await compare(client);
} finally {
  reader.kill("SIGKILL");
  await proxy.close();
  await plane.stop();
  rmSync(directory, { recursive: true, force: true });
}

async function fill(kube: KubeClient): Promise<void> {
  await kube.raw({
    method: "POST",
    path: "/api/v1/namespaces/default/serviceaccounts",
    body: { metadata: { name: "default" } },
  }).catch(() => undefined);
  for (let from = 0; from < objects; from += 50) {
    const names = Array.from({ length: Math.min(50, objects - from) }, (_, n) => `pod-${from + n}`);
    await Promise.all(names.map((name) => kube.create(POD, podOf(name))));
  }
}

function podOf(name: string): Pod {
  return {
    metadata: { name, namespace: "default", annotations: { [MARK]: "0" } },
    spec: {
      automountServiceAccountToken: false,
      containers: [{ name: "c", image: "pause", resources: { requests: { cpu: "100m" } } }],
    },
  } as Pod;
}

/** Changes random pods at the wanted rate. Some are deleted and created again. Returns the number of writes. */
async function write(kube: KubeClient, end: { now: boolean }): Promise<number> {
  let writes = 0;
  const startMs = performance.now();
  while (!end.now) {
    const due = Math.floor(((performance.now() - startMs) / 1_000) * rate);
    const batch = Math.min(50, due - writes);
    await Promise.all(
      Array.from({ length: Math.max(0, batch) }, async () => {
        const name = `pod-${random.int(objects)}`;
        const ref = { name, namespace: "default" };
        writes++;
        if (random.int(50) === 0) {
          await kube.delete(POD, ref, { gracePeriodSeconds: 0 }).catch(() => undefined);
          await kube.create(POD, podOf(name)).catch(() => undefined);
          return;
        }
        const annotations = { [WRITTEN]: String(Date.now()), [MARK]: String(writes) };
        await kube.patch(POD, ref, { type: "merge", body: { metadata: { annotations } } }).catch(() => undefined);
      }),
    );
    await sleep(10);
  }
  return writes;
}

/** Injects a random fault every ten seconds, for three seconds each. `nothing` is one of them. */
async function hurt(server: HostileProxy, end: { now: boolean }): Promise<Record<string, number>> {
  const faults: Record<string, () => void> = {
    "connections cut": () => server.cut(),
    "out of reach": () => server.refuse(true),
    "errors": () => server.answer([429, 500, 503, 504], 0.5),
    "events late": () => server.delayWatches(1_000),
    "versions gone": () => server.expire(),
    nothing: () => undefined,
  };
  const names = Object.keys(faults);
  const counts: Record<string, number> = {};
  const endMs = performance.now() + minutes * 60_000;
  while (performance.now() < endMs) {
    const name = names[random.int(names.length)] ?? "nothing";
    counts[name] = (counts[name] ?? 0) + 1;
    faults[name]?.();
    await sleep(3_000);
    server.heal();
    await sleep(FAULT_EVERY_MS - 3_000);
  }
  end.now = true;
  return counts;
}

async function untilCurrent(): Promise<void> {
  const deadlineMs = performance.now() + 120_000;
  await sleep(5_000);
  while (samples.at(-1)?.current !== true) {
    if (performance.now() > deadlineMs) throw new Error("the reader never caught up");
    await sleep(500);
  }
}

function report(writes: number, faults: Readonly<Record<string, number>>): void {
  const say = (line: string): void => { process.stdout.write(`${line}\n`); };
  const said = Object.entries(faults).map(([name, count]) => `${name} ${count}`);
  say(`${writes} writes to ${objects} pods in ${minutes} min; faults: ${said.join(", ")}`);
  say("");
  say("| minute | events | lag p50 ms | lag p99 ms | reader late p50 ms | CPU ms a 1,000 events | relists | stale s | RSS MiB | |");
  say("|---|---|---|---|---|---|---|---|---|---|");
  const step = Math.max(1, Math.ceil(samples.length / ROWS));
  const most = Math.max(...samples.map(({ rssBytes }) => rssBytes));
  for (let from = 0; from < samples.length; from += step) {
    const part = samples.slice(from, from + step);
    say(`| ${rowOf(part, from + part.length, samples[from - 1]?.lists ?? 1, most)} |`);
  }
  const [first] = samples;
  say(`| all | ${rowOf(samples, samples.length, first?.lists ?? 1, most).split(" | ").slice(1).join(" | ")} |`);
}

function rowOf(part: readonly Sample[], second: number, listsBefore: number, most: number): string {
  const lags = part.flatMap(({ lagsMs }) => lagsMs).sort((a, b) => a - b);
  const late = part.map(({ lateMs }) => lateMs).sort((a, b) => a - b);
  const of = (all: readonly number[], share: number) =>
    all[Math.max(0, Math.ceil(all.length * share) - 1)] ?? 0;
  const cpuMs = part.reduce((sum, one) => sum + one.cpuMs, 0);
  const last = part.at(-1);
  const rss = Math.max(...part.map(({ rssBytes }) => rssBytes));
  const bar = "#".repeat(Math.round((30 * rss) / most));
  return [
    (second / 60).toFixed(1),
    lags.length,
    of(lags, 0.5),
    of(lags, 0.99),
    of(late, 0.5),
    Math.round((cpuMs / Math.max(1, lags.length)) * 1_000),
    (last?.lists ?? 0) - listsBefore,
    part.filter(({ current }) => !current).length,
    (rss / 2 ** 20).toFixed(0),
    bar,
  ].join(" | ");
}

/** Compares the reader's objects with the server's at the end. */
async function compare(kube: KubeClient): Promise<void> {
  const marks = samples.at(-1)?.marks ?? {};
  const { items } = await kube.list<Pod>(POD);
  const wrong = items.filter(
    ({ metadata }) => marks[metadata.name] !== (metadata.annotations?.[MARK] ?? ""),
  );
  const extra = Object.keys(marks).length - items.length;
  if (wrong.length > 0 || extra !== 0)
    throw new Error(`the reader's picture differs: ${wrong.length} pods wrong, ${extra} too many`);
  process.stdout.write(`the reader holds what the server has: ${items.length} pods\n`);
}
