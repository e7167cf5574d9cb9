/**
 * Writes the trace of what happens in the cluster, by watching it as any client could: pending pods, created claims
 * with their cause, new nodes, bound pods, drained and removed nodes. Pods of one owner that change in the same way
 * within a moment share a line. So a burst of a thousand pods stays readable.
 */

import { EVENT, type Event } from "../apis/core/kinds.ts";
import { NODE, type Node } from "../apis/core/node.ts";
import type { Pod } from "../apis/core/pod.ts";
import { toClaim } from "../apis/hub/claim.ts";
import { condition } from "../apis/karpenter/conditions.ts";
import {
  CAPACITY_TYPE_LABEL_KEY,
  DISRUPTION_COMMAND_ANNOTATION_KEY,
  INSTANCE_TYPE_LABEL_KEY,
  NODEPOOL_LABEL_KEY,
  PROVISIONER_NAME_LABEL_KEY,
  REPLACEMENT_ANNOTATION_KEY,
  TOPOLOGY_ZONE_LABEL_KEY,
} from "../apis/karpenter/labels.ts";
import { MACHINE } from "../apis/karpenter/machine.ts";
import { NODE_CLAIM, type NodeClaim } from "../apis/karpenter/nodeclaim.ts";
import type { KubeObject } from "../apis/meta.ts";
import { parseBoundedJson } from "../base/bounded-json.ts";
import type { Clock } from "../base/clock.ts";
import { isObject } from "../base/json.ts";
import type { Mirrors } from "../kube/mirror/mirror.ts";
import { PODS_BY_NODE, podMirror } from "./parts.ts";
import type { Trace, TraceEvent } from "./trace.ts";

/** Milliseconds within which pods of one owner that change in the same way share a line. */
const GATHER_MS = 200;
/**
 * Milliseconds after which a drain is reported as unusual. By default a pod ends within 30 s, and a drain evicts a few
 * pods at a time.
 */
const LONG_DRAIN_MS = 90_000;

/** What the narrator watches, and where it writes. */
export interface NarratorDeps {
  readonly mirrors: Mirrors;
  readonly clock: Clock;
  readonly trace: Trace;
  /** The price of an offering in micro-dollars an hour. Absent: the cloud has no prices. */
  readonly price?: (instanceType: string, zone: string, capacityType: string) => number | undefined;
}

/**
 * Starts the trace, and returns a function that ends it. The trace does not report objects that the mirrors
 * hold already. If a mirror syncs later, its first objects are reported as new.
 */
export function narrate(deps: NarratorDeps): () => void {
  let quiet = true;
  const gathered = gatherer(deps);
  const drains = longDrains(deps, gathered);
  const savings = commandSavings(deps);
  const pods = podMirror(deps.mirrors);
  const stops = [
    pods.on((event, pod, before) => {
      if (quiet) return;
      tellPod(event === "removed" ? "removed" : "there", pod, before, gathered);
      const nodeName = pod.spec.nodeName;
      if (event === "removed" && nodeName !== undefined && !isDaemon(pod)) {
        tellIfEmptied(nodeName, deps, gathered);
      }
    }),
    deps.mirrors.of(NODE).on((event, node, before) => {
      if (!quiet) tellNode(event === "removed", node, before, deps);
    }),
    deps.mirrors.of(EVENT).on((event, published) => {
      if (quiet || event !== "added") return;
      if (published.reason === "FailedDraining") drains.heard(published);
      else if (published.reason === "SuccessfulRescale") tellRescale(published, deps);
      else tellWarning(published, deps, gathered);
    }),
  ];
  for (const kind of [NODE_CLAIM, MACHINE]) {
    stops.push(
      deps.mirrors.of<KubeObject>(kind).on((event, claim, before) => {
        if (quiet) return;
        tellClaim(
          event === "removed",
          toClaim(claim),
          before === undefined ? undefined : toClaim(before),
          deps,
          savings,
        );
      }),
    );
  }
  quiet = false;
  return () => {
    for (const stop of stops) stop();
    gathered.flush();
  };
}

interface Gatherer {
  /** Reports what happened to a pod. Several pods of one `group` are reported as one line with their owner's name. */
  add(actor: string, verb: string, pod: PodName, what: string): void;
  flush(): void;
}

interface PodName {
  readonly name: string;
  readonly group: string;
}

