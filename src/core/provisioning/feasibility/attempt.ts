/**
 * An attempt to place one pod on existing nodes. Meanwhile no other pod is placed. So a topology rule over zones has
 * the same result for all nodes of a zone, and the result is cached.
 */
import type { Pod } from "../../../apis/core/pod.ts";
import { HOSTNAME_LABEL_KEY } from "../../../apis/karpenter/labels.ts";
import type { RequirementSpace } from "../../scheduling/requirement-space.ts";
import type { VolumeIndex } from "../../scheduling/volumes.ts";
import type { PodClass, Variant } from "../batch/pod-class.ts";
import type { DeviceAccess } from "../nodes/device-access.ts";
import type { Topology } from "../topology/topology.ts";
import { isAllowedIn, type Place, type Rule } from "../topology/topology-group.ts";

/** Results are cached only after this number of nodes was checked. Most pods are placed before that. */
const ANSWERS_NOT_KEPT = 4;

interface Host extends Place {
  /** The value of the node's label `key`. Undefined: the node does not have the label. */
  domain(key: string): string | undefined;
}

export class Attempt {
  readonly space: RequirementSpace;
  readonly volumes: VolumeIndex;
  readonly devices: DeviceAccess | undefined;
  readonly #topology: Topology;
  /** The pod that is tried. {@link begin} sets it, and also `podClass` and `variant`. */
  pod!: Pod;
  podClass!: PodClass;
  variant!: Variant;
  #asked = 0;
  /** Cached results: whether a rule allows the pod in a domain. */
  #answers: Map<Rule, Map<string, boolean>> | undefined;

  constructor(context: {
    readonly space: RequirementSpace;
    readonly topology: Topology;
    readonly volumes: VolumeIndex;
    readonly devices?: DeviceAccess | undefined;
  }) {
    this.devices = context.devices;
    this.space = context.space;
    this.volumes = context.volumes;
    this.#topology = context.topology;
  }

  /** Begins the attempt for another pod, and clears the cached results. */
  begin(pod: Pod, podClass: PodClass, variant: Variant): this {
    this.pod = pod;
    this.podClass = podClass;
    this.variant = variant;
    this.#asked = 0;
    this.#answers = undefined;
    return this;
  }

  /** The first topology rule that does not allow the node. Rules about hosts come first: their refusal may be final. */
  brokenRule(node: Host): Rule | undefined {
    const { hostRules, narrowingRules } = this.variant;
    for (const rule of hostRules) if (!this.#allows(rule, node)) return rule;
    for (const rule of narrowingRules) if (!this.#allows(rule, node)) return rule;
    return undefined;
  }

  #allows(rule: Rule, node: Host): boolean {
    const { group, self } = rule;
    const domain = group.key === HOSTNAME_LABEL_KEY ? undefined : node.domain(group.key);
    let answers = this.#answers?.get(rule);
    const known = domain === undefined ? undefined : answers?.get(domain);
    if (known !== undefined) return known;
    const podDomains = this.variant.strict.get(group.key);
    const allowed =
      domain === undefined
        ? this.#topology.options(group, node, self, podDomains).length > 0
        : isAllowedIn(group, domain, self, podDomains);
    if (domain === undefined || ++this.#asked <= ANSWERS_NOT_KEPT) return allowed;
    answers ??= new Map();
    answers.set(domain, allowed);
    this.#answers ??= new Map();
    this.#answers.set(rule, answers);
    return allowed;
  }
}
