/**
 * Changes the cluster of `npm run bench -- console` into one that is hard to show. `burst`: pods wait for several
 * causes, nodes come up and leave, events arrive. `hostile`: names of 253 characters, right-to-left text and markup,
 * 200 labels a node, and 10,000 pods that wait for one cause.
 */
import type { KubeObject } from "../../src/apis/meta.ts";
import { podOf } from "./cluster.ts";

type Objects = Map<string, KubeObject[]>;
// biome-ignore lint/suspicious/noExplicitAny: objects are changed here as the JSON that they are
type Json = any;

const PODS = "/api/v1/pods";
const NODES = "/api/v1/nodes";
const CLAIMS = "/apis/karpenter.sh/v1/nodeclaims";
const EVENTS = "/api/v1/events";
const ZONE = "topology.kubernetes.io/zone";

/** What may be wrong with the cluster, by name. Each changes the objects in place. */
export const TROUBLES: Readonly<Record<string, (objects: Objects) => void>> = {
  calm,
  burst,
  hostile,
};

/** Nothing is wrong: some nodes have fewer pods than others, and Karpenter wrote a few events. */
function calm(objects: Objects): void {
  const pods = listOf(objects, PODS);
  objects.set(
    PODS,
    pods.filter((pod, index) => !(nodeNumberOf(pod) % 7 === 3 && index % 3 !== 0)),
  );
  const claim = listOf(objects, CLAIMS)[0];
  if (claim === undefined) return;
  addEvents(objects, [
    [claim, "Launched", "Status condition transitioned, Type: Launched, Status: Unknown -> True"],
    [claim, "Unconsolidatable", "Can't replace with a cheaper node"],
  ]);
}

function burst(objects: Objects): void {
  calm(objects);
  const claims = listOf(objects, CLAIMS);
  const nodes = listOf(objects, NODES);
  for (const [index, claim] of claims.entries()) {
    const node = nodes[index];
    if (node === undefined) continue;
    if (index % 20 === 1) leave(claim, node);
    if (index % 20 === 6) choose(claim, node);
    if (index % 20 === 11) setCondition(claim, "Drifted", "True");
  }
  claims.push(...comingUp(claims, Math.max(2, Math.round(nodes.length / 20))));
  const waiting = Math.max(6, nodes.length);
  pendingPods(objects, { count: waiting, each: (spec) => request(spec, "2") });
  pendingPods(objects, {
    count: Math.ceil(waiting / 3),
    each: (spec) => {
      spec.nodeSelector = { [ZONE]: "mars-1a" };
    },
  });
  pendingPods(objects, { count: 3, each: (spec) => request(spec, "500") });
  pendingPods(objects, {
    count: 2,
    each: (spec) => {
      spec.nodeSelector = { "example.com/gpu-model": "h100" };
    },
  });
  const pods = listOf(objects, PODS).slice(-50);
  const words = "no nodepool matched; 0/12 nodes are available: 12 Insufficient cpu";
  addEvents(objects, [
    ...pods.map((pod): Told => [pod, "FailedScheduling", words]),
    ...claims
      .slice(0, 40)
      .map((claim): Told => [claim, "DisruptionTerminating", "Disrupting NodeClaim: Drifted"]),
  ]);
}

/** Right-to-left letters, a mark that turns the direction of text, and markup. */
const ODD = '\u202eمرحبا بالعالم\u202c <img src=x onerror="window.pwned=1"> {{7*7}} 👩‍👩‍👧‍👦';

function hostile(objects: Objects): void {
  for (const { spec } of listOf(objects, PODS) as Json[]) spec.nodeName = longName(spec.nodeName);
  for (const [at, node] of listOf(objects, NODES).entries()) {
    const { metadata, status }: Json = node;
    const claim: Json = listOf(objects, CLAIMS)[at];
    const name = longName(metadata.name);
    metadata.name = name;
    claim.metadata.name = longName(claim.metadata.name);
    claim.status.nodeName = name;
    for (let label = 0; label < 200; label++)
      metadata.labels[`${"sub.".repeat(10)}example.com/label-${label}`] = "v".repeat(63);
    if (at % 3 !== 0)
      metadata.labels["node.kubernetes.io/instance-type"] = `x-${at % 12}.${"huge".repeat(14)}`;
    if (at % 5 === 0) metadata.labels[ZONE] = ODD;
    if (at % 7 === 0) status.allocatable = { ...status.allocatable, cpu: "-8" };
    if (at % 7 === 1) status.allocatable = { ...status.allocatable, memory: "1000000000000Ti" };
    if (at % 7 === 2) status.allocatable = {};
    setCondition(claim, "Odd\u202eCondition", "Maybe");
  }
  pendingPods(objects, {
    count: 10_000,
    each: (spec) => {
      spec.nodeSelector = { [`${"sub.".repeat(50)}example.com/wanted`]: "w".repeat(63) };
    },
    rename: (index) => longName(`waits-${index}`),
  });
  const told = [...listOf(objects, PODS).slice(-30), ...listOf(objects, CLAIMS).slice(0, 30)];
  addEvents(
    objects,
    told.map((about): Told => [about, "DisruptionBlocked", `${ODD} ${"long".repeat(400)}`]),
  );
}