function gatherer({ clock, trace }: NarratorDeps): Gatherer {
  const waiting = new Map<
    string,
    { actor: string; verb: string; pod: PodName; what: string; count: number }
  >();
  const flush = (): void => {
    for (const { actor, verb, pod, what, count } of waiting.values()) {
      const object = count === 1 ? `pod ${pod.name}` : `${count} pods ${pod.group}`;
      trace({ atMs: clock.now(), actor, verb, object, what });
    }
    waiting.clear();
  };
  return {
    flush,
    add: (actor, verb, pod, what) => {
      if (waiting.size === 0) clock.after(GATHER_MS, flush);
      const key = `${actor}/${verb}/${pod.group}/${what}`;
      const known = waiting.get(key);
      if (known === undefined) waiting.set(key, { actor, verb, pod, what, count: 1 });
      else known.count++;
    },
  };
}

function tellPod(
  now: "there" | "removed",
  pod: Pod,
  before: Pod | undefined,
  gathered: Gatherer,
): void {
  if (isDaemon(pod)) return;
  const { namespace, name, ownerReferences } = pod.metadata;
  const own = {
    name: `${namespace}/${name}`,
    group: `${namespace}/${ownerReferences?.[0]?.name ?? name}`,
  };
  const on = pod.spec.nodeName === undefined ? "" : `on ${pod.spec.nodeName}`;
  if (now === "removed") {
    gathered.add("kubelet", "gone", own, on);
    return;
  }
  const unschedulable = refusal(pod);
  if (unschedulable !== undefined && (before === undefined || refusal(before) === undefined)) {
    gathered.add("scheduler", "pending", own, unschedulable);
  }
  if (pod.spec.nodeName !== undefined && before?.spec.nodeName === undefined) {
    gathered.add("scheduler", "bound", own, `to ${pod.spec.nodeName}`);
  }
  const phase = pod.status?.phase;
  if (phase !== before?.status?.phase) {
    if (phase === "Running") gathered.add("kubelet", "running", own, on);
    if (phase === "Succeeded" || phase === "Failed")
      gathered.add("kubelet", phase.toLowerCase(), own, on);
  }
}

function refusal(pod: Pod): string | undefined {
  const scheduled = condition(pod, "PodScheduled");
  return scheduled?.reason === "Unschedulable"
    ? (scheduled.message ?? "").split(/ (?:no new claims to deallocate, )?preemption:/)[0]
    : undefined;
}

function isDaemon(pod: Pod): boolean {
  return pod.metadata.ownerReferences?.some((owner) => owner.kind === "DaemonSet") ?? false;
}

function tellIfEmptied(
  nodeName: string,
  { mirrors, clock, trace }: NarratorDeps,
  gathered: Gatherer,
): void {
  const node = mirrors.of(NODE).get(nodeName);
  if (node === undefined || poolOf(node) === undefined) return;
  const left = podMirror(mirrors)
    .byIndex(PODS_BY_NODE, nodeName)
    .filter((pod) => !isDaemon(pod));
  if (left.length > 0) return;
  gathered.flush();
  trace({
    atMs: clock.now(),
    actor: "kubelet",
    verb: "emptied",
    object: `node ${nodeName}`,
    what: "only daemons left",
  });
}

function poolOf(object: KubeObject): string | undefined {
  const labels = object.metadata.labels ?? {};
  return labels[NODEPOOL_LABEL_KEY] ?? labels[PROVISIONER_NAME_LABEL_KEY];
}

function tellNode(
  removed: boolean,
  node: Node,
  before: Node | undefined,
  { clock, trace }: NarratorDeps,
): void {
  const object = `node ${node.metadata.name}`;
  const say = (actor: string, verb: string, what = "") =>
    trace({ atMs: clock.now(), actor, verb, object, what });
  if (removed) {
    say("karpenter", "removed");
    return;
  }
  if (before === undefined) say("kubelet", "joined", labelsText(node));
  const ready = condition(node, "Ready")?.status;
  if (ready !== (before === undefined ? undefined : condition(before, "Ready")?.status)) {
    if (ready === "True") say("kubelet", "ready");
    else if (before !== undefined)
      say("kubelet", "unready", condition(node, "Ready")?.reason ?? "");
  }
  if (isClosed(node) && (before === undefined || !isClosed(before)))
    say(closedBy(node), "cordoned", "no new pods");
  if (
    node.metadata.deletionTimestamp !== undefined &&
    before?.metadata.deletionTimestamp === undefined
  ) {
    say("karpenter", "draining");
  }
}

