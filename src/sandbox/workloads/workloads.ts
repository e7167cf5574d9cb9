/** All workload controllers of the sandbox, in the order a reader meets them. */
import type { Controller } from "../../kube/controller.ts";
import type { PartDeps } from "../parts.ts";
import { deploymentController } from "./deployment.ts";
import { replicaSetController } from "./replicaset.ts";

export function workloadControllers(deps: PartDeps): Controller[] {
  return [deploymentController(deps), replicaSetController(deps)];
}
