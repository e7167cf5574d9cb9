/**
 * Checks a plan (the JSON of `karpenter plan`) against the manifests and the catalogue that it was made from. Every
 * promise of the plan must hold, whichever of the claim's types is launched. Returns sentences about its faults; none
 * if the plan is valid.
 */
import {
  type Amounts,
  type Json,
  milli,
  plus,
  podAmounts,
  portsCollide,
  repelledBy,
  selects,
  shortOf,
  wantsNode,
} from "./kubernetes.ts";
import { hasAlternatives, isKeptOff, neighbourFaults } from "./neighbours.ts";
import {
  daemonPods,
  domainsOf,
  existingPlace,
  HOSTNAME,
  nodeNameOf,
  outcomesOf,
  type Place,
} from "./places.ts";

import { volumeFaults } from "./volumes.ts";

/** Manifests of every kind, and instance types in the form of `--instance-types`. */
export interface Scenario {
  readonly manifests: readonly Json[];
  readonly instanceTypes: readonly Json[];
}

export interface Facts {
  readonly pods: ReadonlyMap<string, Json>;
  readonly pools: readonly Json[];
  readonly types: ReadonlyMap<string, Json>;
  readonly daemonSets: readonly Json[];
  readonly namespaces: readonly Json[];
  readonly places: readonly Place[];
}

export function validate(scenario: Scenario, plan: Json): string[] {
  const faults: string[] = [];
  const facts = factsOf(scenario, plan, faults);
  const { places } = facts;
  faults.push(...tally(facts, plan));
  for (const place of places) {
    if (place.pods.length > 0) faults.push(...placeFaults(place, facts));
    if (place.claim !== undefined) faults.push(...claimFaults(place, facts));
  }
  faults.push(...limitFaults(facts), ...weightFaults(facts), ...neighbourFaults(facts));
  faults.push(...volumeFaults(places, scenario.manifests));
  return faults;
}

/** The place of each pod by the plan. Names that do not exist are added to `faults`. */
export function factsOf(
  { manifests, instanceTypes }: Scenario,
  plan: Json,
  faults: string[],
): Facts {
  const of = (kind: string) => manifests.filter((one) => one.kind === kind);
  const pods = new Map<string, Json>();
  for (const pod of of("Pod")) if (!pod.spec.nodeName) pods.set(keyOf(pod), pod);
  const types = new Map(instanceTypes.map((type) => [type.name as string, type]));
  const pools = of("NodePool");
  const places: Place[] = of("Node").map((node) =>
    existingPlace(
      node,
      of("Pod").filter(({ spec }) => spec.nodeName === node.metadata.name),
    ),
  );
  for (const { node, pods: names } of plan.existingNodes) {
    const place = places.find(({ name }) => name === node);
    if (place === undefined) faults.push(`there is no node ${node}`);
    else place.pods.push(...named(names, pods, faults));
  }
  /** Equal claims have the same outcomes, which are computed once. */
  const known = new Map<string, Place["outcomes"]>();
  plan.newNodeClaims.forEach((claim: Json, index: number) => {
    const pool = pools.find(({ metadata }) => metadata.name === claim.nodePool);
    if (pool === undefined) {
      faults.push(`claim ${index}: there is no NodePool ${claim.nodePool}`);
      return;
    }
    const text = JSON.stringify([claim.nodePool, claim.requirements, claim.instanceTypes]);
    let outcomes = known.get(text);
    if (outcomes === undefined) {
      const offered = claim.instanceTypes.map((name: string) => types.get(name));
      outcomes = outcomesOf(pool, claim.requirements, offered.filter(Boolean));
      known.set(text, outcomes);
    }
    places.push({
      name: `claim ${index}`,
      taints: pool.spec.template.spec.taints ?? [],
      outcomes,
      running: [],
      pods: named(claim.pods, pods, faults),
      claim,
      pool,
    });
  });
  return {
    pods,
    pools,
    types,
    daemonSets: of("DaemonSet"),
    namespaces: of("Namespace"),
    places,
  };
}

