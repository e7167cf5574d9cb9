/**
 * Explains why a pod has no place: for each pool, upstream's message, and how many instance types each stage refused.
 * It tries an empty new node of the pool, and the pod without preferences, so it never blames a preference. Of several
 * required node affinity terms, it explains the one that passed the most stages.
 * upstream: pkg/controllers/provisioning/scheduling/nodeclaim.go (InstanceTypeFilterError)
 */
import type { Pod } from "../../../apis/core/pod.ts";
import { formatTaint } from "../../../apis/core/tolerations.ts";
import { vocabulary } from "../../../apis/hub/generation.ts";
import { HOSTNAME_LABEL_KEY } from "../../../apis/karpenter/labels.ts";
import { keyOf } from "../../../apis/meta.ts";
import {
  addResources,
  formatResource,
  formatResources,
  type Resources,
} from "../../../apis/resources.ts";
import { assert } from "../../../base/assert.ts";
import { mapInSteps, type Steps } from "../../../base/steps.ts";
import { within } from "../../../base/within.ts";
import type { DeviceNeeds } from "../../devices/needs.ts";
import {
  type Bits,
  bitIndices,
  haveCommonBits,
  intersectionOf,
  isEmptyBits,
  noBits,
  uniteBits,
} from "../../scheduling/bits.ts";
import { formatRequirement } from "../../scheduling/requirement.ts";
import type { RequirementSpace, SetId } from "../../scheduling/requirement-space.ts";
import type { Conflict, Requirements } from "../../scheduling/requirements.ts";
import { defaultPoolText } from "../batch/default-pool.ts";
import { type PodClass, type PodClasses, type Variant, variantsOf } from "../batch/pod-class.ts";
import type { QueuedPod } from "../batch/queue.ts";
import {
  type AdmissionRefusal,
  admissionRefusal,
  admittedSet,
  volumePlaces,
} from "../feasibility/admission.ts";
import { withFreePorts, withSlots } from "../feasibility/type-stages.ts";
import { NewNodeClaim } from "../nodes/new-nodeclaim.ts";
import type { PlanningContext } from "../nodes/trial.ts";
import {
  hasNoType,
  leastDaemonRequests,
  simulatedKeys,
  type Template,
} from "../pools/pool-template.ts";
import { countTypes, rowsUnder } from "../pools/whole-types.ts";
import type { RejectionReason, UnschedulablePod } from "../result.ts";
import type { TopologyGroup, TopologyRule } from "../topology/topology-group.ts";
import {
  byLaunch,
  canLaunch,
  type DomainChoice,
  type LaunchRefusal,
  lackOfDevices,
} from "./explain-launch.ts";
import { type AskedPass, nodesRefusing } from "./explain-nodes.ts";
import { filterTypes, type Rejected, whyNotOffered, withFallen } from "./filter-types.ts";

interface Explained {
  readonly context: PlanningContext;
  readonly templates: readonly Template[];
  readonly classes: Pick<PodClasses, "variant">;
  readonly claims: { readonly size: number };
}

/** The question whether a new node of the pool would take a pod of the class, with the preferences of this variant. */
interface Question {
  readonly template: Template;
  /** The pod itself matters, because pods of one class have different claims and volumes. */
  readonly pod: Pod;
  readonly podClass: PodClass;
  readonly variant: Variant;
  readonly pass: Explained;
}

/** The stages of the check, in the order of planning. `promised`: other planned nodes hold the reservations. */
const STAGES: readonly (RejectionReason | "promised")[] = [
  "noInstanceTypes",
  "taints",
  "requirements",
  "resources",
  "offerings",
  "limits",
  "hostPorts",
  "volumes",
  "topology",
  "devices",
  "promised",
  "minValues",
];

const NO_POOLS = "nodepool requirements filtered out all available instance types";
/** The most combinations of topology domains for which reservations and minValues are checked. */
const MOST_CHOICES = 64;

