/**
 * `npm run bench -- proofs [PODS] [--rounds N]`: cost of the proofs before irreversible acts, in a cluster without
 * faults. Pods are created and deleted in the sandbox on virtual time, so the story is the same each time.
 * Counts two things: requests of the controller, and samples of a CPU profile with a function of a proof on the stack,
 * as a share of all samples of the controller.
 */
import { readFileSync } from "node:fs";
import { type Profiler, Session } from "node:inspector/promises";
import type { Node } from "../src/apis/core/node.ts";
import type { Pod } from "../src/apis/core/pod.ts";
import type { Transport } from "../src/kube/transport/transport.ts";
import { isUsual, openWorld, type TestWorld } from "../test/world.ts";
import { cells } from "./table.ts";
import { scriptFlags } from "../scripts/script-flags.ts";

const MINUTE_MS = 60_000;
const LIMIT_MS = 30 * MINUTE_MS;
const SAMPLED_EVERY_US = 200;
const EXAMPLES = new URL("../examples/", import.meta.url);
const POOL = readFileSync(new URL("v1/nodepool.yaml", EXAMPLES), "utf8");
/** A Deployment whose pods run only on Karpenter's nodes, because the managed node group has free room too. */
const INFLATE = readFileSync(new URL("inflate.yaml", EXAMPLES), "utf8").replace(
  "      containers:",
  "      nodeSelector: { karpenter.sh/nodepool: default }\n      containers:",
);

/** Files that contain only proofs, and the functions of other files that are proofs. */
const PROOF_FILES = /src\/(controllers\/ending|core\/safety)\/|kube\/mirror\/check-copy\.ts/;
const PROOF_FUNCTIONS = new Set([
  "drainNodes",
  "hasLostItsInstance",
  "hasTwin",
  "openedAsUsed",
  "poolNow",
  "unseenPods",
]);
/**
 * Every request passes through this file, which belongs to a proof. A sample counts for the proof only if its
 * innermost frame is in this file.
 */
const HEARD = /kube\/transport\/server-clock\.ts/;
/** Code of the controller alone, of the sandbox alone, and of both: requests, mirrors, the manager. */
const OURS = /src\/(controllers|core|operator|providers)\//;
const THEIRS = /src\/sandbox\/|src\/operator\/rights\.ts|test\/|bench\//;
const SHARED = /src\/kube\//;
/** The client side of a request. */
const DOORS = /src\/kube\/(client|transport)\//;
/** The functions that perform irreversible acts. They run with and without proofs. */
const ACTS = /^(endInstance|deleteSame|deleteNode)$/;

/** Counts the requests of one story, profiles `--rounds` further ones, and prints a table. */
export async function proofs(args: readonly string[]): Promise<void> {
  const { values, positionals } = scriptFlags(import.meta.url, {
    args: [...args],
    allowPositionals: true,
    options: { rounds: { type: "string", default: "3" } },
  });
  const pods = Number(positionals[0] ?? 1_000);
  const rounds = Number(values.rounds);
  const requests = await countRequests(pods);
  const { whole, doors, proven } = await profile(pods, rounds);
  const requestShare = requests.ofProofs / requests.all;
  print([
    "pods",
    "nodes",
    "requests",
    "of proofs",
    "samples of the controller",
    "of proofs",
    "CPU share",
    "with their requests",
  ]);
  print(["---", "---", "---", "---", "---", "---", "---", "---"]);
  print([
    `${pods}`,
    `${requests.nodes}`,
    `${requests.all}`,
    `${requests.ofProofs} (${percent(requestShare)})`,
    `${whole}`,
    `${proven}`,
    percent(proven / whole),
    percent((proven + doors * requestShare) / whole),
  ]);
  for (const [what, count] of [...requests.kinds].sort()) console.log(`  ${count} ${what}`);
}

async function story(world: TestWorld, pods: number): Promise<number> {
  await world.scale("inflate", pods);
  const runs = async () =>
    (await world.list<Pod>("Pod", "v1", "app=inflate")).filter(
      ({ status }) => status?.phase === "Running",
    ).length;
  await world.until(`${pods} pods run`, async () => (await runs()) === pods, LIMIT_MS);
  const nodes = () => world.list<Node>("Node", "v1", "karpenter.sh/nodepool");
  const most = (await nodes()).length;
  await world.scale("inflate", 0);
  await world.until("no node is left", async () => (await nodes()).length === 0, LIMIT_MS);
  return most;
}

