/**
 * `npm run bench -- played [C-name …] [--nodes N] [--starts 1,2] [--daemons] [--down-over S]`: settled cost of our
 * operator in the sandbox, on virtual time. It needs no control plane, takes seconds, and gives the same result each
 * time. bench/settled/settled.ts measures the same on a real control plane.
 * - `--starts`: seeds. Each gives another order and pace of scaling up, other names, and so other nodes at the
 * beginning.
 * - `--down-over S`: Deployments are scaled down one after the other within S seconds, as on a busy control plane.
 * - `--daemons`: keeps the sandbox's DaemonSets, which the lower bound ignores.
 */
import { DAEMON_SET } from "../../src/apis/apps/kinds.ts";
import type { Node } from "../../src/apis/core/node.ts";
import type { Pod } from "../../src/apis/core/pod.ts";
import { REPLACEMENT_ANNOTATION_KEY } from "../../src/apis/karpenter/labels.ts";
import type { NodeClaim } from "../../src/apis/karpenter/nodeclaim.ts";
import type { KubeObject } from "../../src/apis/meta.ts";
import { openWorld, type TestWorld } from "../../test/world.ts";
import { lowerBound } from "../bound.ts";
import { dollarsPerHour } from "../cluster/view.ts";
import { chosenC, type ScenarioC, workloadOf } from "../scenarios-c.ts";
import { cells } from "../table.ts";
import { scriptFlags } from "../../scripts/script-flags.ts";

const STEP_MS = 2_000;
const QUIET_MS = 120_000;
const UP_LIMIT_MS = 900_000;
const SETTLE_LIMIT_MS = 3_600_000;
const NODE_CLASS = { apiVersion: "karpenter.kwok.sh/v1alpha1", kind: "KWOKNodeClass", metadata: { name: "default" } };
const HEAD = ["scenario", "start", "nodes, all pods", "settled", "$/h, all pods", "settled", "at least", "over that", "pods moved", "seconds to settle", "nodes nobody had planned", "longest wait of a pod, s"];

export interface Played {
  readonly before: readonly Node[];
  readonly settled: readonly Node[];
  readonly moved: number;
  readonly seconds: number;
  /** Nodes that were launched for pods without a place. Replacements of commands do not count. */
  readonly unplanned: number;
  /** Longest time that a pod had no node while the cluster settled. */
  readonly longestWaitMs: number;
}

export async function played(args: readonly string[]): Promise<void> {
  const { values, positionals } = scriptFlags(import.meta.url, {
    args: [...args],
    allowPositionals: true,
    options: {
      nodes: { type: "string", default: "20" },
      starts: { type: "string", default: "1" },
      daemons: { type: "boolean", default: false },
      "down-over": { type: "string", default: "0" },
    },
  });
  print(HEAD);
  print(HEAD.map(() => "---"));
  for (const scenario of chosenC(positionals, Number(values.nodes))) {
    const bound = (await lowerBound(workloadOf(scenario, "down"), scenario.bound === "quick")) / 1e6;
    for (const start of values.starts.split(",").map(Number))
      print(rowOf(scenario.name, start, bound, await playOne(scenario, start, { hasDaemons: values.daemons, downOverMs: Number(values["down-over"]) * 1_000 })));
  }
}

function rowOf(name: string, start: number, bound: number, one: Played): readonly string[] {
  const price = dollarsPerHour(one.settled);
  return [
    name,
    String(start),
    String(one.before.length),
    String(one.settled.length),
    dollarsPerHour(one.before).toFixed(2),
    price.toFixed(2),
    bound.toFixed(2),
    `${((price / bound - 1) * 100).toFixed(1)} %`,
    String(one.moved),
    String(one.seconds),
    String(one.unplanned),
    String(one.longestWaitMs / 1_000),
  ];
}

interface PlayOptions {
  readonly hasDaemons?: boolean;
  /** Deployments are scaled down one after the other, all within this time. */
  readonly downOverMs?: number;
}

export async function playOne(scenario: ScenarioC, start: number, { hasDaemons = false, downOverMs = 0 }: PlayOptions = {}): Promise<Played> {
  const world = await openWorld({ provider: "kwok", seed: start, logLevel: "error" });
  try {
    await prepare(world, scenario, hasDaemons);
    const order = inOrderOf(start, scenario);
    for (const [index, { name, up }] of order.entries()) {
      await world.scale(name, up);
      if (index % (3 + start) === 0) await world.advance(300);
    }
    await allRun(world, scenario, "up");
    const before = await nodesOf(world);
    for (const [index, { name, down }] of order.entries()) {
      if (index > 0 && downOverMs > 0) await world.advance(Math.round(downOverMs / (order.length - 1)));
      await world.scale(name, down);
    }
    await allRun(world, scenario, "down");
    return { before, ...(await settle(world)) };
  } finally {
    await world.close();
  }
}

