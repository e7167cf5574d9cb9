/** Checks spread, affinity and anti-affinity after all pods are where the plan puts them. */
import { type Json, repelledBy, selects, wantsNode } from "./kubernetes.ts";
import { domainsOf, HOSTNAME, nodeNameOf, outcomesOf, type Place } from "./places.ts";
import type { Facts } from "./validate.ts";

interface Placed {
  readonly pod: Json;
  readonly place: Place;
  readonly isNew: boolean;
}

export function neighbourFaults(facts: Facts): string[] {
  const placed = everyoneIn(facts);
  const crowds = new Crowds(placed, facts);
  return [
    ...placed.flatMap((one) => apartFaults(one, crowds)),
    ...togetherFaults(placed, crowds, facts),
    ...spreadFaults(placed, facts),
  ];
}

/** Pods that a term matches, by domain. They are found once for all pods with the same term. */
class Crowds {
  readonly #placed: readonly Placed[];
  readonly #facts: Facts;
  readonly #byText = new Map<string, Crowd>();

  constructor(placed: readonly Placed[], facts: Facts) {
    this.#placed = placed;
    this.#facts = facts;
  }

  of(term: Json, owner: Json): Crowd {
    const byKeys = term.matchLabelKeys ?? term.mismatchLabelKeys;
    const own = byKeys === undefined ? undefined : owner.metadata.labels;
    const text = JSON.stringify([term, namespaceOf(owner), own]);
    let crowd = this.#byText.get(text);
    if (crowd !== undefined) return crowd;
    const all = this.#placed.filter(({ pod }) => concerns(term, owner, pod, this.#facts));
    const perhaps = new Map<string, Placed[]>();
    const surely = new Map<string, Placed[]>();
    for (const one of all) {
      const domains = domainsOf(one.place, term.topologyKey);
      for (const domain of domains) {
        push(perhaps, domain, one);
        if (domains.size === 1) push(surely, domain, one);
      }
    }
    const places = new Map<Place, Placed[]>();
    for (const one of all) push(places, one.place, one);
    crowd = { text, all, perhaps, surely, places };
    this.#byText.set(text, crowd);
    return crowd;
  }
}

interface Crowd {
  readonly text: string;
  readonly all: readonly Placed[];
  /** Domain → pods whose node may be there, and pods whose node cannot be elsewhere. */
  readonly perhaps: ReadonlyMap<string, readonly Placed[]>;
  readonly surely: ReadonlyMap<string, readonly Placed[]>;
  readonly places: ReadonlyMap<Place, readonly Placed[]>;
}

function push<K>(map: Map<K, Placed[]>, key: K, one: Placed): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [one]);
  else list.push(one);
}

function everyoneIn(facts: Facts): Placed[] {
  return facts.places.flatMap((place) => [
    ...place.running
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map((pod) => ({ pod, place, isNew: false })),
    ...place.pods.map((pod) => ({ pod, place, isNew: true })),
  ]);
}

const namespaceOf = ({ metadata }: Json): string => metadata.namespace ?? "default";
const nameOf = (pod: Json): string => `${namespaceOf(pod)}/${pod.metadata.name}`;

/** Whether a term of `owner` matches `other`. */
export function concerns(
  term: Json,
  owner: Json,
  other: Json,
  { namespaces }: Pick<Facts, "namespaces">,
): boolean {
  const { namespaceSelector } = term;
  let listed: string[] = term.namespaces ?? [];
  if (namespaceSelector !== undefined) {
    listed = [
      ...listed,
      ...namespaces
        .filter(({ metadata }) =>
          selects(namespaceSelector, {
            "kubernetes.io/metadata.name": metadata.name,
            ...metadata.labels,
          }),
        )
        .map(({ metadata }) => metadata.name),
    ];
    if (Object.keys(namespaceSelector).length === 0) listed = [namespaceOf(other)];
  } else if (listed.length === 0) listed = [namespaceOf(owner)];
  if (!listed.includes(namespaceOf(other))) return false;
  const labels = other.metadata.labels ?? {};
  const own = owner.metadata.labels ?? {};
  const same = (term.matchLabelKeys ?? []).every(
    (key: string) => own[key] === undefined || labels[key] === own[key],
  );
  const different = (term.mismatchLabelKeys ?? []).every(
    (key: string) => own[key] === undefined || labels[key] !== own[key],
  );
  return same && different && selects(term.labelSelector, labels);
}

const required = (kind: string, { spec }: Json): readonly Json[] =>
  spec.affinity?.[kind]?.requiredDuringSchedulingIgnoredDuringExecution ?? [];

