/**
 * Asks the real kube-scheduler about all cases and records its answers: `npm run cluster:record-scheduler`.
 * `-- 1200 1300` repeats some cases. With `SCHEDULER_ANSWERS=FILE` the answers go to that file, and the test
 * compares with that file. The scheduler's log has the final score of each feasible node, and the node chosen for
 * volumes.
 */
import {
  closeSync,
  fstatSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Pod } from "../../../src/apis/core/pod.ts";
import type { KubeObject } from "../../../src/apis/meta.ts";
import type { Transport } from "../../../src/kube/transport/transport.ts";
import { kubernetesVersion } from "../../cluster/binaries.ts";
import { startControlPlane } from "../../cluster/control-plane.ts";
import { type SchedulingCase, SHARED, schedulingCase } from "./cases.ts";
import {
  CASES,
  type Preempts,
  RECORDING,
  type Recorded,
  type SchedulerAnswer,
} from "./recording.ts";

/** Time for the scheduler to learn of a case's objects by its watches, before the pending pod is created. */
const HEARD_MS = 100;
const GIVE_UP_MS = 20_000;

const COLLECTIONS: Readonly<Record<string, string>> = {
  Namespace: "/api/v1/namespaces",
  Node: "/api/v1/nodes",
  PersistentVolume: "/api/v1/persistentvolumes",
  PersistentVolumeClaim: "/api/v1/namespaces/default/persistentvolumeclaims",
  Pod: "/api/v1/namespaces/default/pods",
  PriorityClass: "/apis/scheduling.k8s.io/v1/priorityclasses",
  StorageClass: "/apis/storage.k8s.io/v1/storageclasses",
  CSINode: "/apis/storage.k8s.io/v1/csinodes",
  RuntimeClass: "/apis/node.k8s.io/v1/runtimeclasses",
  Service: "/api/v1/namespaces/default/services",
  ReplicationController: "/api/v1/namespaces/default/replicationcontrollers",
  ReplicaSet: "/apis/apps/v1/namespaces/default/replicasets",
  StatefulSet: "/apis/apps/v1/namespaces/default/statefulsets",
  PodDisruptionBudget: "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
};

