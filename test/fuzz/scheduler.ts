/**
 * Checks a plan with the sandbox's kube-scheduler on the planned nodes: there is an order of pods in which it binds
 * each pod where the plan says. It shares no code with the engine (docs/designs/002).
 */
import type { Node } from "../../src/apis/core/node.ts";
import type { Pod } from "../../src/apis/core/pod.ts";
import { Random } from "../../src/base/random.ts";
import type { Plan } from "../../src/cli/plan/plan.ts";
import { feasibleNodes } from "../../src/sandbox/kube-scheduler/feasible.ts";
import { podInfo } from "../../src/sandbox/kube-scheduler/pod-info.ts";
import type { VolumeObjects } from "../../src/sandbox/kube-scheduler/volumes.ts";
import { NO_SURROUNDINGS, snapshotOf } from "../../src/sandbox/testing/snapshots.ts";
import { type Json, type Labels, podAmounts, wantsNode } from "../validator/kubernetes.ts";
import { concerns, counts, hasAlternatives } from "../validator/neighbours.ts";
import { daemonPods, HOSTNAME, outcomesOf, ZONE } from "../validator/places.ts";
import { keyOf, type Scenario } from "../validator/validate.ts";
import { DRIVER, ephemeralClaims } from "./draw-volumes.ts";

/** The parts of a plan that the check needs, for plans of karpenter-ts and of upstream. */
export interface Promised {
  readonly newNodeClaims: readonly Pick<
    Plan["newNodeClaims"][number],
    "nodePool" | "pods" | "requirements" | "instanceTypes" | "cheapest"
  >[];
  readonly existingNodes: Plan["existingNodes"];
}

export function schedulerFaults(scenario: Scenario, plan: Promised): string[] {
  return [...refusals(scenario, plan)].map(
    ([pod, node]) => `the scheduler refuses ${pod} on ${node}`,
  );
}

/**
 * When kube-scheduler may bind pods: before all nodes of the plan exist, as in a real cluster, or only once all are
 * ready.
 */
export type Coming = "any time" | "all up";

/**
 * Pods that kube-scheduler refuses on their planned node, including those that it refuses only after the first ones
 * were removed.
 */
export function refusedInTheEnd(
  scenario: Scenario,
  plan: Promised,
  nodesCome: Coming = "any time",
): ReadonlySet<string> {
  const refused = new Set<string>();
  const coming = <T extends { readonly pods: readonly string[] }>(places: readonly T[]): T[] =>
    places.map((place) => ({ ...place, pods: place.pods.filter((pod) => !refused.has(pod)) }));
  for (;;) {
    const { newNodeClaims, existingNodes } = plan;
    const left = {
      newNodeClaims: coming(newNodeClaims),
      existingNodes: coming(existingNodes),
    };
    const more = refusals(scenario, left, nodesCome);
    if (more.size === 0) return refused;
    for (const pod of more.keys()) refused.add(pod);
  }
}

/** Pod → its planned node, for pods that kube-scheduler refuses there. */
export function refusals(
  scenario: Scenario,
  plan: Promised,
  nodesCome: Coming = "any time",
): ReadonlyMap<string, string> {
  const stage = stageOf(scenario, plan);
  const { pods, goal } = stage;
  const turns = new Map(
    [...plan.newNodeClaims, ...plan.existingNodes].flatMap((place) =>
      place.pods.map((pod, turn): [string, number] => [pod, turn]),
    ),
  );
  // A second order: node by node, as planned.
  const orders = [
    ...ORDERS,
    (pod: Json) => -(turns.get(keyOf(pod)) as number),
    sparseZonesFirst(stage),
  ];
  let refused: readonly Json[] = [];
  for (const again of ["in rounds", "at once"] as const) {
    for (const order of orders) {
      const sorted = pods.toSorted(
        (a, b) => order(b) - order(a) || (a.metadata.uid < b.metadata.uid ? -1 : 1),
      );
      refused = bindAll(sorted, stage, stage.snapshot(stage.nodes, stage.placed), again);
      if (refused.length === 0) return new Map();
    }
  }
  const random = new Random(1);
  for (let draw = 0; draw < SHUFFLES; draw++) {
    const snapshot = stage.snapshot(stage.nodes, stage.placed);
    refused = bindAll(shuffled(pods, random), stage, snapshot, "at once");
    if (refused.length === 0) return new Map();
  }
  const waiting = nodesCome === "any time" ? refusedOneByOne(stage) : refused;
  if (waiting.length < refused.length) refused = waiting;
  return new Map(refused.map((pod) => [keyOf(pod), goal.get(keyOf(pod)) as string]));
}