async function openStory(connect?: (transport: Transport) => Transport): Promise<TestWorld> {
  const world = await openWorld({
    sells: isUsual,
    logLevel: "error",
    ...(connect === undefined ? {} : { connectKube: ({ transport }) => connect(transport) }),
  });
  await world.apply(POOL);
  await world.apply(INFLATE);
  return world;
}

interface Requests {
  readonly nodes: number;
  readonly all: number;
  readonly ofProofs: number;
  readonly kinds: ReadonlyMap<string, number>;
}

/** Counts each request under the functions that wait for it, which the stack of an error names. */
async function countRequests(pods: number): Promise<Requests> {
  Error.stackTraceLimit = 50;
  let [all, ofProofs] = [0, 0];
  const kinds = new Map<string, number>();
  const world = await openStory((transport) => ({
    send: (request) => {
      all++;
      const proof = proofOn(new Error().stack ?? "");
      if (proof !== undefined) {
        ofProofs++;
        const what = `${proof}: ${request.method} ${kindOf(request.path)}`;
        kinds.set(what, (kinds.get(what) ?? 0) + 1);
      }
      return transport.send(request);
    },
    close: () => transport.close(),
  }));
  const nodes = await story(world, pods);
  await world.close();
  Error.stackTraceLimit = 10;
  return { nodes, all, ofProofs, kinds };
}

/** The innermost function of a proof on the stack. Undefined if the request is the irreversible operation itself. */
function proofOn(stack: string): string | undefined {
  for (const line of stack.split("\n")) {
    const [, name = "", file = ""] = /at (?:async )?(?:\S+\.)?(\S+) \(?(.*?)\)?$/.exec(line) ?? [];
    if (ACTS.test(name)) return undefined;
    if (isProof(name, file)) return name;
  }
  return undefined;
}

function isProof(name: string, file: string): boolean {
  return PROOF_FILES.test(file) || (OURS.test(file) && PROOF_FUNCTIONS.has(name));
}

/** `/api/v1/nodes/x` → `nodes`. */
function kindOf(path: string): string {
  const parts = (path.split("?")[0] ?? "").split("/").filter((part) => part !== "");
  return (parts[0] === "api" ? parts[2] : parts[3]) ?? path;
}

interface Samples {
  /** Number of profile samples of the controller. */
  readonly whole: number;
  /** Samples of the controller in the client of the API server. */
  readonly doors: number;
  /** Number of profile samples of the controller with a proof on the stack. */
  readonly proven: number;
}

async function profile(pods: number, rounds: number): Promise<Samples> {
  const world = await openStory();
  // A first run of the story compiles the code and fills the caches. It is not measured.
  await story(world, pods);
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.setSamplingInterval", { interval: SAMPLED_EVERY_US });
  await session.post("Profiler.start");
  for (let round = 0; round < rounds; round++) await story(world, pods);
  const { profile: taken } = await session.post("Profiler.stop");
  session.disconnect();
  await world.close();
  return samplesOf(taken);
}

function samplesOf({ nodes, samples = [] }: Profiler.Profile): Samples {
  const parents = new Map(
    nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)),
  );
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const hits = new Map<number, number>();
  for (const id of samples) hits.set(id, (hits.get(id) ?? 0) + 1);
  let [whole, doors, proven] = [0, 0, 0];
  for (const [leaf, count] of hits) {
    const stack: Profiler.ProfileNode["callFrame"][] = [];
    for (let id: number | undefined = leaf; id !== undefined; id = parents.get(id)) {
      const frame = frames.get(id);
      if (frame !== undefined) stack.push(frame);
    }
    const whose =
      stack.find(({ url }) => OURS.test(url) || THEIRS.test(url) || SHARED.test(url))?.url ?? "";
    if (THEIRS.test(whose) || whose === "") continue;
    whole += count;
    const isProven = stack.some(({ functionName, url }) => isProof(functionName, url));
    if (isProven || HEARD.test(whose)) proven += count;
    else if (DOORS.test(whose)) doors += count;
  }
  return { whole, doors, proven };
}

function percent(share: number): string {
  return `${(share * 100).toFixed(2)} %`;
}

function print(row: readonly string[]): void {
  console.log(cells(row));
}