async function prepare(world: TestWorld, { pools, deployments }: ScenarioC, hasDaemons: boolean): Promise<void> {
  if (!hasDaemons)
    for (const { metadata } of await world.list("DaemonSet", "apps/v1"))
      await world.client.delete(DAEMON_SET, metadata, { propagationPolicy: "Background" });
  for (const object of [NODE_CLASS, ...pools]) await world.apply(object);
  for (const { object } of deployments) await world.apply(offOthers(object));
  await world.advance(5_000);
}

/** Keeps the pods off the sandbox's own node, which is not Karpenter's. */
function offOthers(object: KubeObject): KubeObject {
  const { spec } = object as KubeObject & { readonly spec: { readonly template: { readonly spec: object } } };
  const own = { nodeSelector: { "karpenter.sh/nodepool": "default" }, ...spec.template.spec };
  return { ...object, spec: { ...spec, template: { ...spec.template, spec: own } } } as KubeObject;
}

function inOrderOf(start: number, { deployments }: ScenarioC): ScenarioC["deployments"] {
  const lot = ({ name, up }: ScenarioC["deployments"][number]) => (name.length * 7919 + up * 31 + start * 13) % 97;
  return deployments.toSorted((a, b) => lot(a) - lot(b));
}

async function allRun(world: TestWorld, { deployments }: ScenarioC, phase: "up" | "down"): Promise<void> {
  const wanted = deployments.reduce((sum, one) => sum + one[phase], 0);
  const run = async () => (await podsOf(world)).filter(isRunning).length === wanted;
  const limitMs = world.clock.now() + UP_LIMIT_MS;
  while (!(await run())) {
    if (world.clock.now() > limitMs) throw new Error(`not all of ${wanted} pods run`);
    await world.advance(STEP_MS);
  }
}

async function settle(world: TestWorld): Promise<Omit<Played, "before">> {
  const startMs = world.clock.now();
  const known = new Set((await podsOf(world)).map(({ metadata }) => metadata.uid));
  const claims = new Set((await claimsOf(world)).map(({ metadata }) => metadata.name));
  const waitingSince = new Map<string, number>();
  let [moved, unplanned, longestWaitMs, changedMs, last] = [0, 0, 0, startMs, ""];
  for (;;) {
    await world.advance(STEP_MS);
    const nowMs = world.clock.now();
    for (const { metadata, spec } of await podsOf(world)) {
      const uid = metadata.uid ?? "";
      if (!known.has(uid)) moved++;
      known.add(uid);
      if (spec.nodeName === undefined) waitingSince.set(uid, waitingSince.get(uid) ?? nowMs);
      else if (waitingSince.has(uid)) longestWaitMs = Math.max(longestWaitMs, nowMs - (waitingSince.get(uid) as number));
      if (spec.nodeName !== undefined) waitingSince.delete(uid);
    }
    for (const { metadata } of await claimsOf(world)) {
      if (!claims.has(metadata.name) && metadata.annotations?.[REPLACEMENT_ANNOTATION_KEY] === undefined) unplanned++;
      claims.add(metadata.name);
    }
    const settled = await nodesOf(world);
    const now = settled.map(standing).sort().join();
    if (now !== last) [last, changedMs] = [now, nowMs];
    if (nowMs - changedMs >= QUIET_MS)
      return { settled, moved, unplanned, longestWaitMs, seconds: (changedMs - startMs) / 1_000 };
    if (nowMs - startMs > SETTLE_LIMIT_MS) throw new Error("it did not come to rest within an hour");
  }
}

/** A text that changes when the Node is marked for deletion or its taints change. */
function standing({ metadata, spec }: Node): string {
  return [metadata.name, metadata.deletionTimestamp, ...(spec?.taints ?? []).map(({ key }) => key)].join(" ");
}

function isRunning({ metadata, spec, status }: Pod): boolean {
  return status?.phase === "Running" && spec.nodeName !== undefined && metadata.deletionTimestamp === undefined;
}

async function podsOf(world: TestWorld): Promise<readonly Pod[]> {
  return (await world.list<Pod>("Pod")).filter(({ metadata }) => metadata.namespace === "default");
}

function nodesOf(world: TestWorld): Promise<readonly Node[]> {
  return world.list<Node>("Node", "v1", "karpenter.sh/nodepool");
}

function claimsOf(world: TestWorld): Promise<readonly NodeClaim[]> {
  return world.list<NodeClaim>("NodeClaim", "karpenter.sh/v1");
}

function print(texts: readonly string[]): void {
  process.stdout.write(`${cells(texts)}\n`);
}