export function keyOf({ metadata }: Json): string {
  return `${metadata.namespace ?? "default"}/${metadata.name}`;
}

function named(
  names: readonly string[],
  pods: ReadonlyMap<string, Json>,
  faults: string[],
): Json[] {
  return names.flatMap((name) => {
    const pod = pods.get(name);
    if (pod === undefined) faults.push(`${name} is placed and is no pod that waits`);
    return pod ?? [];
  });
}

/** Checks that each pod is listed once, and that the sums are right. */
function tally({ pods, places }: Facts, plan: Json): string[] {
  const seen = new Map<string, number>();
  const note = (name: string) => seen.set(name, (seen.get(name) ?? 0) + 1);
  for (const place of places) for (const pod of place.pods) note(keyOf(pod));
  for (const { pod } of plan.unschedulable) note(pod);
  const faults = [...pods.keys()]
    .filter((name) => seen.get(name) !== 1)
    .map((name) => `${name} is in the plan ${seen.get(name) ?? 0} times`);
  const price = plan.newNodeClaims.reduce(
    (sum: number, { cheapest }: Json) => sum + cheapest.priceMicroUsdPerHour,
    0,
  );
  if (price !== plan.totals.priceMicroUsdPerHour)
    faults.push("the total price is not the sum of its nodes");
  if (plan.totals.placed !== pods.size - plan.unschedulable.length)
    faults.push("the count of placed pods is wrong");
  return faults;
}

/** Checks that in every outcome of the node, the pods tolerate its taints, match its labels and fit. */
function placeFaults(place: Place, { daemonSets }: Facts): string[] {
  const faults: string[] = [];
  const nodeName = nodeNameOf(place);
  for (const pod of place.pods) {
    const taint = repelledBy(place.taints, pod.spec);
    if (taint !== undefined)
      faults.push(`${keyOf(pod)} on ${place.name}: does not tolerate ${taint.key}`);
    if (pod.spec.nodeSelector === undefined && pod.spec.affinity === undefined) continue;
    const unwanted = place.outcomes.find(({ labels }) => !wantsNode(pod.spec, labels, nodeName));
    if (unwanted !== undefined) {
      faults.push(
        `${keyOf(pod)} on ${place.name}: does not want a node with ${JSON.stringify(unwanted.labels)}`,
      );
    }
  }
  const everyone = [...place.running, ...place.pods];
  const asked = everyone.reduce((sum: Amounts, pod) => plus(sum, podAmounts(pod)), {});
  if (portsCollide(everyone)) faults.push(`${place.name}: host ports collide`);
  const reported = new Set<string>();
  for (const { labels, allocatable, instanceType } of place.outcomes) {
    const daemons = daemonPods(daemonSets, place.taints, labels, nodeName).filter(
      (daemon) => !place.running.some((pod) => isOf(pod, daemon)),
    );
    const wanted = daemons.reduce((sum: Amounts, pod) => plus(sum, podAmounts(pod)), asked);
    const name = shortOf(wanted, allocatable);
    if (name !== undefined && !reported.has(instanceType)) {
      reported.add(instanceType);
      faults.push(
        `${place.name}: ${instanceType} has ${allocatable[name] ?? 0} of ${name} (in thousandths), wanted ${wanted[name]}`,
      );
    }
    if (daemons.length > 0 && portsCollide([...everyone, ...daemons])) {
      faults.push(`${place.name}: host ports collide`);
    }
  }
  return faults;
}

function isOf(pod: Json, daemon: Json): boolean {
  return (pod.metadata.ownerReferences ?? []).some(
    ({ kind, name }: Json) => kind === "DaemonSet" && name === daemon.metadata.name,
  );
}