/**
 * Pods with a required spread come first. Then come other pods, first those in zones with few such pods: there
 * they raise the smallest count.
 */
function sparseZonesFirst({ nodes, pods, goal }: Stage): (pod: Json) => number {
  const zones = new Map<string, string>(
    nodes.map(({ metadata }) => [metadata.name, metadata.labels[ZONE]]),
  );
  const zoneOf = (pod: Json) => zones.get(goal.get(keyOf(pod)) as string);
  return (pod) => {
    const zone = zoneOf(pod);
    const spread = pods.filter((other) => hard(other) > 0 && zoneOf(other) === zone);
    return hard(pod) * pods.length - spread.length;
  };
}

/** The nodes of a plan as they would be launched, and the planned node of each pod. */
interface Stage {
  /** The existing nodes first, then the new ones. */
  readonly nodes: readonly Json[];
  /** Running pods, and the daemons of all nodes. */
  readonly placed: readonly Json[];
  /** The planned pods. */
  readonly pods: readonly Json[];
  /** The planned node of each pod. */
  readonly goal: ReadonlyMap<string, string>;
  snapshot(nodes: readonly Json[], running: readonly Json[]): ReturnType<typeof snapshotOf>;
  /** The pod without the rules that count pods on nodes with an open zone. Undefined: it has no such rule. */
  relieve(pod: Json): Json | undefined;
}

function stageOf(scenario: Scenario, plan: Promised): Stage {
  const { manifests, instanceTypes } = scenario;
  const of = (kind: string) => manifests.filter((one) => one.kind === kind);
  const nodes: Json[] = [...of("Node")];
  const goal = new Map<string, string>();
  for (const { node, pods } of plan.existingNodes) for (const pod of pods) goal.set(pod, node);
  plan.newNodeClaims.forEach((claim, index) => {
    const name = `new-${index}`;
    for (const pod of claim.pods) goal.set(pod, name);
    nodes.push(nodeOf(name, claim, of("NodePool"), instanceTypes));
  });
  const running = of("Pod").filter(({ spec }) => spec.nodeName !== undefined);
  const namespaces = new Map(
    of("Namespace").map(({ metadata }) => [metadata.name as string, metadata]),
  );
  const surroundings = {
    ...NO_SURROUNDINGS,
    volumes: volumesOf(scenario, nodes),
    namespaceLabels: (name: string) => ({
      "kubernetes.io/metadata.name": name,
      ...(namespaces.get(name)?.labels as Record<string, string> | undefined),
    }),
  };
  const pods = of("Pod").filter((pod) => goal.has(keyOf(pod)));
  const outcomes = plan.newNodeClaims.map(({ nodePool, requirements, instanceTypes: names }) =>
    outcomesOf(
      of("NodePool").find(({ metadata }) => metadata.name === nodePool),
      requirements,
      instanceTypes.filter(({ name }) => names.includes(name)),
    ).map(({ labels }) => labels),
  );
  return {
    nodes,
    placed: [...running, ...nodes.flatMap((node) => daemonsOn(node, of("DaemonSet")))],
    pods,
    goal,
    snapshot: (some, there) => snapshotOf(some as Node[], there as Pod[], surroundings),
    relieve: (pod) =>
      withoutUnsettled(pod, (rule) =>
        countsTheUnsettled(rule, pod, pods, goal, outcomes, of("Namespace")),
      ),
  };
}

/** The scenario after the nodes of the plan are ready and its pods are bound to them. */
export function asItComesUp(scenario: Scenario, plan: Promised): Scenario {
  const { nodes, goal } = stageOf(scenario, plan);
  const fresh = nodes
    .filter((node) => !scenario.manifests.includes(node))
    .map(({ spec, status, ...node }) => ({
      ...node,
      spec: { ...spec, providerID: `fuzz://${node.metadata.name}` },
      status: { ...status, conditions: [{ type: "Ready", status: "True" }] },
    }));
  const manifests = scenario.manifests.map((one) => {
    const nodeName = one.kind === "Pod" ? goal.get(keyOf(one)) : undefined;
    return nodeName === undefined ? one : { ...one, spec: { ...one.spec, nodeName } };
  });
  return { ...scenario, manifests: [...fresh, ...manifests] };
}

function daemonsOn(node: Json, daemonSets: readonly Json[]): readonly Json[] {
  const nodeName = node.metadata.name;
  const { taints = [] } = node.spec;
  return daemonPods(daemonSets, taints, node.metadata.labels, nodeName).map((daemon) => ({
    ...daemon,
    metadata: { ...daemon.metadata, name: `${daemon.metadata.name}-${nodeName}` },
    spec: { ...daemon.spec, nodeName },
  }));
}