async function call<T = KubeObject>(
  transport: Transport,
  method: "GET" | "POST" | "PATCH" | "DELETE",
  path: string,
  body?: unknown,
): Promise<T> {
  const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  const headers = { "content-type": type };
  const request = { method, path, headers, ...(body === undefined ? {} : { body }) };
  const answer = await transport.send(request);
  if (answer.status >= 300)
    throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)} ${JSON.stringify(body)}`);
  return answer.body as T;
}

function collectionOf({ kind = "", metadata }: KubeObject): string {
  return (COLLECTIONS[kind] ?? "").replace("/default/", `/${metadata.namespace ?? "default"}/`);
}

/** Creates an object, then writes its status: a create keeps the status of nodes only. */
async function put(transport: Transport, object: KubeObject): Promise<void> {
  const { status } = object as { status?: unknown };
  const { deletionTimestamp, ...metadata } = object.metadata;
  await call(transport, "POST", collectionOf(object), { ...object, metadata });
  const path = `${collectionOf(object)}/${object.metadata.name}`;
  if (status !== undefined && object.kind !== "Node")
    await call(transport, "PATCH", `${path}/status`, { status });
  // No kubelet ends the deleted pod, so it stays terminating.
  if (deletionTimestamp !== undefined) await call(transport, "DELETE", path);
}

async function remove(transport: Transport, object: KubeObject): Promise<void> {
  const path = `${collectionOf(object)}/${object.metadata.name}?gracePeriodSeconds=0`;
  await call(transport, "DELETE", path);
}

async function ask(transport: Transport, asked: SchedulingCase): Promise<Answer> {
  const { nodes, placed, pending, budgets, volumes, owners } = asked;
  const around = [...nodes, ...volumes, ...budgets, ...owners];
  await Promise.all(around.map((one) => put(transport, one)));
  await Promise.all(placed.map((one) => put(transport, one)));
  await sleep(HEARD_MS);
  await call(transport, "POST", collectionOf(pending), pending);
  const answer = await answerFor(transport, asked);
  await Promise.all([...placed, pending].map((one) => remove(transport, one)));
  await Promise.all(around.map((one) => remove(transport, one)));
  return answer;
}

interface Answer {
  readonly pod: Pod;
  readonly preempts?: Preempts;
}

async function answerFor(transport: Transport, asked: SchedulingCase): Promise<Answer> {
  const { pending } = asked;
  const path = `${collectionOf(pending)}/${pending.metadata.name}`;
  for (const untilMs = performance.now() + GIVE_UP_MS; performance.now() < untilMs; ) {
    const pod = await call<Pod>(transport, "GET", path);
    const node = pod.status?.nominatedNodeName;
    if (node !== undefined) {
      return { pod, preempts: { node, victims: await victims(transport, asked) } };
    }
    const refused = pod.status?.conditions?.some(({ reason }) => reason === "Unschedulable");
    if (pod.spec.nodeName !== undefined || refused === true) return { pod };
    // kube-scheduler binds a pod only after its volumes are bound, and nothing here binds volumes. The choice of node
    // is enough.
    if (asked.volumes.length > 0 && volumesAreUnderWay(pending)) return { pod };
    await sleep(20);
  }
  throw new Error(`no answer for ${pending.metadata.name} in ${GIVE_UP_MS / 1000} s`);
}

/** The preempted pods, once their number no longer changes. */
async function victims(transport: Transport, asked: SchedulingCase): Promise<string[]> {
  const placed = asked.placed.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  for (let seen: string[] = [], calm = 0; ; await sleep(50)) {
    const pods = await Promise.all(
      placed.map((pod) => call(transport, "GET", `${collectionOf(pod)}/${pod.metadata.name}`)),
    );
    const gone = pods.filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
    const names = gone.map(({ metadata }) => metadata.name).sort();
    calm = names.length === seen.length ? calm + 1 : 0;
    // No pod, after a longer wait: if the victims were terminating already, no further pod is deleted.
    if (calm === (names.length > 0 ? 3 : 20)) return names;
    seen = names;
  }
}

/** The log grows for minutes, so each part of it is read once. */
const log = { read: 0, lastLine: "" };

function volumesAreUnderWay({ metadata: { name } }: Pod): boolean {
  const file = openSync(join(directory, "logs", "kube-scheduler.log"), "r");
  const fresh = Buffer.alloc(fstatSync(file).size - log.read);
  log.read += readSync(file, fresh, 0, fresh.length, log.read);
  closeSync(file);
  const text = log.lastLine + fresh.toString("utf8");
  log.lastLine = text.slice(text.lastIndexOf("\n") + 1);
  return assumedOf(text).has(name);
}

/** Final scores by pod and node, from the scheduler's log. */
function scoresOf(log: string): ReadonlyMap<string, Record<string, number>> {
  const scores = new Map<string, Record<string, number>>();
  const line =
    /Calculated node's final score for pod" pod="default\/([^"]+)" node="([^"]+)" score=(-?\d+)/g;
  for (const [, pod = "", node = "", score] of log.matchAll(line))
    scores.set(pod, { ...scores.get(pod), [node]: Number(score) });
  return scores;
}

/** The node chosen for each pod whose volumes are being bound, by pod. */
function assumedOf(log: string): ReadonlyMap<string, string> {
  const line = /"AssumePodVolumes" (?:logger="[^"]*" )?pod="default\/([^"]+)" node="([^"]+)"/g;
  return new Map([...log.matchAll(line)].map(([, pod = "", node = ""]) => [pod, node]));
}

/** Writes the answers into the kept recording, or into the file that SCHEDULER_ANSWERS names. */
function record(fresh: readonly SchedulerAnswer[]): void {
  const kept = process.env["SCHEDULER_ANSWERS"] === undefined;
  const old = kept ? (JSON.parse(readFileSync(RECORDING, "utf8")) as Recorded).answers : [];
  const answers = [...old.slice(0, from), ...fresh, ...old.slice(to)];
  const first = kept ? "" : `\n  "first": ${from},`;
  const lines = answers.map((answer) => `    ${JSON.stringify(answer)}`).join(",\n");
  writeFileSync(
    RECORDING,
    `{\n  "kubernetes": "${kubernetesVersion()}",${first}\n  "answers": [\n${lines}\n  ]\n}\n`,
  );
}

const [from = 0, to = CASES] = process.argv.slice(2).map(Number);
const directory = mkdtempSync(join(tmpdir(), "karpenter-record-"));
const plane = await startControlPlane({
  directory,
  programs: ["etcd", "kube-apiserver", "kube-scheduler"],
  extraArguments: {
    "kube-apiserver": [
      // These plugins add taints, finalizers and accounts, which no controller here would remove or create.
      "--disable-admission-plugins=TaintNodesByCondition,StorageObjectInUseProtection,ServiceAccount",
    ],
    "kube-scheduler": ["-v=4", "--vmodule=schedule_one=10"],
  },
  tell: (line) => process.stdout.write(`${line}\n`),
});
try {
  for (const object of SHARED) await put(plane.transport, object);
  const said: Answer[] = [];
  for (let index = from; index < to; index++) {
    said.push(await ask(plane.transport, schedulingCase(index)));
    if (said.length % 100 === 0) process.stdout.write(`${said.length} cases asked\n`);
  }
  await sleep(500);
  const text = readFileSync(join(directory, "logs", "kube-scheduler.log"), "utf8");
  const scores = scoresOf(text);
  const assumed = assumedOf(text);
  const fresh = said.map(({ pod, preempts }): SchedulerAnswer => {
    const { name } = pod.metadata;
    const condition = pod.status?.conditions?.find(({ reason }) => reason === "Unschedulable");
    if (condition !== undefined)
      return { refused: condition.message ?? "", ...(preempts && { preempts }) };
    const found = scores.get(name);
    return { node: pod.spec.nodeName ?? assumed.get(name) ?? "", ...(found && { scores: found }) };
  });
  record(fresh);
  process.stdout.write(`${fresh.length} cases recorded\n`);
} finally {
  await plane.stop();
  if (process.env["KEEP"] === undefined) rmSync(directory, { recursive: true });
}
