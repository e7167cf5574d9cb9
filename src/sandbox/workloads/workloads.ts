/** The list of all workload controllers of the sandbox. */
import type { Controller } from "../../kube/manager/controller.ts";
import type { PartDeps } from "../parts.ts";
import { autoscalerController } from "./autoscaler/autoscaler.ts";
import { pdbStatusController } from "./budgets/pdb-status.ts";
import { resourceClaimController } from "./claims/resource-claims.ts";
import { deploymentController } from "./deployment/deployment.ts";
import { replicaSetController } from "./deployment/replicaset.ts";
import { cronJobController } from "./jobs/cronjob.ts";
import { jobController } from "./jobs/job.ts";
import { namespaceDefaultsController } from "./namespace-defaults.ts";
import { nodeTtlController } from "./node-ttl.ts";
import { roleAggregationController } from "./role-aggregation.ts";
import { endpointsController } from "./services/endpoints.ts";
import { daemonSetController } from "./sets/daemonset.ts";
import { statefulSetController } from "./sets/statefulset.ts";
import { ephemeralClaimController } from "./volumes/ephemeral-claims.ts";
import { volumeBinderController } from "./volumes/volume-binder.ts";
import { volumeProtectionController } from "./volumes/volume-protection.ts";

/** Options of the workload controllers. */
export interface WorkloadOptions {
  /** PEM text for the `kube-root-ca.crt` of each namespace. Default empty: the API server has no TLS. */
  readonly caBundle?: () => string;
}

/** The controllers of kube-controller-manager that the sandbox has. */
export function workloadControllers(deps: PartDeps, options: WorkloadOptions = {}): Controller[] {
  return [
    deploymentController(deps),
    replicaSetController(deps),
    statefulSetController(deps),
    daemonSetController(deps),
    jobController(deps),
    cronJobController(deps),
    autoscalerController(deps),
    pdbStatusController(deps),
    ephemeralClaimController(deps),
    resourceClaimController(deps),
    volumeBinderController(deps),
    volumeProtectionController(deps),
    endpointsController(deps),
    nodeTtlController(deps),
    roleAggregationController(deps),
    namespaceDefaultsController(deps, options.caBundle ?? (() => "")),
  ];
}
