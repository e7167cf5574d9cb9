/**
 * The obstacles between a pod and a new node of one pool that can be found without a plan: taints, labels, volumes,
 * instance types. Each has the edits that would remove it. remedy.ts finds the obstacles that only a plan shows
 * (limits, topology, host ports).
 */
import type { Taint } from "../../../apis/core/node.ts";
import type { Pod, Toleration } from "../../../apis/core/pod.ts";
import { podRequests } from "../../../apis/core/pod-resources.ts";
import { formatTaint } from "../../../apis/core/tolerations.ts";
import type { Pool } from "../../../apis/hub/pool.ts";
import { isDomainOrBelow, labelDomain } from "../../../apis/karpenter/labels.ts";
import { formatResource, type Resources } from "../../../apis/resources.ts";
import { compareText } from "../../../base/text-order.ts";
import { within } from "../../../base/within.ts";
import {
  isOffered,
  OFFERED,
  type TypeRefusal,
  typeRefusals,
} from "../../provisioning/feasibility/type-refusals.ts";
import { type Template, withinLimits } from "../../provisioning/pools/pool-template.ts";
import type { TypeRow } from "../../provisioning/pools/type-rows.ts";
import { rowsUnder } from "../../provisioning/pools/whole-types.ts";
import { allBits, bitIndices, hasBit } from "../../scheduling/bits.ts";
import {
  allows,
  anyValue,
  formatRequirement,
  type Requirement,
  toRequirement,
} from "../../scheduling/requirement.ts";
import type { RequirementSpace } from "../../scheduling/requirement-space.ts";
import type { Requirements } from "../../scheduling/requirements.ts";
import { forbiddingTaints } from "../../scheduling/taints.ts";
import type { VolumeUsage } from "../../scheduling/volumes.ts";
import { type Edit, rankOf, requestEdits } from "./edits.ts";
import { mayNotBeOvercommitted } from "./lower-requests.ts";

/**
 * One reason why a pod cannot get a new node of a pool. Each of `ways` is a list of edits that together remove the
 * obstacle. If there is none, no edit removes it.
 */
export interface Obstacle {
  readonly texts: readonly string[];
  readonly ways: readonly (readonly Edit[])[];
}

/** An instance type on which the pod does not fit, and what the type lacks. */
export interface TypeMiss {
  readonly instanceType: string;
  readonly texts: readonly string[];
  readonly ways: readonly (readonly Edit[])[];
  /** The missing share of each requested resource, summed over all resources. */
  readonly shortage: number;
  /** Price of the type's cheapest offering, available or not. */
  readonly priceMicroUsd: number;
}

const INTEGER = /^\d+$/;
/** The most values of a requirement that are tried. */
const TRIED_VALUES = 3;
/** The most different sets of edited fields that are tried to make an instance type fit. */
const TRIED_TYPES = 4;

/** The taints that the pod does not tolerate. PreferNoSchedule taints do not count. */
export function taintObstacles(pod: Pod, taints: readonly Taint[]): Obstacle[] {
  return forbiddingTaints(pod.spec.tolerations, taints).map((taint) => ({
    texts: [`taint ${formatTaint(taint)} is not tolerated`],
    ways: [[{ on: "pod", change: "tolerate", toleration: tolerationOf(taint) }]],
  }));
}

export function tolerationOf({ key, value, effect }: Taint): Toleration {
  return value === undefined || value === ""
    ? { key, operator: "Exists", effect }
    : { key, operator: "Equal", value, effect };
}

/**
 * The labels that the pod requires and that the pool's nodes cannot have. `wanted`: one of the pod's required terms.
 */
export function labelObstacles(
  wanted: Requirements,
  template: Template,
  space: RequirementSpace,
): Obstacle[] {
  return space.conflicts(template.set, wanted).map(({ wanted: one, own, meant, text }) => {
    const { key } = one;
    const drop: Edit = { on: "pod", change: "dropKey", key };
    const rename: Edit[][] =
      meant === undefined ? [] : [[{ on: "pod", change: "renameKey", key, meant }]];
    const differ =
      own && `the pod asks for ${requirementText(one)}, the pool for ${requirementText(own)}`;
    return { texts: [differ ?? text], ways: [...rename, [drop], ...poolWays(one, template)] };
  });
}

/**
 * The labels that the pod's volumes require and that the pool's nodes cannot have. `volumes`: one of the places where
 * all volumes can be attached.
 */
