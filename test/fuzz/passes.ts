/**
 * Several passes over one batch, as the provisioner makes them. The claims of the first pass are launched, registered
 * and initialized, and meanwhile each pass plans the pending pods. A real `Placements` remembers earlier passes.
 */
import type { Node } from "../../src/apis/core/node.ts";
import type { Pod } from "../../src/apis/core/pod.ts";
import { toClaim } from "../../src/apis/hub/claim.ts";
import { keyOf } from "../../src/apis/meta.ts";
import { formatResources, subtractResources } from "../../src/apis/resources.ts";
import { planBatch } from "../../src/core/planner/plan-batch.ts";
import { DEFAULT_PLANNER } from "../../src/core/planner/planner-options.ts";
import { claimManifest } from "../../src/core/provisioning/manifest.ts";
import { supposedLabels } from "../../src/core/provisioning/nodes/unlaunched.ts";
import type { PlannedClaim, SchedulingResult } from "../../src/core/provisioning/result.ts";
import type { SchedulingInput } from "../../src/core/provisioning/scheduling-input.ts";
import { type NodeView, nodeView } from "../../src/core/state/node-view.ts";
import { Placements } from "../../src/core/state/placements.ts";

/** Stages of the claims of the first pass. */
export const STAGES = ["launched", "registered", "initialized"] as const;
export type Stage = (typeof STAGES)[number];

export class Passes {
  readonly placements = new Placements();
  readonly first: SchedulingResult;
  readonly #input: SchedulingInput;
  readonly #claims: readonly { readonly name: string; readonly plan: PlannedClaim }[];
  /** Key of a pod → name of its node. */
  readonly #bound = new Map<string, string>();

  constructor(input: SchedulingInput) {
    this.#input = input;
    this.first = planBatch(input, DEFAULT_PLANNER);
    this.#claims = this.first.newClaims.map((plan, index) => ({
      name: claimManifest(plan, `x${index}`).metadata.name,
      plan,
    }));
    this.#remember(this.first);
    for (const { name, plan } of this.#claims) this.placements.plan(name, plan.pods, input.nowMs);
  }

  /** Plans the pending pods. `forgetful`: without memory of earlier passes. */
  pass(stage: Stage, forgetful = false): SchedulingResult {
    const nodes = this.nodes(stage);
    const { nowMs } = this.#input;
    const pods = this.#input.pods.filter((pod) => !this.#bound.has(keyOf(pod)));
    const sticky = forgetful ? new Map() : this.placements.assign(pods, nowMs);
    const result = planBatch({ ...this.#input, nodes, pods, sticky }, DEFAULT_PLANNER);
    if (!forgetful) this.#remember(result);
    return result;
  }

  /** All nodes, with the pods that are bound to them. */
  nodes(stage: Stage): readonly NodeView[] {
    const fresh = this.#claims.map(({ name, plan }) => this.#viewOf(name, plan, stage));
    const others = this.#input.nodes.map((view) => this.#withBound(view));
    return [...others, ...fresh].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Binds the pod to this node, as kube-scheduler would, if it fits there. */
  bind(pod: Pod, { name }: NodeView): boolean {
    const view = this.nodes("initialized").find((one) => one.name === name) as NodeView;
    const alone = { ...this.#input, pods: [pod], pools: [], nodes: this.nodes("initialized") };
    const closed = alone.nodes.map((one) => (one === view ? one : { ...one, deleting: true }));
    const { existing } = planBatch({ ...alone, nodes: closed }, DEFAULT_PLANNER);
    if (existing.length === 0) return false;
    this.#bound.set(keyOf(pod), name);
    this.placements.bound(pod, () => [name, view.claim?.metadata.name ?? name]);
    return true;
  }

  #remember({ existing }: SchedulingResult): void {
    for (const { nodeName, pods } of existing)
      this.placements.plan(claimNameOf(nodeName), pods, this.#input.nowMs);
  }

  #podsOn(name: string): readonly Pod[] {
    return this.#input.pods
      .filter((pod) => this.#bound.get(keyOf(pod)) === name)
      .map((pod) => ({ ...pod, spec: { ...pod.spec, nodeName: name } }));
  }

  #withBound(view: NodeView): NodeView {
    const more = this.#podsOn(view.name);
    if (more.length === 0) return view;
    const { node, claim, deleting: marked, nominatedUntilMs } = view;
    return nodeView({ node, claim, pods: [...view.pods, ...more], marked, nominatedUntilMs });
  }

  /** The node is launched as the cheapest machine that the claim allows. */
  #viewOf(name: string, plan: PlannedClaim, stage: Stage): NodeView {
    const manifest = toClaim(claimManifest(plan, name.slice(name.lastIndexOf("x"))));
    const type = plan.instanceTypes.find((one) => one.name === plan.cheapest.instanceType);
    const labels = { ...supposedLabels(plan, new Set()), ...manifest.metadata.labels };
    const amounts = {
      capacity: formatResources(type?.capacity ?? {}),
      allocatable: formatResources(
        type === undefined ? {} : subtractResources(type.capacity, type.overhead),
      ),
    };
    const claim = {
      ...manifest,
      metadata: { ...manifest.metadata, name, labels },
      status: { providerID: `test://${name}`, ...amounts },
    };
    const facts = { claim, marked: false, nominatedUntilMs: 0 };
    if (stage === "launched") return nodeView({ ...facts, node: undefined, pods: [] });
    const node: Node = {
      metadata: {
        name: nodeNameOf(name),
        labels: {
          ...labels,
          "kubernetes.io/hostname": nodeNameOf(name),
          "karpenter.sh/registered": "true",
          ...(stage === "initialized" ? { "karpenter.sh/initialized": "true" } : {}),
        },
      },
      spec: { providerID: `test://${name}`, taints: claim.spec.taints ?? [] },
      status: amounts,
    };
    return nodeView({ ...facts, node, pods: this.#podsOn(nodeNameOf(name)) });
  }
}

const NODE_PREFIX = "node-of-";

function nodeNameOf(claimName: string): string {
  return `${NODE_PREFIX}${claimName}`;
}

function claimNameOf(nodeName: string): string {
  return nodeName.startsWith(NODE_PREFIX) ? nodeName.slice(NODE_PREFIX.length) : nodeName;
}