/** Who cordoned or tainted the node. Karpenter cordons only the nodes of Machines; it taints all others. */
function closedBy(node: Node): "karpenter" | "user" {
  const alpha = node.metadata.labels?.[PROVISIONER_NAME_LABEL_KEY] !== undefined;
  return node.spec?.unschedulable === true && !alpha ? "user" : "karpenter";
}

function isClosed(node: Node): boolean {
  const taints = node.spec?.taints ?? [];
  return (
    node.spec?.unschedulable === true ||
    taints.some(({ key }) => /^karpenter\.sh\/disrupt/.test(key))
  );
}

function labelsText(node: Node): string {
  const labels = node.metadata.labels ?? {};
  return [INSTANCE_TYPE_LABEL_KEY, TOPOLOGY_ZONE_LABEL_KEY, CAPACITY_TYPE_LABEL_KEY]
    .map((key) => labels[key])
    .filter((value) => value !== undefined)
    .join(" ");
}

function tellClaim(
  removed: boolean,
  claim: NodeClaim,
  before: NodeClaim | undefined,
  deps: NarratorDeps,
  savings: (claim: NodeClaim) => Told,
): void {
  const object = `${claim.kind?.toLowerCase()} ${claim.metadata.name}`;
  const tell = (verb: string, { what, microUsdPerHour }: Told, why?: string) =>
    deps.trace({
      atMs: deps.clock.now(),
      actor: "karpenter",
      verb,
      object,
      what,
      ...(why === undefined ? {} : { why }),
      ...(microUsdPerHour === undefined ? {} : { microUsdPerHour }),
    });
  const say = (verb: string, what: string, why?: string) => tell(verb, { what }, why);
  if (removed) {
    say("terminated", "");
    return;
  }
  if (before === undefined) say("created", `pool ${poolOf(claim)}`, wishText(claim));
  if (became(claim, before, "Launched"))
    tell("launched", launchTold(claim, deps), choiceText(claim));
  if (became(claim, before, "Registered")) say("registered", claim.status?.nodeName ?? "");
  if (became(claim, before, "Initialized")) say("initialized", claim.status?.nodeName ?? "");
  if (became(claim, before, "Empty")) say("empty", "waiting out its time");
  if (
    claim.metadata.deletionTimestamp !== undefined &&
    before?.metadata.deletionTimestamp === undefined
  ) {
    tell("deleting", savings(claim), condition(claim, "DisruptionReason")?.reason);
  }
}

function became(claim: NodeClaim, before: NodeClaim | undefined, type: string): boolean {
  const was = before === undefined ? undefined : condition(before, type)?.status;
  return condition(claim, type)?.status === "True" && was !== "True";
}

function wishText(claim: NodeClaim): string {
  const { cpu, memory, pods } = claim.spec.resources?.requests ?? {};
  const types = typesOf(claim);
  const shown = types.length === 0 ? "any type" : `${types.length} types fit`;
  return `requests with daemon pods: cpu ${cpu ?? 0}, memory ${memory ?? 0}, ${pods ?? 0} pods; ${shown}`;
}

function typesOf(claim: NodeClaim): readonly string[] {
  const wanted = claim.spec.requirements.find(({ key }) => key === INSTANCE_TYPE_LABEL_KEY);
  return wanted?.operator === "In" ? (wanted.values ?? []) : [];
}

/** The text of an event, and the price or saving in it. */
type Told = Pick<TraceEvent, "what" | "microUsdPerHour">;

function launchTold(claim: NodeClaim, deps: NarratorDeps): Told {
  const { type, zone, capacityType } = offeringOf(claim);
  const price = deps.price?.(type, zone, capacityType);
  const what = `${type} ${capacityType} ${zone}`;
  if (price === undefined) return { what };
  return { what: `${what} ${perHour(price)}`, microUsdPerHour: price };
}

function offeringOf(claim: NodeClaim) {
  const labels = claim.metadata.labels ?? {};
  return {
    type: labels[INSTANCE_TYPE_LABEL_KEY] ?? "",
    zone: labels[TOPOLOGY_ZONE_LABEL_KEY] ?? "",
    capacityType: labels[CAPACITY_TYPE_LABEL_KEY] ?? "",
  };
}

/** The price as text: `$0.0869/h`. */
function perHour(microUsd: number): string {
  return `$${(microUsd / 1e6).toFixed(4)}/h`;
}

