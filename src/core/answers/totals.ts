/** The number of nodes and pods of a model, and its price. */
import { eachInSteps, type Steps } from "../../base/steps.ts";
import { priceOf } from "../disruption/candidates.ts";
import { reschedulablePods } from "../state/node-view.ts";
import { type Model, pendingPods } from "./model.ts";

/** Number of nodes and pods in the cluster, and its price. */
export interface Totals {
  /** All nodes, including those that Karpenter does not own. */
  readonly nodes: number;
  readonly pods: number;
  readonly pendingPods: number;
  /** The price of Karpenter's nodes. */
  readonly priceMicroUsdPerHour: number;
}

/** The totals of a model. Nodes whose price is not known count as free. */
export function* totalsOf(model: Model): Steps<Totals> {
  const { picture, pools } = model;
  const types = new Map(pools.map(({ pool, instanceTypes }) => [pool.id, instanceTypes]));
  let pods = 0;
  let priceMicroUsdPerHour = 0;
  yield* eachInSteps(picture.nodes, (node) => {
    pods += reschedulablePods(node).length;
    if (node.managed)
      priceMicroUsdPerHour += priceOf(node.labels, types.get(node.poolId ?? "") ?? []);
  });
  const pending = yield* pendingPods(model);
  return {
    nodes: picture.nodes.length,
    pods,
    pendingPods: pending.length,
    priceMicroUsdPerHour,
  };
}