/** The pods that are refused if the new nodes become ready one after the other. */
function refusedOneByOne({ nodes, placed, pods, goal, ...stage }: Stage): readonly Json[] {
  const there = nodes.filter(({ metadata }) => !metadata.name.startsWith("new-"));
  let waiting = pods;
  for (let count = there.length; count <= nodes.length && waiting.length > 0; count++) {
    const some = nodes.slice(0, count);
    const known = new Set(some.map(({ metadata }) => metadata.name));
    const bound = pods.filter((pod) => !waiting.includes(pod));
    const running = [
      ...placed.filter(({ spec }) => known.has(spec.nodeName)),
      ...bound.map((pod) => ({ ...pod, spec: { ...pod.spec, nodeName: goal.get(keyOf(pod)) } })),
    ];
    waiting = [...bindAll(waiting, { goal, ...stage }, stage.snapshot(some, running))];
  }
  return waiting;
}

/**
 * Binds pods until a round binds none; returns the rest. Refused pods are tried again in the next round, or `at once`
 * after each bound pod. If nothing else can be bound, one pod is bound that is refused only by rules that `relieve`
 * removes, because others may depend on it.
 */
function bindAll(
  pods: readonly Json[],
  { goal, relieve }: Pick<Stage, "goal" | "relieve">,
  snapshot: ReturnType<typeof snapshotOf>,
  again: "in rounds" | "at once" = "in rounds",
): readonly Json[] {
  let waiting = pods;
  for (;;) {
    let bound = 0;
    let refused = waiting.filter((pod) => {
      if (again === "at once" && bound > 0) return true;
      const name = goal.get(keyOf(pod)) as string;
      if (!goesTo(pod, name, snapshot)) return true;
      snapshot.setPod(podInfo(pod as Pod), name);
      bound++;
      return false;
    });
    if (refused.length === 0) return refused;
    if (refused.length === waiting.length) {
      const relieved = refused.find((pod) => {
        const less = relieve(pod);
        return less !== undefined && goesTo(less, goal.get(keyOf(pod)) as string, snapshot);
      });
      if (relieved === undefined) return refused;
      snapshot.setPod(podInfo(relieved as Pod), goal.get(keyOf(relieved)) as string);
      refused = refused.filter((pod) => pod !== relieved);
    }
    waiting = refused;
  }
}

function goesTo(pod: Json, name: string, snapshot: ReturnType<typeof snapshotOf>): boolean {
  return feasibleNodes(podInfo(pod as Pod), snapshot).nodes.some((node) => node.name === name);
}

const REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution";

/** The pod without the rules that count pods on nodes with an open zone. Undefined: it has no such rule. */
function withoutUnsettled(pod: Json, isUnsettled: (rule: Json) => boolean): Json | undefined {
  const { affinity = {}, topologySpreadConstraints: spreads = [] } = pod.spec;
  let taken = 0;
  const less = (rules: readonly Json[] = []) => {
    const left = rules.filter((rule) => !isUnsettled(rule));
    taken += rules.length - left.length;
    return left;
  };
  const lessOf = (terms: Json) =>
    terms === undefined ? undefined : { ...terms, [REQUIRED]: less(terms[REQUIRED]) };
  const spec = {
    ...pod.spec,
    topologySpreadConstraints: less(spreads),
    affinity: {
      ...affinity,
      podAffinity: lessOf(affinity.podAffinity),
      podAntiAffinity: lessOf(affinity.podAntiAffinity),
    },
  };
  return taken === 0 ? undefined : { ...pod, spec };
}

const hard = ({ spec }: Json) =>
  (spec.topologySpreadConstraints ?? []).filter(
    (one: Json) => one.whenUnsatisfiable === "DoNotSchedule",
  ).length;
const near = ({ spec }: Json) => (spec.affinity?.podAffinity === undefined ? 0 : 1);
const nearOnHost = ({ spec }: Json) =>
  (spec.affinity?.podAffinity?.[REQUIRED] ?? []).some((term: Json) => term.topologyKey === HOSTNAME)
    ? 1
    : 0;
const apart = ({ spec }: Json) => (spec.affinity?.podAntiAffinity === undefined ? 0 : 1);

function shuffled(pods: readonly Json[], random: Random): readonly Json[] {
  return pods
    .map((pod) => ({ pod, at: random.int(1 << 30) }))
    .sort((a, b) => a.at - b.at)
    .map(({ pod }) => pod);
}

/** Number of random orders that are tried if no fixed order works. */
const SHUFFLES = 40;

