/**
 * `npm run bench -- aws [interruption] [launch] [types] [pools]`: figures of the AWS provider, on the Node of the
 * image.
 * - interruption: messages per second, from a queue over the loopback through the SDK, and from a queue in this
 *   process. The time runs until all messages are handled: from the start of filling the queue, and from a full
 *   queue on. Figures are medians of the rounds.
 * - launch: AWS calls for each node, from nothing to 500 and 5,000 nodes.
 * - types: building the list of instance types for a class, and the longest time for which it blocked the event
 *   loop.
 * - pools: memory of each NodePool beyond the first.
 * CPU time is that of this process; other work on the machine inflates it less than wall time.
 */
import { spawn, spawnSync } from "node:child_process";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { EC2_NODE_CLASS } from "../src/apis/aws/ec2nodeclass.ts";
import { NODE_CLAIM } from "../src/apis/karpenter/nodeclaim.ts";
import { SILENT } from "../src/base/log.ts";
import { Random } from "../src/base/random.ts";
import { SystemClock } from "../src/base/system-clock.ts";
import { createManager } from "../src/kube/manager/manager.ts";
import { LiveMirrors } from "../src/kube/mirror/mirrors.ts";
import { interruptionController } from "../src/providers/aws/interruption/controller.ts";
import type { AwsApi } from "../src/providers/aws/api/aws-api.ts";
import { createParts } from "../src/providers/aws/parts.ts";
import { createSdkApi } from "../src/providers/aws/sdk.ts";
import { awsClaim, awsWorld, CLUSTER, ec2NodeClass, REGION } from "../src/testing/aws-world.ts";
import { nodeClaim, pool } from "../src/testing/builders.ts";
import { fakeKube } from "../src/testing/fake-kube.ts";
import { emptyQueue, fill, machineMs } from "./aws-queue.ts";
import { imageFlags } from "../scripts/image-flags.ts";
import { imageNode } from "./image-node.ts";

const say = (line: string): void => { process.stdout.write(`${line}\n`); };
const none = (): void => undefined;
const CLASS = { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: "default" };
const metrics = { count: none, set: none, forget: none, observe: none, read: () => none };

/** Pairs: number of messages in the queue at the start, and number of rounds. */
const FLOODS = [[100, 21], [1_000, 11], [5_000, 5], [15_000, 5]] as const;

export async function aws(args: readonly string[]): Promise<void> {
  const { program, version } = imageNode(say);
  if (version !== process.version) {
    const bench = fileURLToPath(new URL("./bench.ts", import.meta.url));
    const command = [...imageFlags(), "--expose-gc", "--import", "tsx", bench, "aws", ...args];
    process.exitCode = spawnSync(program, command, { stdio: "inherit" }).status ?? 1;
    return;
  }
  say(`on Node ${version}`);
  const wanted = (name: string): boolean => args.length === 0 || args.includes(name);
  if (wanted("interruption")) for (const queue of [await queueProcess(), queueHere()]) {
      // The first rounds warm up: code is compiled and connections are opened. They are not counted.
      for (const n of [10_000, 10_000]) await interruption(n, queue);
      for (const [count, rounds] of FLOODS) await interruptions(count, rounds, queue);
      queue.close();
    }
  if (wanted("launch")) for (const n of [500, 5_000]) await launchPath(n);
  if (wanted("types")) await types();
  if (wanted("pools")) await pools();
}

/** What one round took. `servedMs`: CPU time of the queue's own process. */
interface Flood {
  /** Time from the start of filling the queue until all messages are handled. */
  readonly ms: number;
  /**
   * The time from a full queue on. Some messages are handled before that, so this figure is too good for large queues.
   */
  readonly sinceFullMs: number;
  readonly cpuMs: number;
  readonly servedMs: number | undefined;
  readonly claimsLeft: number;
}