/** Anti-affinity works in both directions: that of the new pod, and that of pods in its domain. */
function apartFaults({ pod, place, isNew }: Placed, crowds: Crowds): string[] {
  return required("podAntiAffinity", pod).flatMap((term) => {
    const { perhaps } = crowds.of(term, pod);
    const near = [...domainsOf(place, term.topologyKey)]
      .flatMap(
        (domain) =>
          perhaps.get(domain)?.find((one) => one.pod !== pod && (isNew || one.isNew)) ?? [],
      )
      .at(0);
    return near === undefined
      ? []
      : [
          `${nameOf(pod)} on ${place.name} keeps off ${nameOf(near.pod)} on ${near.place.name} by ${term.topologyKey}`,
        ];
  });
}

/** Whether the anti-affinity of another pod of the cluster or the plan matches this pod, wherever that pod is. */
export function isKeptOff(pod: Json, facts: Facts): boolean {
  return facts.places.some(({ running, pods }) =>
    [...running, ...pods].some(
      (other) =>
        other !== pod &&
        required("podAntiAffinity", other).some((term) => concerns(term, other, pod, facts)),
    ),
  );
}

/**
 * Checks that each pod is near a pod that its affinity names. If the affinity matches the pod itself, the pod may be
 * the first of its group.
 */
function togetherFaults(placed: readonly Placed[], crowds: Crowds, facts: Facts): string[] {
  const faults: string[] = [];
  const firsts = new Map<string, string>();
  for (const { pod, place, isNew } of placed) {
    if (!isNew) continue;
    const isOther = (one: Placed) => one.pod !== pod;
    for (const term of required("podAffinity", pod)) {
      const domains = domainsOf(place, term.topologyKey);
      const { text, all, surely, places } = crowds.of(term, pod);
      // Whether a matching pod is in every possible domain of the node.
      const near =
        places.get(place)?.some(isOther) === true ||
        (domains.size > 0 && [...domains].every((one) => surely.get(one)?.some(isOther) === true));
      if (near) continue;
      const isFirst =
        concerns(term, pod, pod, facts) && !firsts.has(text) && all.every((one) => one.isNew);
      if (isFirst) firsts.set(text, place.name);
      else
        faults.push(
          `${nameOf(pod)} on ${place.name} is near nobody it wants by ${term.topologyKey}`,
        );
    }
  }
  return faults;
}

/** Whether a spread of `owner` counts `other`. */
export function counts(rule: Json, owner: Json, other: Json): boolean {
  return (
    namespaceOf(other) === namespaceOf(owner) &&
    selects(rule.labelSelector, other.metadata.labels ?? {}) &&
    (rule.matchLabelKeys ?? []).every(
      (key: string) => other.metadata.labels?.[key] === owner.metadata.labels?.[key],
    )
  );
}

/** Checks that no domain in which this batch placed pods exceeds the emptiest one by more than maxSkew. */
function spreadFaults(placed: readonly Placed[], facts: Facts): string[] {
  const faults = new Set<string>();
  /**
   * For each group that was checked: whether its balance can be judged. It cannot if pods with other rules
   * unbalance the group.
   */
  const known = new Map<string, boolean>();
  for (const { pod, isNew, place } of placed) {
    if (!isNew) continue;
    for (const rule of pod.spec.topologySpreadConstraints ?? []) {
      if (rule.whenUnsatisfiable !== "DoNotSchedule" || !counts(rule, pod, pod)) continue;
      const filter = [pod.spec.nodeSelector, pod.spec.affinity?.nodeAffinity, pod.spec.tolerations];
      const group = JSON.stringify([rule, namespaceOf(pod), pod.metadata.labels, ...filter]);
      if (!known.has(group)) known.set(group, noteUneven(rule, pod, placed, facts, faults));
      const isSettled = domainsOf(place, rule.topologyKey).size === 1;
      if (known.get(group) === true && !isSettled && rule.topologyKey !== HOSTNAME)
        faults.add(`${nameOf(pod)} on ${place.name}: ${rule.topologyKey} is not settled`);
    }
  }
  return [...faults];
}

/** Notes the domains that exceed maxSkew. False: the rule counts pods that do not have the rule themselves. */
function noteUneven(
  rule: Json,
  pod: Json,
  placed: readonly Placed[],
  facts: Facts,
  faults: Set<string>,
): boolean {
  const filterOf = ({ spec }: Json) => [
    spec.nodeSelector,
    spec.affinity?.nodeAffinity,
    spec.tolerations,
  ];
  const text = JSON.stringify([rule, filterOf(pod)]);
  const isAlike = (other: Json) =>
    (other.spec.topologySpreadConstraints ?? []).some(
      (one: Json) => JSON.stringify([one, filterOf(other)]) === text,
    );
  // Pods with another rule or without one may be placed later and unbalance it.
  const everyone = placed.filter((one) => counts(rule, pod, one.pod));
  if (!everyone.every((one) => !one.isNew || isAlike(one.pod))) return false;
  const domains = universe(rule, pod, facts, !hasAlternatives(pod));
  const { tally, fresh, least } = tallyOf(rule, pod, everyone, domains);
  for (const domain of fresh) {
    const ahead = (tally.get(domain) as number) - least;
    if (ahead > rule.maxSkew) {
      faults.add(
        `${rule.topologyKey}: ${domain} is ${ahead} ahead, maxSkew is ${rule.maxSkew} (${nameOf(pod)})`,
      );
    }
  }
  return true;
}