/** Explains each pod, in steps. `askedPod`: the key of the one pod for which existing nodes are explained, too. */
export function* explainInSteps(
  failed: readonly QueuedPod[],
  pass: Explained & AskedPass,
  askedPod?: string,
): Steps<UnschedulablePod[]> {
  const byClass = new Map<PodClass, Omit<UnschedulablePod, "pod">>();
  return yield* mapInSteps(failed, (item) => {
    const { pod, podClass } = item;
    const known = within(byClass, podClass, () => explainClass(item, pass));
    const { message, pools } = known;
    const isAsked = askedPod !== undefined && keyOf(pod) === askedPod;
    return { pod, message, pools, ...(isAsked ? { nodes: nodesRefusing(item, pass) } : {}) };
  });
}

function explainClass(
  { pod, podClass }: QueuedPod,
  pass: Explained,
): Omit<UnschedulablePod, "pod"> {
  const variants = hardestVariants(podClass, pass);
  const pools = pass.templates.map((template) => {
    const refusals = variants.map((variant) => refusal({ template, pod, podClass, variant, pass }));
    const { text, fits: _, ...rest } = furthestOf(refusals);
    const noun = vocabulary(template.pool.generation).poolNoun;
    const { space } = pass.context;
    const set = space.join(template.set, (variants[0] as Variant).set) ?? template.set;
    const overhead = JSON.stringify(formatResources(leastOverhead(template, space.get(set))));
    const owner = `${noun} "${template.pool.name}"`;
    const head = `incompatible with ${owner}, daemonset overhead=${overhead}`;
    return { poolId: template.pool.id, message: `${head}, ${text}`, ...rest };
  });
  const { withoutPools = NO_POOLS } = pass.context;
  return { pools, message: pools.map(({ message }) => message).join("; ") || withoutPools };
}

/** The smallest requests of daemons on a node of the pool with these requirements. */
function leastOverhead(template: Template, requirements: Requirements): Resources {
  return leastDaemonRequests(template, rowsUnder(template.table, template.usable, requirements));
}

/** The pod's rules without any preferences, one variant for each required node affinity term. Exported for tests. */
export function hardestVariants(
  podClass: PodClass,
  pass: Pick<Explained, "classes">,
): readonly Variant[] {
  const variants = [...variantsOf(pass.classes, podClass)];
  return variants.slice(-(variants[0] as Variant).wishes.required.length);
}

/** The refusal by the latest stage, together with the reasons of the other refusals. */
function furthestOf(refusals: readonly LaunchRefusal[]): LaunchRefusal {
  const latest = refusals.reduce((a, b) => (stageOf(a) > stageOf(b) ? a : b));
  const reasons = new Set(refusals.flatMap(reasonsOf));
  const otherwise = [...reasons].filter((reason) => latest.rejected[reason] === undefined).sort();
  return {
    ...latest,
    ...(otherwise.length === 0 ? {} : { otherwise }),
    ...(refusals.some(({ promised }) => promised) ? { promised: true } : {}),
  };
}

function stageOf(refusal: LaunchRefusal): number {
  const reached = [...reasonsOf(refusal), ...(refusal.promised ? (["promised"] as const) : [])];
  return Math.max(...reached.map((stage) => STAGES.indexOf(stage)));
}

function reasonsOf({ rejected }: LaunchRefusal): RejectionReason[] {
  return Object.keys(rejected) as RejectionReason[];
}

/**
 * The stage at which an empty new node of the pool refuses the pod. Undefined: none does, so other pods are the reason.
 * Exported for tests.
 */
export function refusalByNewNode(
  question: Question,
): Pick<LaunchRefusal, "text" | "rejected"> | undefined {
  const refused = refusal(question);
  return refused.fits === true ? undefined : refused;
}