async function interruptions(count: number, rounds: number, queue: Queue): Promise<void> {
  const all: Flood[] = [];
  for (let n = 0; n < rounds; n++) all.push(await interruption(count, queue));
  const sorted = (of: (one: Flood) => number): number[] => all.map(of).sort((a, b) => a - b);
  const median = (of: (one: Flood) => number): number => sorted(of)[rounds >> 1] as number;
  const ms = sorted((one) => one.ms);
  const aSecond = (of: (one: Flood) => number): number => Math.round((count / median(of)) * 1_000);
  const cpuMs = median((one) => one.cpuMs);
  const served = all[0]?.servedMs === undefined ? "" : `, the queue's server ${median((one) => one.servedMs ?? 0).toFixed(0)} ms`;
  say(`interruption ${queue.name} ${String(count).padStart(6)} messages  ${aSecond((one) => one.ms)} a second: ${median((one) => one.ms).toFixed(1)} ms in the median of ${rounds} (${ms[0]?.toFixed(1)} to ${ms.at(-1)?.toFixed(1)}), ${aSecond((one) => one.sinceFullMs)} a second from when the queue held them all; cpu ${cpuMs.toFixed(0)} ms${served}, claims left ${median((one) => one.claimsLeft)}`);
}

function instanceId(n: number): string {
  return `i-${String(n).padStart(17, "0")}`;
}

async function interruption(count: number, queue: Queue): Promise<Flood> {
  const clock = new SystemClock();
  const kube = fakeKube(clock);
  for (let n = 0; n < count; n++) {
    const name = `claim-${n}`;
    const labels = { "node.kubernetes.io/instance-type": "m5.large", "topology.kubernetes.io/zone": "us-east-1a", "karpenter.sh/capacity-type": "spot" };
    const claim = nodeClaim({ name, labels });
    await kube.create(NODE_CLAIM, claim);
    kube.change(NODE_CLAIM, name, { status: { providerID: `aws:///us-east-1a/${instanceId(n)}` } });
  }
  const random = new Random("bench");
  const mirrors = new LiveMirrors({ client: kube, clock, random, log: SILENT });
  const settings = { clusterName: CLUSTER, clusterEndpoint: "https://x", region: REGION, interruptionQueue: CLUSTER };
  let deleted = 0;
  let allDeleted = none;
  const done = new Promise<void>((resolve) => { allDeleted = resolve; });
  const counting = { ...metrics, count: (name: string, _: object, by = 1) => {
      if (name === "interruption_deleted_messages_total" && (deleted += by) >= count) allDeleted();
    } };
  const deps = { api: queue.api, kube: mirrors.client, mirrors, clock, log: SILENT, events: { publish: none }, metrics: counting, settings, endImpaired: async () => false };
  const manager = createManager({ mirrors, clock, random, log: SILENT });
  manager.add(interruptionController(deps, createParts(deps), CLUSTER));
  await manager.start();
  // The interruption controller polls when messages arrive.
  await clock.sleep(200);
  const startMs = machineMs();
  const cpu = process.cpuUsage();
  const fullAtMs = await queue.fill(count);
  await done;
  const endMs = machineMs();
  const used = process.cpuUsage(cpu);
  const cpuMs = (used.user + used.system) / 1_000;
  const servedMs = await queue.servedMs();
  const stopping = manager.stop();
  mirrors.close();
  await stopping;
  return { ms: endMs - startMs, sinceFullMs: endMs - fullAtMs, cpuMs, servedMs, claimsLeft: kube.all(NODE_CLAIM).length };
}

interface Queue {
  readonly name: string;
  /** The calls to AWS that the controller uses. */
  readonly api: AwsApi;
  /** Puts `count` messages into the queue. Returns when it held them all, by `machineMs`. */
  fill(count: number): Promise<number>;
  /**
   * CPU time of the queue's own process since it was filled, in milliseconds. Undefined: the queue is in this process.
   */
  servedMs(): Promise<number | undefined>;
  close(): void;
}

