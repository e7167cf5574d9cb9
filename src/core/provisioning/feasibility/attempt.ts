/**
 * An attempt to place one pod on existing nodes. Meanwhile no other pod is placed. So a topology rule over zones has
 * the same result for all nodes of a zone, and the result is cached.
 */
import type { Pod } from "../../../apis/core/pod.ts";
import { HOSTNAME_LABEL_KEY } from "../../../apis/karpenter/labels.ts";
import type { PodClass, Variant } from "../batch/pod-class.ts";
import type { QueuedPod } from "../batch/queue.ts";
import type { PlanningContext } from "../nodes/trial.ts";
import { isAllowedIn, type NodePlace, type TopologyRule } from "../topology/topology-group.ts";

/** Results are cached only after this number of nodes was checked. Most pods are placed before that. */
const ANSWERS_NOT_KEPT = 4;

interface Host extends NodePlace {
  /** The value of the node's label `key`. Undefined: the node does not have the label. */
  domain(key: string): string | undefined;
}

/** A pod with the preferences that it still has. */
export interface TriedPod extends QueuedPod {
  readonly variant: Variant;
}

export class Attempt {
  readonly context: Pick<PlanningContext, "space" | "topology" | "volumes" | "devices">;
  readonly pod: Pod;
  readonly podClass: PodClass;
  readonly variant: Variant;
  #asked = 0;
  /** Cached results: whether a rule allows the pod in a domain. */
  #answers: Map<TopologyRule, Map<string, boolean>> | undefined;

  constructor(context: Attempt["context"], { pod, podClass, variant }: TriedPod) {
    this.context = context;
    this.pod = pod;
    this.podClass = podClass;
    this.variant = variant;
  }

  /** The first topology rule that does not allow the node. Rules about hosts come first: their refusal may be final. */
  brokenRule(node: Host): TopologyRule | undefined {
    const { hostRules, narrowingRules } = this.variant;
    for (const rule of hostRules) if (!this.#allows(rule, node)) return rule;
    for (const rule of narrowingRules) if (!this.#allows(rule, node)) return rule;
    return undefined;
  }

  #allows(rule: TopologyRule, node: Host): boolean {
    const { group, self } = rule;
    const domain = group.key === HOSTNAME_LABEL_KEY ? undefined : node.domain(group.key);
    let answers = this.#answers?.get(rule);
    const known = domain === undefined ? undefined : answers?.get(domain);
    if (known !== undefined) return known;
    const podDomains = this.variant.strict.get(group.key);
    const allowed =
      domain === undefined
        ? this.context.topology.options(group, node, self, podDomains).length > 0
        : isAllowedIn(group, domain, self, podDomains);
    if (domain === undefined || ++this.#asked <= ANSWERS_NOT_KEPT) return allowed;
    answers ??= new Map();
    answers.set(domain, allowed);
    this.#answers ??= new Map();
    this.#answers.set(rule, answers);
    return allowed;
  }
}
