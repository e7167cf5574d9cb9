/** The table rows of built-in kinds, by kind. A kind without an entry shows its name, empty cells and its age. */

import type { KubeObject } from "../../../apis/meta.ts";
import { fieldOf } from "../../../base/json.ts";
import { ageCell } from "./age.ts";
import { autoscalerCells } from "./autoscaler-cells.ts";
import type { Cells } from "./cell.ts";
import {
  attachmentCells,
  bindingCells,
  budgetCells,
  claimCells,
  componentCells,
  configMapCells,
  createdAtCells,
  csiDriverCells,
  csiNodeCells,
  endpointSliceCells,
  endpointsCells,
  eventCells,
  leaseCells,
  namespaceCells,
  priorityClassCells,
  quotaCells,
  secretCells,
  serviceAccountCells,
  serviceCells,
  storageClassCells,
  volumeCells,
  webhookCells,
} from "./cluster-cells.ts";
import {
  ingressCells,
  ingressClassCells,
  networkPolicyCells,
  runtimeClassCells,
} from "./network-cells.ts";
import { nodeCells } from "./node-cells.ts";
import { podCells } from "./pod-cells.ts";
import { policyBindingCells, policyCells } from "./policy-cells.ts";
import { resourceClaimCells, resourceSliceCells } from "./resource-cells.ts";
import {
  controllerRevisionCells,
  cronJobCells,
  daemonSetCells,
  deploymentCells,
  jobCells,
  podTemplateCells,
  replicaSetCells,
  replicationControllerCells,
  statefulSetCells,
} from "./workload-cells.ts";

/** Row makers by kind. No two served groups have a kind of the same name with different columns. */
const ROWS: Readonly<Record<string, Cells>> = {
  CSIDriver: csiDriverCells,
  CSINode: csiNodeCells,
  ClusterRole: createdAtCells,
  ClusterRoleBinding: bindingCells,
  ComponentStatus: componentCells,
  ConfigMap: configMapCells,
  ControllerRevision: controllerRevisionCells,
  CronJob: cronJobCells,
  CustomResourceDefinition: createdAtCells,
  DaemonSet: daemonSetCells,
  Deployment: deploymentCells,
  EndpointSlice: endpointSliceCells,
  Endpoints: endpointsCells,
  Event: eventCells,
  HorizontalPodAutoscaler: autoscalerCells,
  Ingress: ingressCells,
  IngressClass: ingressClassCells,
  Job: jobCells,
  Lease: leaseCells,
  LimitRange: createdAtCells,
  MutatingWebhookConfiguration: webhookCells,
  Namespace: namespaceCells,
  NetworkPolicy: networkPolicyCells,
  Node: nodeCells,
  PersistentVolume: volumeCells,
  PersistentVolumeClaim: claimCells,
  Pod: podCells,
  PodDisruptionBudget: budgetCells,
  PodTemplate: podTemplateCells,
  PriorityClass: priorityClassCells,
  ReplicaSet: replicaSetCells,
  ReplicationController: replicationControllerCells,
  ResourceClaim: resourceClaimCells,
  ResourceQuota: quotaCells,
  ResourceSlice: resourceSliceCells,
  Role: createdAtCells,
  RoleBinding: bindingCells,
  RuntimeClass: runtimeClassCells,
  Secret: secretCells,
  Service: serviceCells,
  ServiceAccount: serviceAccountCells,
  StatefulSet: statefulSetCells,
  StorageClass: storageClassCells,
  ValidatingAdmissionPolicy: policyCells,
  ValidatingAdmissionPolicyBinding: policyBindingCells,
  ValidatingWebhookConfiguration: webhookCells,
  VolumeAttachment: attachmentCells,
};

/** The row maker of a kind with this number of columns. */
export function builtinCells(
  kind: string,
  columns: number,
): (object: KubeObject, nowMs: number) => readonly unknown[] {
  const row = fieldOf(ROWS, kind);
  if (row !== undefined) return row;
  return (object, nowMs) => [
    object.metadata.name,
    ...Array.from({ length: Math.max(0, columns - 2) }, () => ""),
    ageCell(object, nowMs),
  ];
}