/** The order of pods may matter. One order that works is enough. */
const ORDERS: readonly ((pod: Json) => number)[] = [
  // Orders pods by size, the largest first, as in planning.
  (pod) => (podAmounts(pod)["cpu"] ?? 0) + (podAmounts(pod)["memory"] ?? 0) / 1e15,
  (pod) => near(pod) * 4 + hard(pod) * 2 + apart(pod),
  (pod) => hard(pod) * 4 + near(pod) * 2 + apart(pod),
  (pod) => apart(pod) * 4 + near(pod) * 2 + hard(pod),
  (pod) => nearOnHost(pod) * 4 + hard(pod) * 2 + apart(pod),
  (pod) => -(near(pod) + hard(pod) + apart(pod)),
];

/**
 * Whether the pod's rule counts another pod on a node for which the plan leaves open the zone (or another domain), or
 * whether the pod could use that node. Like upstream, the engine counts such a pod only once the node exists.
 */
function countsTheUnsettled(
  rule: Json,
  pod: Json,
  pods: readonly Json[],
  goal: ReadonlyMap<string, string>,
  nodes: readonly (readonly Labels[])[],
  namespaces: readonly Json[],
): boolean {
  const { topologyKey, whenUnsatisfiable, nodeAffinityPolicy } = rule;
  if (topologyKey === HOSTNAME || whenUnsatisfiable === "ScheduleAnyway") return false;
  const isSpread = whenUnsatisfiable !== undefined;
  const isAbout = (other: Json) =>
    isSpread ? counts(rule, pod, other) : concerns(rule, pod, other, { namespaces });
  const minds = isSpread && nodeAffinityPolicy !== "Ignore";
  const isOpen = (labels: readonly Labels[]) =>
    new Set(labels.map((one) => one[topologyKey])).size !== 1;
  // The rule also counts domains that the pod may not use. A node with an open zone may become a domain without pods.
  const looksBeyond = isSpread && (!minds || hasAlternatives(pod));
  if (looksBeyond && nodes.some(isOpen)) return true;
  return pods.some((other) => {
    if (other === pod || !isAbout(other)) return false;
    const name = goal.get(keyOf(other)) as string;
    if (!name.startsWith("new-")) return false;
    const labels = nodes[Number(name.slice(4))] ?? [];
    const welcome = labels.filter((one) => wantsNode(pod.spec, one)).length;
    if (minds && welcome > 0 && welcome < labels.length) return true;
    return isOpen(labels);
  });
}

/** Volume objects. A new node has as many volume slots as its type. */
function volumesOf(scenario: Scenario, nodes: readonly Json[]): VolumeObjects {
  const of = (kind: string) => scenario.manifests.filter((one) => one.kind === kind);
  const claims = [...of("PersistentVolumeClaim"), ...ephemeralClaims(scenario)];
  const byName = <T>(all: readonly Json[]) => {
    const known = new Map(all.map((one) => [one.metadata.name as string, one as T]));
    return (name: string): T | undefined => known.get(name);
  };
  const known = new Map(claims.map((one) => [keyOf(one), one]));
  const slots = nodes.flatMap(({ metadata, status }) => {
    const told = status.capacity[`attachable-volumes-csi-${DRIVER}`];
    if (told === undefined) return [];
    const allocatable = { count: Number.parseInt(told, 10) / 1_000 };
    return [{ metadata, spec: { drivers: [{ name: DRIVER, allocatable }] } }];
  });
  return {
    claim: (namespace, name) => known.get(`${namespace}/${name}`),
    volume: byName(of("PersistentVolume")),
    volumes: () => of("PersistentVolume"),
    storageClass: byName(of("StorageClass")),
    csiNode: byName([...of("CSINode"), ...slots]),
  };
}

/** The node if the cheapest offering is launched. */
function nodeOf(
  name: string,
  claim: Promised["newNodeClaims"][number],
  pools: readonly Json[],
  types: readonly Json[],
): Json {
  const pool = pools.find(({ metadata }) => metadata.name === claim.nodePool);
  const { instanceType, zone, capacityType } = claim.cheapest;
  const type = types.find((one) => one.name === instanceType);
  const offerings = type.offerings.filter(
    (one: Json) => one.zone === zone && one.capacityType === capacityType,
  );
  const [outcome] = outcomesOf(pool, claim.requirements, [{ ...type, offerings }]);
  const allocatable = Object.fromEntries(
    Object.entries(outcome?.allocatable ?? {}).map(([key, amount]) => [key, `${amount}m`]),
  );
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels: { ...outcome?.labels, [HOSTNAME]: name } },
    spec: { taints: pool.spec.template.spec.taints ?? [] },
    status: { allocatable, capacity: allocatable },
  };
}