export function volumeObstacles(
  volumes: Requirements,
  template: Template,
  space: RequirementSpace,
): Obstacle[] {
  const ofPool = space.get(template.set);
  return space.conflicts(template.set, volumes).map(({ wanted }) => {
    const { key } = wanted;
    if (isNowhere(wanted))
      return { texts: [`its volumes are where no node reaches all of them (${key})`], ways: [] };
    const pool = requirementText(ofPool.get(key));
    const text = `its volumes are at ${requirementText(wanted)}, the pool for ${pool}`;
    return { texts: [text], ways: poolWays(wanted, template) };
  });
}

/** Whether no value is allowed, because the requirements of several volumes exclude each other. */
function isNowhere({ complement, values }: Requirement): boolean {
  return !complement && values.length === 0;
}

/**
 * Edits that give the pool more zones or capacity types, for pods that need several, such as pods with anti-affinity.
 * An edit allows a further zone or capacity type that the cloud offers. Or it allows instance types that are offered in
 * a new one and that the pool excludes by one key only.
 */
export function domainWays({ pool, table }: Template): Edit[][] {
  const own = pool.requirements.map(toRequirement);
  const unmet = table.types.map(({ labels }) => new Set(own.flatMap((one) => missOf(one, labels))));
  const allow = (key: string, value: string): Edit[] => [
    { on: "pool", poolId: pool.id, change: "allow", key, value },
  ];
  return OFFERED.flatMap((key) => {
    const rules = own.filter((one) => one.key === key);
    const isAllowed = (value: string) => rules.every((one) => allows(one, value));
    const all = new Set(table.types.flatMap(({ labels }) => labels[key] ?? []));
    const known = table.types.filter((_, index) => unmet[index]?.size === 0);
    const used = new Set(known.flatMap(({ labels }) => labels[key] ?? []));
    const others = new Map<string, Edit[]>();
    for (const [index, { labels }] of table.types.entries()) {
      const [miss, ...more] = unmet[index] ?? [];
      if (miss === undefined || more.length > 0 || isOffered(miss)) continue;
      const [value] = labels[miss] ?? [];
      const isNew = labels[key]?.some((domain) => isAllowed(domain) && !used.has(domain));
      if (value !== undefined && isNew) others.set(`${miss}=${value}`, allow(miss, value));
    }
    const left = [...all].filter((value) => !isAllowed(value)).sort();
    return [
      ...left.slice(0, TRIED_VALUES).map((value) => allow(key, value)),
      ...[...others]
        .sort(([a], [b]) => compareText(a, b))
        .slice(0, TRIED_VALUES)
        .map(([, edits]) => edits),
    ];
  });
}

/**
 * Edits that allow instance types which fit into the pool's limits and which it excludes by one key only. Types that
 * use the smallest share of the limits come first.
 */
export function smallerWays(template: Template, requests: Resources): Edit[][] {
  const { pool, table } = template;
  const own = pool.requirements.map(toRequirement);
  const holding = table.holding(requests);
  const others = new Map<string, { readonly way: Edit[]; share: number }>();
  for (const [index, type] of table.types.entries()) {
    if (!hasBit(holding, index) || !withinLimits(template, type)) continue;
    const [key, ...more] = new Set(own.flatMap((one) => missOf(one, type.labels)));
    if (key === undefined || more.length > 0) continue;
    const share = shareOfLimits(template, type.capacity);
    for (const value of type.labels[key] ?? []) {
      const text = `${key}=${value}`;
      const known = others.get(text);
      if (known !== undefined) known.share = Math.min(known.share, share);
      else {
        const way: Edit[] = [{ on: "pool", poolId: pool.id, change: "allow", key, value }];
        others.set(text, { way, share });
      }
    }
  }
  return [...others]
    .sort(([a, one], [b, other]) => one.share - other.share || compareText(a, b))
    .slice(0, TRIED_VALUES)
    .map(([, { way }]) => way);
}

/** The share of a limit's remainder that a node of this capacity uses: the largest over all limits. */
function shareOfLimits({ limitsLeft: { remaining } }: Template, capacity: Resources): number {
  const shares = Object.entries(remaining).map(([name, left]) =>
    left > 0 ? (capacity[name] ?? 0) / left : 0,
  );
  return Math.max(0, ...shares);
}

/** The requirement's key, if a type with these labels does not satisfy the requirement. Otherwise an empty list. */
function missOf(requirement: Requirement, labels: Readonly<Record<string, readonly string[]>>) {
  const { key } = requirement;
  return labels[key]?.some((value) => allows(requirement, value)) === false ? [key] : [];
}