function listOf(objects: Objects, path: string): KubeObject[] {
  return objects.get(path) ?? [];
}

function longName(name: string): string {
  return `${name}-${"n".repeat(253)}`.slice(0, 253);
}

function nodeNumberOf(pod: KubeObject): number {
  return Number((pod as Json).spec.nodeName?.split("-")[1] ?? 0);
}

function ago(minutes: number): string {
  return new Date(Date.now() - minutes * 60_000).toISOString().replace(/\.\d+/, "");
}

function setCondition(claim: KubeObject, type: string, status: string): void {
  const condition = { type, status, reason: type, lastTransitionTime: ago(5) };
  const { status: told }: Json = claim;
  told.conditions = [...told.conditions.filter((one: Json) => one.type !== type), condition];
}

function leave(claim: KubeObject, node: KubeObject): void {
  for (const { metadata } of [claim, node] as Json[]) {
    metadata.deletionTimestamp = ago(2);
    metadata.finalizers = ["karpenter.sh/termination"];
  }
  choose(claim, node);
}

function choose(claim: KubeObject, node: KubeObject): void {
  const { spec }: Json = node;
  spec.taints = [{ key: "karpenter.sh/disrupted", effect: "NoSchedule" }];
  setCondition(claim, "DisruptionReason", "True");
}

/** NodeClaims of which half have no instance yet, and half have one that has not joined. */
function comingUp(claims: readonly KubeObject[], count: number): KubeObject[] {
  return Array.from({ length: count }, (_, at) => {
    const name = `claim-new-${at}`;
    const claim: Json = structuredClone(claims[2]);
    claim.metadata = {
      ...claim.metadata,
      name,
      uid: `NodeClaim-${name}`,
      creationTimestamp: ago(1),
    };
    const launched = at % 2 === 0;
    claim.status = {
      conditions: [
        { type: "Launched", status: launched ? "True" : "Unknown", lastTransitionTime: ago(1) },
      ],
      ...(launched ? { providerID: `kwok://new-${at}` } : {}),
    };
    return claim;
  });
}

interface Waiting {
  readonly count: number;
  readonly each: (spec: Json) => void;
  readonly rename?: (index: number) => string;
}

let pending = 0;

function pendingPods(objects: Objects, { count, each, rename }: Waiting): void {
  const pods = listOf(objects, PODS);
  for (let at = 0; at < count; at++) {
    const index = 1_000_000 + pending++;
    const pod: Json = podOf(index, 0);
    delete pod.spec.nodeName;
    each(pod.spec);
    if (rename !== undefined) pod.metadata.name = rename(index);
    pod.metadata.creationTimestamp = ago(1 + (index % 40));
    pod.status = {
      phase: "Pending",
      conditions: [
        {
          type: "PodScheduled",
          status: "False",
          reason: "Unschedulable",
          message: "0/12 nodes are available",
          lastTransitionTime: ago(1),
        },
      ],
    };
    pods.push(pod);
  }
}

function request(spec: Json, cpu: string): void {
  spec.containers[0].resources = { requests: { cpu, memory: "1Gi" } };
}

type Told = readonly [about: KubeObject, reason: string, message: string];

function addEvents(objects: Objects, told: readonly Told[]): void {
  const events = told.map(([about, reason, message], at) => ({
    apiVersion: "v1",
    kind: "Event",
    metadata: {
      name: `event-${reason}-${at}`,
      namespace: about.metadata.namespace ?? "default",
      uid: `event-${reason}-${at}-${about.metadata.name}`,
      resourceVersion: "1",
      creationTimestamp: ago(at % 60),
    },
    involvedObject: {
      apiVersion: about.apiVersion,
      kind: about.kind,
      name: about.metadata.name,
      namespace: about.metadata.namespace,
    },
    reason,
    message,
    type: reason === "FailedScheduling" ? "Warning" : "Normal",
    source: { component: "karpenter" },
    firstTimestamp: ago(at % 60),
    lastTimestamp: ago(at % 60),
  }));
  objects.set(EVENTS, [...listOf(objects, EVENTS), ...(events as unknown as KubeObject[])]);
}