/** Checks the stages in the order in which planning checks them. Returns the first refusal. */
function refusal(question: Question): LaunchRefusal {
  const { template, podClass, variant, pass } = question;
  const { space } = pass.context;
  const { generation, name } = template.pool;
  if (hasNoType(template)) {
    const { table, set } = template;
    const requirements = space.get(set);
    const why = whyNotOffered(table, podClass.requests, { set, requirements });
    const ofOffers = why === undefined ? {} : { why };
    return { text: NO_POOLS, ...ofOffers, rejected: { noInstanceTypes: 1 } };
  }
  const all = countTypes(template.table, template.usable);
  if (template.limitsLeft.exhausted) {
    const noun = vocabulary(generation).poolNoun;
    const text = `node limits have been exhausted for ${noun}: "${name}"`;
    const why = `its limit is reached: spec.limits.nodes is ${template.pool.limits["nodes"]}`;
    return { text, why, rejected: { limits: all } };
  }
  const refused = admissionRefusal(template, variant, space);
  if (refused !== undefined) {
    const why = defaultPoolText(question.podClass.sample.spec);
    const isByPool = why !== undefined && refused.stage === "requirements";
    return { ...admissionText(refused, all), ...(isByPool ? { why } : {}) };
  }
  const set = admittedSet(template, variant, space);
  assert(set !== undefined, "a pod that no stage refuses is admitted");
  return byTypes(question, set);
}

/** The message for a refusal by taints, host name or labels. `all`: the number of the pool's instance types. */
function admissionText(refused: AdmissionRefusal, all: number): LaunchRefusal {
  switch (refused.stage) {
    case "taints": {
      const text = `did not tolerate taint (taint=${formatTaint(refused.taint)})`;
      return { text, rejected: { taints: all } };
    }
    case "hostname": {
      const text = "incompatible requirements, a new node cannot have the host name asked for";
      return { text, rejected: { requirements: all } };
    }
    case "requirements": {
      const text = `incompatible requirements, ${conflictsText(refused.conflicts)}`;
      return { text, rejected: { requirements: all } };
    }
  }
}

function conflictsText(conflicts: readonly Conflict[]): string {
  return conflicts.map(({ text }) => text).join("; ");
}

/** Finds the reason why no instance type of the pool takes the pod, although the pool's labels and taints fit. */
function byTypes({ template, pod, podClass, variant, pass }: Question, set: SetId): LaunchRefusal {
  const { space, volumes } = pass.context;
  const { table } = template;
  const among = rowsUnder(table, template.usable, space.get(set));
  const filtered = filterTypes(template, podClass.requests, set, among);
  if (filtered.text !== undefined) {
    const requirements = space.get(set);
    const text = tupleText(filtered.text, template, podClass, requirements);
    const why = whyNotOffered(table, podClass.requests, { set, requirements });
    return { text, ...(why === undefined ? {} : { why }), rejected: filtered.rejected };
  }
  const fell = (known: Rejected, reason: RejectionReason, before: Bits, left: Bits) =>
    withFallen(table, known, reason, [before, left]);
  const fitting = filtered.left;
  const within = intersectionOf(fitting, template.limitsLeft.within);
  let rejected = fell(filtered.rejected, "limits", fitting, within);
  if (isEmptyBits(within)) {
    const noun = vocabulary(template.pool.generation).poolNoun;
    const text = `all available instance types exceed limits for ${noun}: "${template.pool.name}"`;
    return { text, why: limitsText(template, fitting, pass.claims.size > 0), rejected };
  }
  const free = withFreePorts(template, podClass.ports, within);
  rejected = fell(rejected, "hostPorts", within, free);
  if (isEmptyBits(free)) {
    const text = "host ports are held by daemons of every instance type";
    const asked = podClass.ports.map(({ port }) => port).join(", ");
    const why = `daemons hold a host port of it (${asked}) on every instance type`;
    return { text, why, rejected };
  }
  const reached = reachingVolumes(template, podClass, space, set, free);
  rejected = fell(rejected, "volumes", free, reached.left);
  if (reached.refused !== undefined) return { ...reached.refused, rejected };
  const attaching = withSlots(template, volumes.usage(pod), reached.left);
  rejected = fell(rejected, "volumes", reached.left, attaching);
  if (isEmptyBits(attaching)) {
    const text = "would exceed volume limit of every instance type";
    return { text, why: "no instance type that would do attaches as many volumes", rejected };
  }
  const places = volumePlaces(set, podClass, space).filter((one) =>
    haveCommonBits(attaching, table.compatible(one)),
  );
  const needs = podClass.claimsDevices ? pass.context.devices?.needsOf(pod) : undefined;
  return byRules(template, variant, pass, { set, places, types: attaching, rejected, needs });
}