/** Pods by domain, the domains in which this batch placed pods, and the count of the emptiest domain. */
function tallyOf(rule: Json, pod: Json, everyone: readonly Placed[], domains: ReadonlySet<string>) {
  const tally = new Map<string, number>();
  for (const domain of domains) tally.set(domain, 0);
  const fresh = new Set<string>();
  for (const one of everyone) {
    if (!isCountedOver(rule, pod, one.place)) continue;
    const [domain, ...more] = domainsOf(one.place, rule.topologyKey);
    if (domain === undefined || more.length > 0) continue;
    tally.set(domain, (tally.get(domain) ?? 0) + 1);
    if (one.isNew) fresh.add(domain);
  }
  // For hosts, the emptiest domain has no pods, because a new host is always possible. The same holds with fewer
  // domains than minDomains.
  const least =
    rule.topologyKey === HOSTNAME || tally.size < (rule.minDomains ?? 0)
      ? 0
      : Math.min(...tally.values());
  return { tally, fresh, least };
}

/** Whether the pod's domain exceeds maxSkew of one of its spreads, in any order of placement. */
export function isAhead(pod: Json, facts: Facts): boolean {
  const placed = everyoneIn(facts);
  const own = placed.find((one) => one.pod === pod);
  if (own === undefined) return false;
  return (pod.spec.topologySpreadConstraints ?? []).some((rule: Json) => {
    if (rule.whenUnsatisfiable !== "DoNotSchedule") return false;
    const everyone = placed.filter((one) => counts(rule, pod, one.pod));
    const { tally, least } = tallyOf(rule, pod, everyone, universe(rule, pod, facts, true));
    const [domain, ...more] = domainsOf(own.place, rule.topologyKey);
    if (domain === undefined || more.length > 0) return false;
    return (tally.get(domain) ?? 0) - least > rule.maxSkew;
  });
}

/**
 * Pods that this pod needs nearby by a rule that they have too, if all are in other domains. If they are placed first,
 * this pod is not the first of its kind.
 */
export function elsewhereOf(pod: Json, facts: Facts): readonly Json[] {
  const placed = everyoneIn(facts);
  const own = placed.find((one) => one.pod === pod);
  if (own === undefined) return [];
  const kind = JSON.stringify([namespaceOf(pod), pod.spec]);
  return required("podAffinity", pod).flatMap((term) => {
    const here = domainsOf(own.place, term.topologyKey);
    const others = placed.filter(
      (one) =>
        concerns(term, pod, one.pod, facts) &&
        JSON.stringify([namespaceOf(one.pod), one.pod.spec]) !== kind,
    );
    const areElsewhere = others.every(({ place }) => {
      const there = domainsOf(place, term.topologyKey);
      return there.size > 0 && ![...there].some((domain) => here.has(domain));
    });
    return areElsewhere && concerns(term, pod, pod, facts) ? others.map((one) => one.pod) : [];
  });
}

/** Domains in which a new node for the pod could be, and those of existing nodes that count. */
function universe(
  rule: Json,
  pod: Json,
  { pools, types, places }: Facts,
  ofPools: boolean,
): Set<string> {
  const found = new Set<string>();
  if (rule.topologyKey === HOSTNAME) return found;
  // The plan satisfies one of several terms, so domains of the other terms need no node.
  for (const pool of ofPools ? pools : []) {
    const taints: readonly Json[] = pool.spec.template.spec.taints ?? [];
    if (rule.nodeTaintsPolicy === "Honor" && repelledBy(taints, pod.spec) !== undefined) continue;
    for (const { labels } of outcomesOf(pool, [], [...types.values()])) {
      const domain = labels[rule.topologyKey];
      if (domain !== undefined && wantsNode(pod.spec, labels)) found.add(domain);
    }
  }
  for (const place of places) {
    if (place.claim !== undefined || !isCountedOver(rule, pod, place)) continue;
    for (const domain of domainsOf(place, rule.topologyKey)) found.add(domain);
  }
  return found;
}

export function hasAlternatives({ spec }: Json): boolean {
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return (required?.nodeSelectorTerms ?? []).length > 1;
}

function isCountedOver(rule: Json, pod: Json, place: Place): boolean {
  const { outcomes, taints } = place;
  if (rule.nodeTaintsPolicy === "Honor" && repelledBy(taints, pod.spec) !== undefined) return false;
  return (
    rule.nodeAffinityPolicy === "Ignore" ||
    outcomes.some(({ labels }) => wantsNode(pod.spec, labels, nodeNameOf(place)))
  );
}
