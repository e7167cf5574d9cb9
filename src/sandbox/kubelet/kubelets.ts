/** The list of controllers that simulate kubelets, and of controllers about nodes and their pods. */
import type { Controller } from "../../kube/manager/controller.ts";
import type { NodeLeases } from "../node-leases.ts";
import { leaseController } from "./lease.ts";
import type { Kubelets } from "./machines.ts";
import { nodeLifecycleController } from "./node-lifecycle.ts";
import { nodeStatusController } from "./node-status.ts";
import { podGarbageController } from "./pod-garbage.ts";
import { podLifecycleController } from "./pod-lifecycle.ts";
import { taintEvictionController } from "./taint-eviction.ts";

/** All controllers for these kubelets, their nodes and pods. */
export function kubeletControllers(kubelets: Kubelets, leases: NodeLeases): Controller[] {
  return [
    nodeStatusController(kubelets, leases),
    leaseController(kubelets, leases),
    podLifecycleController(kubelets),
    nodeLifecycleController(kubelets, leases),
    taintEvictionController(kubelets.deps),
    podGarbageController(kubelets.deps),
  ];
}