/** The saving of a consolidation, for the line of its first removed claim; empty for the others. */
function commandSavings({ mirrors, price }: NarratorDeps): (claim: NodeClaim) => Told {
  const told = new Set<string>();
  const priceOf = (claim: NodeClaim): number => {
    const { type, zone, capacityType } = offeringOf(claim);
    return price?.(type, zone, capacityType) ?? Number.NaN;
  };
  return (claim) => {
    const command = commandOf(claim);
    if (command === undefined || told.has(command)) return { what: "" };
    told.add(command);
    const claims = [NODE_CLAIM, MACHINE].flatMap((kind) =>
      mirrors.of<KubeObject>(kind).list().map(toClaim),
    );
    const gone = claims.filter((one) => commandOf(one) === command);
    const come = claims.filter(
      (one) => one.metadata.annotations?.[REPLACEMENT_ANNOTATION_KEY] === command,
    );
    const saved = sumOf(gone, priceOf) - sumOf(come, priceOf);
    if (Number.isNaN(saved)) return { what: "" };
    const nodes = gone.length === 1 ? "1 node" : `${gone.length} nodes`;
    const what = come.length === 0 ? `removes ${nodes}` : `replaces ${nodes} by ${come.length}`;
    const money = saved < 0 ? `costs ${perHour(-saved)} more` : `saves ${perHour(saved)}`;
    return { what: `${what}, ${money}`, microUsdPerHour: saved };
  };
}

function sumOf(claims: readonly NodeClaim[], price: (claim: NodeClaim) => number): number {
  return claims.reduce((sum, claim) => sum + price(claim), 0);
}

/** The id of the consolidation command that removes the claim. Undefined: there is none. */
function commandOf({ metadata }: NodeClaim): string | undefined {
  try {
    const text = metadata.annotations?.[DISRUPTION_COMMAND_ANNOTATION_KEY];
    const record: unknown = text === undefined ? undefined : parseBoundedJson(text);
    if (!isObject(record) || !CONSOLIDATIONS.includes(record["reason"])) return undefined;
    return typeof record["id"] === "string" ? record["id"] : undefined;
  } catch {
    // Users may write the annotation, so it can be invalid.
    return undefined;
  }
}

const CONSOLIDATIONS: readonly unknown[] = ["Underutilized", "Empty"];

function choiceText(claim: NodeClaim): string {
  const count = typesOf(claim).length;
  return count > 1 ? `best offering among ${count} types` : "the only type that fits";
}

function tellWarning(event: Event, { clock, trace }: NarratorDeps, gathered: Gatherer): void {
  if (event.type !== "Warning" || event.source?.component !== "karpenter") return;
  const { kind, namespace, name } = event.involvedObject;
  const what = `${event.reason}: ${event.message}`;
  const object = `${namespace === undefined ? "" : `${namespace}/`}${name}`;
  // Pods that find no room for the same reason share a line.
  if (kind === "Pod")
    gathered.add(
      "karpenter",
      "warned",
      { name: object, group: object.replace(/-[a-z0-9]{5}$/, "") },
      what,
    );
  else
    trace({
      atMs: clock.now(),
      actor: "karpenter",
      verb: "warned",
      object: `${kind.toLowerCase()} ${object}`,
      what,
    });
}

function tellRescale({ involvedObject, message }: Event, { clock, trace }: NarratorDeps): void {
  const { namespace, name } = involvedObject;
  const object = `horizontalpodautoscaler ${namespace}/${name}`;
  trace({ atMs: clock.now(), actor: "hpa", verb: "scaled", object, what: message });
}

/** Karpenter sends a warning for each drain with pods to evict. The trace reports it only if the drain takes long. */
function longDrains(
  deps: NarratorDeps,
  gathered: Gatherer,
): { readonly heard: (event: Event) => void } {
  const latest = new Map<string, Event>();
  const told = new Set<string>();
  return {
    heard: (event) => {
      const { name = "" } = event.involvedObject;
      const isNew = !latest.has(name);
      latest.set(name, event);
      if (!isNew || told.has(name)) return;
      deps.clock.after(LONG_DRAIN_MS, () => {
        const last = latest.get(name);
        latest.delete(name);
        const node = deps.mirrors.of(NODE).get(name);
        if (last === undefined || node?.metadata.deletionTimestamp === undefined) return;
        told.add(name);
        tellWarning(last, deps, gathered);
      });
    },
  };
}