/** Edits of the pool with which its nodes satisfy the requirement. */
function poolWays(wanted: Requirement, { pool, table }: Template): Edit[][] {
  const { key } = wanted;
  const ways: Edit[][] = [];
  const inPool = { on: "pool", poolId: pool.id } as const;
  const known = pool.requirements.some((one) => one.key === key);
  if (known) {
    const values = wanted.complement ? valuesWithin(wanted, table) : wanted.values;
    const tried = values.slice(0, TRIED_VALUES);
    ways.push(...tried.map((value): Edit[] => [{ ...inPool, change: "allow", key, value }]));
  } else if (
    pool.labels[key] === undefined &&
    // Labels in the domain of the node class are set by the cloud, so a NodePool cannot define them.
    !isDomainOrBelow(labelDomain(key), pool.classRef.group)
  ) {
    const value = anyValue(wanted);
    if (value !== undefined) ways.push([{ ...inPool, change: "label", key, value }]);
  }
  return ways;
}

/** The types' values that a requirement with bounds or exclusions allows, the smallest first. */
function valuesWithin(wanted: Requirement, { types }: Template["table"]): readonly string[] {
  const all = new Set(types.flatMap(({ labels }) => labels[wanted.key] ?? []));
  const within = [...all].filter((value) => allows(wanted, value));
  const areNumbers = within.every((value) => INTEGER.test(value));
  return within.sort((a, b) => (areNumbers ? Number(a) - Number(b) : 0) || compareText(a, b));
}

/**
 * The comparison of a pod with new nodes of one pool, for one required term of the pod and one place of its volumes.
 */
export interface PodAndPool {
  readonly pod: Pod;
  /** One of the pod's required terms. */
  readonly wanted: Requirements;
  /** Where the pod's volumes are, and the volume attachments that it needs. No edit changes these. */
  readonly volumes: Requirements;
  readonly attached: VolumeUsage;
  readonly template: Template;
  readonly space: RequirementSpace;
}

/**
 * For each instance type of the pool: what it lacks for the pod. The closest type comes first. Empty: the pod fits on
 * some type.
 */
export function typeMisses(both: PodAndPool): TypeMiss[] {
  const { pod, wanted, volumes, attached, template, space } = both;
  const { table } = template;
  const requirements = space.get(template.set).and(wanted).and(volumes);
  const attaching = template.slots.holding(attached);
  const typeNeeds = { requests: podRequests(pod), requirements, volumes, attaching };
  // Cached by amount, because many types have equal amounts of a resource.
  const lowered = new Map<string, Pick<TypeRefusalText, "edits">>();
  const misses: TypeMiss[] = [];
  for (const row of bitIndices(rowsUnder(table, allBits(table.size), requirements))) {
    const refusals = typeRefusals(table, row, typeNeeds);
    if (refusals.length === 0) return [];
    const explanations = refusals.map((refusal) => explained(refusal, both, lowered));
    const isStuck = explanations.some(({ edits }) => edits === undefined);
    const { name, offerings } = table.types[row] as TypeRow;
    misses.push({
      instanceType: name,
      texts: explanations.map(({ text }) => text),
      ways: isStuck ? [] : [explanations.flatMap(({ edits = [] }) => edits)],
      shortage: refusals.reduce((sum, one) => sum + shortageOf(one), 0),
      priceMicroUsd: Math.min(...offerings.map(({ priceMicroUsd }) => priceMicroUsd)),
    });
  }
  return misses.sort(nearest);
}

/** A refusal as a text, and the edits that remove it. */
interface TypeRefusalText {
  readonly text: string;
  /** The edits. Undefined: no edit removes the refusal. */
  readonly edits: readonly Edit[] | undefined;
}

function explained(
  refusal: TypeRefusal,
  both: PodAndPool,
  lowered: Map<string, Pick<TypeRefusalText, "edits">>,
): TypeRefusalText {
  switch (refusal.stage) {
    case "requirements":
      return blamed(refusal.key, refusal.values, both);
    case "offerings":
      return blamed(refusal.key, [refusal.value], both);
    case "noOffering": {
      const where = both.volumes.size > 0 ? ` where its volumes are (${both.volumes})` : "";
      return { text: `nobody has any to sell${where}`, edits: undefined };
    }
    case "resources": {
      const { resource, requested, left } = refusal;
      const [needs, has] = [requested, left].map((amount) => formatResource(resource, amount));
      const text = `${resource}: ${needs} asked for, ${has} there`;
      return {
        text,
        ...within(lowered, `${resource} ${left}`, () => loweredTo(both.pod, resource, left)),
      };
    }
    case "attachSlots":
      return { text: "it attaches fewer volumes than the pod has", edits: undefined };
  }
}

/** The edits that lower the pod's requests to `most`. A pod may do without a device, but not without CPU or memory. */
function loweredTo(pod: Pod, resource: string, most: number): Pick<TypeRefusalText, "edits"> {
  const isLeftNothing = most === 0 && !mayNotBeOvercommitted(resource);
  return { edits: isLeftNothing ? undefined : requestEdits(pod, resource, most) };
}