/** The types that can be launched where the pod's volumes can be reached. If there are none, also the reason. */
function reachingVolumes(
  template: Template,
  podClass: PodClass,
  space: RequirementSpace,
  set: SetId,
  types: Bits,
): { readonly left: Bits; readonly refused?: Omit<LaunchRefusal, "rejected"> } {
  const volumes = podClass.volumeSets;
  if (volumes.length === 0) return { left: types };
  const left = noBits(template.table.size);
  const texts: string[] = [];
  for (const one of volumes) {
    const joined = space.join(set, one);
    if (joined === undefined) {
      const conflicts = space.conflicts(set, space.get(one));
      texts.push(`incompatible volume requirements, ${conflictsText(conflicts)}`);
      continue;
    }
    const filtered = filterTypes(template, podClass.requests, joined, types);
    uniteBits(left, filtered.left);
    if (filtered.text !== undefined)
      texts.push(tupleText(filtered.text, template, podClass, space.get(joined)));
  }
  if (!isEmptyBits(left)) return { left };
  const places = volumes.map((one) => space.get(one)).join(", or ");
  const why = `no node of the pool can reach its volumes, which are at ${places}`;
  return { left, refused: { text: texts.join("; "), why } };
}

interface Left {
  readonly set: SetId;
  /** The requirements, narrowed to each place where the pod's volumes can be reached. */
  readonly places: readonly SetId[];
  readonly types: Bits;
  readonly rejected: Rejected;
  /** The devices that the pod claims. Absent: it claims none. */
  readonly needs?: DeviceNeeds | undefined;
}

/**
 * Finds the topology rule that refuses the pod although these types fit, or else checks devices, reservations and
 * minValues.
 */
function byRules(
  template: Template,
  variant: Variant,
  { context, claims }: Explained,
  { set, places, types, rejected, needs }: Left,
): LaunchRefusal {
  const { space, topology } = context;
  // The id of the next planned node. No pods are counted for this id, so rules about hosts see an empty host.
  const place = new NewNodeClaim(claims.size, template, types, context);
  const none = noBits(template.table.size);
  const options = ({ group, self }: TopologyRule, at: SetId, among: Bits) => {
    place.set = at;
    place.types = among;
    return topology.options(group, place, self, variant.strict.get(group.key));
  };
  for (const rule of variant.rules) {
    if (places.some((one) => options(rule, one, types).length > 0)) continue;
    const { group } = rule;
    const text = topology.explain(group, place, variant.strict.get(group.key));
    const isByVolumes = places[0] !== set && options(rule, set, types).length > 0;
    const where = places
      .map((one) => formatRequirement(space.get(one).get(group.key)))
      .join(", or ");
    const isFirstElsewhere = isByVolumes && rule.self && group.type === "affinity";
    const why = [
      topologyText(group, topology.counted(group)),
      ...(isByVolumes ? [`its volumes are at ${where}`] : []),
      ...(isFirstElsewhere ? [FIRST_ELSEWHERE] : []),
    ].join("; ");
    return { text, why, rejected: withFallen(template.table, rejected, "topology", [types, none]) };
  }
  const choices: DomainChoice[] = [];
  const isAboutTypes = space.get(set).withMinValues().length > 0;
  const most = template.table.offerings.hasReserved || isAboutTypes ? MOST_CHOICES : 1;
  const gather = (at: SetId, among: Bits, [rule, ...rest]: readonly TopologyRule[]): void => {
    if (rule === undefined) {
      choices.push({ set: at, types: among });
      return;
    }
    for (const values of options(rule, at, among)) {
      if (choices.length >= most) return;
      const narrowed = values === undefined ? at : space.narrow(at, rule.group.key, values);
      if (narrowed === undefined) continue;
      const left = intersectionOf(among, template.table.compatible(narrowed));
      if (!isEmptyBits(left)) gather(narrowed, left, rest);
    }
  };
  for (const one of places) gather(one, types, variant.rules);
  const lacking = needs && lackOfDevices(needs, { template, choices }, context);
  if (lacking !== undefined)
    return { ...lacking, rejected: withFallen(template.table, rejected, "devices", [types, none]) };
  const refused = byLaunch(choices, template, context, { types, rejected });
  return choices.some((choice) => canLaunch(choice, template, context))
    ? { ...refused, fits: true }
    : refused;
}

