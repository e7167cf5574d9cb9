/** The number of nodes and pods of a model, and its price. */
import { eachInSteps, filterInSteps, type Steps } from "../../base/steps.ts";
import { isBufferPod } from "../buffers/pods.ts";
import { priceOf } from "../disruption/candidates.ts";
import { reschedulablePods } from "../state/node-view.ts";
import type { Model } from "./model.ts";

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
export function* totalsOf({ picture, pools }: Model): Steps<Totals> {
  const types = new Map(pools.map(({ pool, instanceTypes }) => [pool.id, instanceTypes]));
  let pods = 0;
  let priceMicroUsdPerHour = 0;
  yield* eachInSteps(picture.nodes, (node) => {
    pods += reschedulablePods(node).length;
    if (node.managed)
      priceMicroUsdPerHour += priceOf(node.labels, types.get(node.poolId ?? "") ?? []);
  });
  const pending = yield* filterInSteps(
    picture.scheduling.pods,
    (pod) => !pod.spec.nodeName && !isBufferPod(pod),
  );
  return {
    nodes: picture.nodes.length,
    pods,
    pendingPods: pending.length,
    priceMicroUsdPerHour,
  };
}