/** A queue in another process, reached through the SDK. */
async function queueProcess(): Promise<Queue> {
  const script = fileURLToPath(new URL("./aws-queue.ts", import.meta.url));
  const server = spawn(process.execPath, ["--import", "tsx", script], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const line = (): Promise<string> =>
    new Promise((resolve) => server.stdout.once("data", (data) => resolve(String(data).trim())));
  const endpoint = await line();
  const credentials = { accessKeyId: "a", secretAccessKey: "b" };
  const api = createSdkApi({ region: REGION, endpoint, credentials });
  const tell = async (count: number): Promise<readonly [servedMs: number, fullAtMs: number]> => {
    const answer = line();
    server.stdin.write(`${count}\n`);
    const [servedMs, fullAtMs] = (await answer).split(" ").map(Number);
    return [servedMs ?? 0, fullAtMs ?? 0];
  };
  return {
    name: "loopback  ",
    api,
    fill: async (count) => (await tell(count))[1],
    servedMs: async () => (await tell(0))[0],
    close: () => { server.kill(); },
  };
}

/** A queue in this process, called as functions. */
function queueHere(): Queue {
  const aws = emptyQueue();
  return {
    name: "in process",
    api: aws.api,
    fill: async (count) => {
      await fill(aws, count);
      return machineMs();
    },
    servedMs: async () => undefined,
    close: none,
  };
}

async function launchPath(count: number): Promise<void> {
  const world = await awsWorld({}, { everyType: true });
  await world.kube.create(EC2_NODE_CLASS, ec2NodeClass());
  await world.clock.advance(1_000);
  for (const id of world.aws.state.subnets.keys()) world.aws.controls.setFreeAddresses(id, 1_000_000);
  await world.clock.advance(61_000);
  // The list of the region's instance types is read once in twelve hours, independent of launches.
  await world.settle(world.cloud.getInstanceTypes(pool({ classRef: CLASS })));
  const before = world.aws.journal.mark;
  const startMs = performance.now();
  const requirements = [
    { key: "karpenter.sh/capacity-type", operator: "In" as const, values: ["on-demand"] },
    { key: "karpenter.k8s.aws/instance-category", operator: "In" as const, values: ["c", "m", "r"] },
  ];
  const all = Array.from({ length: count }, async (_, n) => {
    const name = `c-${n}`;
    const launched = await world.cloud.create(awsClaim(requirements, { name }));
    const status = { ...launched.status, nodeName: `node-${n}` };
    await world.kube.create(NODE_CLAIM, { ...launched, metadata: { ...launched.metadata, name }, status });
  });
  await world.settle(Promise.all(all));
  for (let s = 0; s < 600; s++) {
    const open = world.kube.all(NODE_CLAIM).some((one) => one.metadata.annotations?.["karpenter.k8s.aws/tagged"] !== "true");
    if (!open) break;
    await world.clock.advance(1_000);
  }
  const calls = world.aws.journal.calls({ after: before });
  const counts: Record<string, number> = {};
  for (const { action } of calls) counts[action] = (counts[action] ?? 0) + 1;
  const failed = calls.filter((one) => !one.outcome.ok && one.outcome.code !== "InvalidLaunchTemplateName.NotFoundException").length;
  say(`launch ${String(count).padStart(5)} nodes  ${(calls.length / count).toFixed(3)} calls a node, ${failed} refused, ${(performance.now() - startMs).toFixed(0)} ms  ${Object.entries(counts).map(([action, n]) => `${action} ${n}`).join(", ")}`);
  await world.stop();
}

async function types(): Promise<void> {
  const world = await awsWorld({}, { everyType: true });
  const { zones } = world.aws.state;
  while (zones.length < 6) {
    const letter = "abcdef"[zones.length] as string;
    (zones as unknown[]).push({ ZoneName: `${REGION}${letter}`, ZoneId: `use1-az${zones.length + 1}`, ZoneType: "availability-zone", State: "available", RegionName: REGION });
    const id = world.aws.controls.addSubnet({ zone: `${REGION}${letter}`, cidr: `10.${zones.length}.0.0/19` });
    world.aws.controls.tag(id, [{ Key: "karpenter.sh/discovery", Value: CLUSTER }]);
  }
  await world.kube.create(EC2_NODE_CLASS, ec2NodeClass());
  await world.clock.advance(1_000);
  const ask = (): Promise<readonly unknown[]> => world.cloud.getInstanceTypes(pool({ classRef: CLASS }));
  const found = (await world.settle(ask())) as { offerings: unknown[] }[];
  const timesMs: number[] = [];
  const heldMs: number[] = [];
  const turnMs: number[] = [];
  const delay = monitorEventLoopDelay({ resolution: 1 });
  for (let n = 0; n < 20; n++) {
    world.aws.faults.limitCapacity({ instanceType: "m5.large" });
    // The offerings of m5.large become unavailable, so the whole list is built again.
    const claim = awsClaim([{ key: "node.kubernetes.io/instance-type", operator: "In", values: ["m5.large"] }], { name: `x${n}` });
    await world.settle(world.cloud.create(claim).catch(() => undefined));
    await world.clock.advance(181_000);
    delay.enable();
    delay.reset();
    const turns = watchTurns();
    const cpu = process.cpuUsage();
    await world.settle(ask());
    const used = process.cpuUsage(cpu);
    timesMs.push((used.user + used.system) / 1_000);
    turnMs.push(turns.longestMs());
    await new Promise((resolve) => setTimeout(resolve, 2));
    heldMs.push(delay.max / 1e6);
    delay.disable();
  }
  timesMs.sort((a, b) => a - b);
  heldMs.sort((a, b) => a - b);
  turnMs.sort((a, b) => a - b);
  const offerings = found.reduce((sum, one) => sum + one.offerings.length, 0);
  say(`types ${found.length} with ${offerings} offerings  refreshed in ${timesMs[10]?.toFixed(0)} ms of cpu (median of 20), at most ${timesMs.at(-1)?.toFixed(0)} ms; its longest turn of the loop ${turnMs[10]?.toFixed(0)} ms of its thread's cpu (median of 20), at most ${turnMs.at(-1)?.toFixed(0)}; by the wall ${heldMs[10]?.toFixed(0)}, at most ${heldMs.at(-1)?.toFixed(0)}, other programs' turns counted in`);
  await world.stop();
}

/**
 * Measures the longest time between two iterations of the event loop, in CPU time of its thread. Threads that
 * collect garbage do not block the event loop.
 */
function watchTurns(): { longestMs(): number } {
  let longestMs = 0;
  let beforeMs = threadCpuMs();
  let next = setImmediate(turn);
  function turn(): void {
    longestMs = Math.max(longestMs, threadCpuMs() - beforeMs);
    beforeMs = threadCpuMs();
    next = setImmediate(turn);
  }
  return {
    longestMs: () => {
      clearImmediate(next);
      return longestMs;
    },
  };
}

/** `process.threadCpuUsage` exists in the image's Node, but not in the types of the oldest supported Node. */
function threadCpuMs(): number {
  const { user, system } = (process as unknown as { threadCpuUsage(): NodeJS.CpuUsage }).threadCpuUsage();
  return (user + system) / 1_000;
}

async function pools(): Promise<void> {
  const world = await awsWorld({}, { everyType: true });
  await world.kube.create(EC2_NODE_CLASS, ec2NodeClass());
  await world.clock.advance(1_000);
  const ask = (n: number): Promise<readonly unknown[]> => world.cloud.getInstanceTypes(pool({ name: `p-${n}`, classRef: CLASS } as never));
  const collect = (globalThis as { gc?: () => void }).gc ?? none;
  const first = await world.settle(ask(0));
  collect();
  const beforeBytes = process.memoryUsage().heapUsed;
  const lists: (readonly unknown[])[] = [];
  for (let n = 1; n <= 63; n++) lists.push(await world.settle(ask(n)));
  collect();
  const bytes = process.memoryUsage().heapUsed - beforeBytes;
  say(`pools 63 more of one class  ${lists.every((one) => one === first) ? "the very same list" : "other lists"}, ${Math.round(bytes / 63 / 1_024)} KiB each${collect === none ? " (run with --expose-gc for a figure without garbage)" : ""}`);
  await world.stop();
}