/** Upstream's sentence. Before v1, it begins with the requests and requirements of the pod. */
function tupleText(
  text: string,
  template: Template,
  podClass: PodClass,
  requirements: Requirements,
): string {
  const resources = resourcesText(template, podClass, requirements);
  const shown = requirements.without(simulatedKeys(template.pool));
  return template.pool.generation === "v1"
    ? `${text}, requirements=${shown}, resources=${resources}`
    : `no instance type satisfied resources ${resources} and requirements ${shown} (${text})`;
}

/** Says how much is left of each limit that all of these types exceed. `isCharged`: nodes of the plan count, too. */
function limitsText({ table, limitsLeft }: Template, types: Bits, isCharged: boolean): string {
  const short = Object.keys(limitsLeft.remaining)
    .sort()
    .flatMap((name) => {
      const left = Math.max(0, limitsLeft.remaining[name] as number);
      const least = Math.min(
        ...bitIndices(types).map((index) => table.types[index]?.capacity[name] ?? 0),
      );
      if (least <= left) return [];
      const [has, needs] = [left, least].map((amount) => formatResource(name, amount));
      return [`${has} of ${name} is left, the smallest type that would do has ${needs}`];
    });
  const why = `its limits leave no room for a node: ${short.join("; ") || "each type is beyond one"}`;
  return isCharged ? `${why} (a planned node counts as the cheapest type it may become)` : why;
}

/** kube-scheduler lets a pod be the first of its affinity only while the affinity selects no pod that has a node. */
const FIRST_ELSEWHERE =
  "it can go there only as the first: scale the others to 0, and up again when it runs";

/** The most domains that a message lists with their counts. */
const NAMED_DOMAINS = 10;

function topologyText(
  { type, inverse, key, maxSkew, minDomains }: TopologyGroup,
  counts: readonly [domain: string, pods: number][],
): string {
  const domains = [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).slice(0, NAMED_DOMAINS);
  const shown = domains.map(([domain, pods]) => `${domain} ${pods}`).join(", ");
  const more = counts.length > NAMED_DOMAINS ? ", …" : "";
  const none = key === HOSTNAME_LABEL_KEY ? "no host has such pods" : "no node has this label";
  const there = counts.length === 0 ? none : `pods there: ${shown}${more}`;
  if (type === "spread") {
    const rule =
      minDomains > 1 ? `maxSkew ${maxSkew}, minDomains ${minDomains}` : `maxSkew ${maxSkew}`;
    return `its topology spread over ${key} (${rule}) allows no further pod; ${there}`;
  }
  if (type === "affinity" && counts.every(([, pods]) => pods === 0))
    return `no pod that its affinity over ${key} looks for runs or is planned anywhere`;
  if (type === "affinity")
    return `its affinity over ${key} looks for pods that are where it cannot go itself; ${there}`;
  return inverse
    ? `pods that are there keep it away by their anti-affinity over ${key}; ${there}`
    : `its anti-affinity over ${key} keeps it from pods that are everywhere it could go; ${there}`;
}

function resourcesText(template: Template, podClass: PodClass, requirements: Requirements): string {
  const total = addResources(podClass.requests, leastOverhead(template, requirements));
  return JSON.stringify(formatResources(total));
}