/**
 * Explains which rule excludes these values of a label, and how to edit it. The rule is the pod's if the pod allows
 * none of the values, otherwise the pool's.
 */
function blamed(
  key: string,
  values: readonly string[],
  { wanted, volumes, template, space }: PodAndPool,
): TypeRefusalText {
  const isFree = (all: Requirements) => (one: string) => !all.has(key) || allows(all.get(key), one);
  const there = values.filter(isFree(volumes));
  const value = there.find(isFree(wanted));
  const byPod = value === undefined && wanted.has(key);
  const rule = byPod ? wanted.get(key) : space.get(template.set).get(key);
  const is = values.length === 0 ? "it has none" : `it is ${values.join(" ")}`;
  const text = `the ${byPod ? "pod" : "pool"} asks for ${requirementText(rule)}, ${is}`;
  if (there.length === 0 && volumes.has(key)) return { text, edits: undefined };
  if (byPod) return { text, edits: [{ on: "pod", change: "dropKey", key }] };
  if (value === undefined) return { text, edits: undefined };
  return { text, edits: [{ on: "pool", poolId: template.pool.id, change: "allow", key, value }] };
}

function shortageOf(refusal: TypeRefusal): number {
  return refusal.stage === "resources" ? (refusal.requested - refusal.left) / refusal.requested : 0;
}

/**
 * The obstacle if no instance type fits: what the closest type lacks, and edits that make one of the closest types fit.
 */
export function typeObstacle(misses: readonly TypeMiss[]): Obstacle | undefined {
  const [first] = misses;
  if (first === undefined) return undefined;
  const kinds = new Map<string, Map<string, readonly Edit[]>>();
  for (const way of misses.flatMap(({ ways }) => ways).sort((a, b) => costOf(a) - costOf(b))) {
    const kind = textOf(way, (one) => ("resource" in one ? one.resource : ""));
    // If ways differ only in amounts, the first one is the smallest change, so it is enough. If they differ in values,
    // all are equally good, so each value is kept.
    const values = textOf(way, (one) => ("value" in one ? one.value : ""));
    const ways = kinds.get(kind) ?? new Map<string, readonly Edit[]>();
    if (ways.size < TRIED_VALUES && !ways.has(values)) ways.set(values, way);
    kinds.set(kind, ways);
  }
  const tried = [...kinds.values()].slice(0, TRIED_TYPES).map((some) => [...some.values()]);
  // The first way of each kind comes before further ways of the same kind.
  const ways = Array.from({ length: TRIED_VALUES }, (_, at) =>
    tried.flatMap((some) => some.slice(at, at + 1)),
  );
  return { texts: first.texts, ways: ways.flat() };
}

function textOf(way: readonly Edit[], what: (edit: Edit) => string): string {
  return JSON.stringify(way.map((one) => [one.change, "key" in one ? one.key : "", what(one)]));
}

/** The cost of a fix: fewer edits cost less; among equally many, the edits that owners mind less. */
export function costOf(edits: readonly Edit[]): number {
  return edits.reduce((sum, edit) => sum + 100 + rankOf(edit), 0);
}

function nearest(a: TypeMiss, b: TypeMiss): number {
  return (
    // Types that no edit can make fit are last.
    Number(a.ways.length === 0) - Number(b.ways.length === 0) ||
    a.texts.length - b.texts.length ||
    a.shortage - b.shortage ||
    a.priceMicroUsd - b.priceMicroUsd ||
    (a.instanceType === b.instanceType ? 0 : a.instanceType < b.instanceType ? -1 : 1)
  );
}

/** The requirement in upstream's format. Bounds are written without `Exists`. */
function requirementText(requirement: Requirement): string {
  return formatRequirement(requirement).replace(/ Exists (?=[<>])/, " ");
}

/** Ways that set the minValues of one requirement of the pool to 1. */
export function minValuesWays({ id: poolId, requirements }: Pool): Edit[][] {
  return requirements
    .filter(({ minValues }) => (minValues ?? 0) > 1)
    .map(({ key, minValues: from = 1 }) => [
      { on: "pool", poolId, change: "minValues", key, from, to: 1 },
    ]);
}

/** The largest cost of one obstacle in the comparison of nodes. Higher costs count as this cost. */
const MOST_COST = 1_000;

/**
 * The cost of removing the obstacles, scaled to less than 1. It decides between nodes that are otherwise equally close.
 */
export function removalCost(obstacles: readonly Obstacle[]): number {
  const least = obstacles.map(({ ways }) => Math.min(...ways.map(costOf), MOST_COST));
  return least.reduce((sum, one) => sum + one, 0) / (MOST_COST * 100);
}