/** Checks types, price and minValues of a claim. */
function claimFaults({ name, claim, outcomes, pool }: Place, { types }: Facts): string[] {
  const faults: string[] = [];
  const open = new Set(outcomes.map(({ instanceType }) => instanceType));
  for (const type of claim.instanceTypes) {
    if (!types.has(type)) faults.push(`${name}: there is no instance type ${type}`);
    else if (!open.has(type))
      faults.push(`${name}: ${type} cannot be launched under its requirements`);
  }
  const least = Math.min(...outcomes.map(({ priceMicroUsd }) => priceMicroUsd));
  if (least !== claim.cheapest.priceMicroUsdPerHour) {
    faults.push(
      `${name}: the cheapest costs ${least}, the plan says ${claim.cheapest.priceMicroUsdPerHour}`,
    );
  }
  for (const { key, minValues } of pool.spec.template.spec.requirements ?? []) {
    if (minValues === undefined) continue;
    const values = new Set(outcomes.map(({ labels }) => labels[key]));
    if (values.size < minValues)
      faults.push(`${name}: ${values.size} values of ${key}, minValues is ${minValues}`);
  }
  return faults;
}

/** Limits hold even if each node becomes the largest possible. */
function limitFaults({ pools, places }: Facts): string[] {
  return pools.flatMap((pool) => {
    const planned = places.filter((place) => place.pool === pool);
    return Object.entries(pool.spec.limits ?? {}).flatMap(([resource, limit]) => {
      const used = planned.reduce((sum, { outcomes }) => {
        const most = Math.max(...outcomes.map(({ capacity }) => capacity[resource] ?? 0));
        return sum + (resource === "nodes" ? 1000 : most);
      }, 0);
      return used > milli(limit)
        ? [
            `NodePool ${pool.metadata.name}: ${used} of ${resource} (in thousandths), its limit is ${String(limit)}`,
          ]
        : [];
    });
  });
}

/** Checks that for each heavier NodePool without limits, a node has a pod that this NodePool could not take. */
function weightFaults(facts: Facts): string[] {
  const { pools, places, types, daemonSets } = facts;
  const all = [...types.values()];
  const outcomes = new Map(pools.map((pool) => [pool, outcomesOf(pool, [], all)]));
  const couldTake = (pool: Json, pod: Json): boolean => {
    const taints = pool.spec.template.spec.taints ?? [];
    const soft = [...taints, ...[]].some(({ effect }: Json) => effect === "PreferNoSchedule");
    if (soft || repelledBy(taints, pod.spec) !== undefined) return false;
    return (outcomes.get(pool) ?? []).some(({ labels, allocatable }) => {
      if (!wantsNode(pod.spec, labels)) return false;
      const daemons = daemonPods(daemonSets, taints, labels);
      if (portsCollide([pod, ...daemons])) return false;
      const wanted = daemons.reduce(
        (sum: Amounts, one) => plus(sum, podAmounts(one)),
        podAmounts(pod),
      );
      return shortOf(wanted, allocatable) === undefined;
    });
  };
  return places.flatMap(({ name, pool, pods }) => {
    if (pool === undefined || pods.some((pod) => hasFurtherWishes(pod) || hasAlternatives(pod)))
      return [];
    const heavier = pools.filter(
      (other) =>
        (other.spec.weight ?? 0) > (pool.spec.weight ?? 0) &&
        other.spec.limits === undefined &&
        (other.spec.template.spec.requirements ?? []).every(
          (one: Json) => one.minValues === undefined,
        ),
    );
    const better = heavier.find((other) => pods.every((pod) => couldTake(other, pod)));
    return better === undefined || pods.some((pod) => isKeptOff(pod, facts))
      ? []
      : [
          `${name}: of NodePool ${pool.metadata.name}, though the heavier ${better.metadata.name} could take each pod`,
        ];
  });
}

/**
 * Whether the pod has rules beyond its requests, tolerations and required node labels. The weights of its node are
 * then not checked.
 */
function hasFurtherWishes({ spec }: Json): boolean {
  const { podAffinity, podAntiAffinity, nodeAffinity } = spec.affinity ?? {};
  const preferred = nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  return (
    podAffinity !== undefined ||
    podAntiAffinity !== undefined ||
    preferred.length > 0 ||
    (spec.volumes ?? []).length > 0 ||
    (spec.topologySpreadConstraints ?? []).length > 0
  );
}

export { domainsOf, HOSTNAME, selects };
