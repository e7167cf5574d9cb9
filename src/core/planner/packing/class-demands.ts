/** Groups pods by class (pods that are equal for planning), and finds the NodePool for which each class is packed. */
import { within } from "../../../base/within.ts";
import { type PodClass, type Variant, variantsOf } from "../../provisioning/batch/pod-class.ts";
import type { QueuedPod } from "../../provisioning/batch/queue.ts";
import { admittedSet } from "../../provisioning/feasibility/admission.ts";
import type { Pass } from "../../provisioning/place.ts";
import type { Template } from "../../provisioning/pools/pool-template.ts";
import { rankOf } from "../../provisioning/pools/rank.ts";
import type { SetId } from "../../scheduling/requirement-space.ts";
import { PoolPriceFloors } from "./pool-price-floors.ts";

/** Pods of one class. If the class is divided over zones, only its pods for one zone. */
export interface ClassPods {
  readonly podClass: PodClass;
  /** The class without those preferences that no NodePool's nodes can meet. */
  readonly variant: Variant;
  /** The pods that are not placed yet. A pod is removed when it is placed. */
  readonly items: QueuedPod[];
  /** A weighted number of rules between pods. Higher means harder to place. */
  readonly hardness: number;
}

/** One value of a topology label, such as one zone. */
export interface Domain {
  readonly key: string;
  readonly value: string;
}

/** Pods of one class, and the nodes that they are packed for. */
export interface ClassDemand {
  readonly template: Template;
  /** The requirements of the NodePool and of the pods together. */
  readonly set: SetId;
  /** The domain that all of these pods go to. Absent: topology spread does not divide the class over domains. */
  readonly domain?: Domain;
  readonly pods: ClassPods;
}

type NodePoolAndSet = Pick<ClassDemand, "template" | "set">;

export class ClassDemands {
  /** The demand of each class that is packed, in the order of their first pods. */
  readonly demands: ClassDemand[] = [];
  /** Pods that are not packed. The greedy rules place them. */
  readonly others: QueuedPod[] = [];
  readonly #pass: Pass;
  readonly #byClass = new Map<PodClass, ClassDemand | "notPacked">();
  /** The NodePool and the requirements for each variant (a class without some preferences). */
  readonly #byVariant = new Map<Variant, NodePoolAndSet | "noPool">();
  /** Lower bounds on prices, to choose among NodePools of equal rank (weight). Undefined: all ranks differ. */
  readonly #floors: PoolPriceFloors | undefined;

  constructor(pass: Pass) {
    this.#pass = pass;
    const ranks = new Set(pass.templates.map(({ pool }) => rankOf(pool)));
    const isRanked = ranks.size === pass.templates.length;
    this.#floors = isRanked ? undefined : new PoolPriceFloors(pass.context.space);
  }

  add(item: QueuedPod): void {
    const { podClass } = item;
    const demand = within(this.#byClass, podClass, () => {
      const made = this.#demandOf(podClass) ?? "notPacked";
      if (made !== "notPacked") this.demands.push(made);
      return made;
    });
    (demand === "notPacked" ? this.others : demand.pods.items).push(item);
  }

  /** All classes of the batch, packed or not. */
  podClasses(): Iterable<PodClass> {
    return this.#byClass.keys();
  }

  /**
   * The NodePool and the requirements for which the class is packed. Its pods are added later. Undefined: the class is
   * not packed.
   */
  #demandOf(podClass: PodClass): ClassDemand | undefined {
    // Packings ignore devices of ResourceClaims, so the greedy rules place pods that claim devices.
    if (podClass.claimsDevices) return undefined;
    for (const variant of variantsOf(this.#pass.classes, podClass)) {
      if (variant.hostname !== undefined || mustShareHost(variant)) return undefined;
      const found = within(
        this.#byVariant,
        variant,
        () => this.#poolFor(podClass, variant) ?? "noPool",
      );
      if (found === "noPool") continue;
      const hardness = hardnessOf(podClass, variant);
      const { template, set } = found;
      return { template, set, pods: { podClass, variant, items: [], hardness } };
    }
    return undefined;
  }

  /**
   * The NodePool of the highest rank that can launch a node for the pod. Among equal ranks, the cheapest for the pod.
   */
  #poolFor({ requests }: PodClass, variant: Variant): NodePoolAndSet | undefined {
    const { templates, context } = this.#pass;
    let best: NodePoolAndSet | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const template of templates) {
      if (best !== undefined && rankOf(template.pool) < rankOf(best.template.pool)) break;
      const { limitsLeft, table } = template;
      if (limitsLeft.exhausted) continue;
      const set = admittedSet(template, variant, context.space);
      if (set === undefined || !table.hasFitting(limitsLeft.within, set, requests)) continue;
      if (this.#floors === undefined) return { template, set };
      const price = this.#floors.of(template, set, requests);
      if (price >= least) continue;
      best = { template, set };
      least = price;
    }
    return best;
  }
}

/** Pods that must share a host go through the greedy rules, which open the host and keep them together. */
function mustShareHost({ hostRules }: Variant): boolean {
  return hostRules.some(({ group }) => group.type === "affinity");
}

/** Affinity restricts pods most, then spread over domains such as zones, then rules over hosts and host ports. */
function hardnessOf({ ports }: PodClass, { narrowingRules, hostRules }: Variant): number {
  let hardness = narrowingRules.length * 10 + hostRules.length + ports.length;
  for (const { group } of narrowingRules) if (group.type === "affinity") hardness += 100;
  return hardness;
}
