/** The rules of each built-in kind, by `group/Kind`, or by `group/version/Kind` if versions differ. */

import {
  CLUSTER_ROLE_BINDING_RULES,
  CLUSTER_ROLE_RULES,
  ROLE_BINDING_RULES,
  ROLE_RULES,
} from "./access-rules.ts";
import { AUTOSCALER_RULES, OLDER_AUTOSCALER_RULES } from "./autoscaler-rules.ts";
import {
  BUDGET_RULES,
  CSI_DRIVER_RULES,
  CSI_NODE_RULES,
  LEASE_RULES,
  NAMESPACE_RULES,
  PRIORITY_CLASS_RULES,
  WEBHOOK_RULES,
} from "./cluster-rules.ts";
import { CONFIG_MAP_RULES, SECRET_RULES } from "./config-rules.ts";
import { CRD_RULES } from "./crd-rules.ts";
import {
  DEVICE_CLASS_RULES,
  RESOURCE_CLAIM_RULES,
  RESOURCE_CLAIM_TEMPLATE_RULES,
} from "./device-claim-rules.ts";
import { RESOURCE_SLICE_RULES } from "./device-rules.ts";
import { EVENT_RULES, NEW_EVENT_RULES } from "./event-rules.ts";
import type { KindRules } from "./kind-rules.ts";
import { LIMIT_RANGE_RULES } from "./limit-rules.ts";
import {
  ENDPOINT_SLICE_RULES,
  ENDPOINTS_RULES,
  INGRESS_CLASS_RULES,
  INGRESS_RULES,
  NETWORK_POLICY_RULES,
} from "./network-rules.ts";
import { NODE_RULES } from "./node-rules.ts";
import { POD_RULES, POD_TEMPLATE_RULES } from "./pod-rules.ts";
import { POLICY_BINDING_RULES, POLICY_RULES } from "./policy-rules.ts";
import { QUOTA_RULES } from "./quota-rules.ts";
import { RUNTIME_CLASS_RULES } from "./runtime-class-rules.ts";
import { SERVICE_RULES } from "./service-rules.ts";
import { CLAIM_RULES, STORAGE_CLASS_RULES, VOLUME_RULES } from "./storage-rules.ts";
import {
  CRON_JOB_RULES,
  DAEMON_SET_RULES,
  DEPLOYMENT_RULES,
  JOB_RULES,
  REPLICA_SET_RULES,
  REPLICATION_CONTROLLER_RULES,
  STATEFUL_SET_RULES,
} from "./workload-rules.ts";

/** Rules by `GROUP/KIND`. Kinds without an entry have only their schema. */
export const BUILTIN_RULES: Readonly<Record<string, KindRules>> = {
  "/ConfigMap": CONFIG_MAP_RULES,
  "/Event": EVENT_RULES,
  "/LimitRange": LIMIT_RANGE_RULES,
  "/Namespace": NAMESPACE_RULES,
  "/Node": NODE_RULES,
  "/PersistentVolume": VOLUME_RULES,
  "/PersistentVolumeClaim": CLAIM_RULES,
  "/Pod": POD_RULES,
  "/PodTemplate": POD_TEMPLATE_RULES,
  "/ReplicationController": REPLICATION_CONTROLLER_RULES,
  "/ResourceQuota": QUOTA_RULES,
  "/Secret": SECRET_RULES,
  "/Endpoints": ENDPOINTS_RULES,
  "/Service": SERVICE_RULES,
  "admissionregistration.k8s.io/ValidatingAdmissionPolicy": POLICY_RULES,
  "admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding": POLICY_BINDING_RULES,
  "admissionregistration.k8s.io/MutatingWebhookConfiguration": WEBHOOK_RULES,
  "admissionregistration.k8s.io/ValidatingWebhookConfiguration": WEBHOOK_RULES,
  "apiextensions.k8s.io/CustomResourceDefinition": CRD_RULES,
  "discovery.k8s.io/EndpointSlice": ENDPOINT_SLICE_RULES,
  "networking.k8s.io/Ingress": INGRESS_RULES,
  "networking.k8s.io/IngressClass": INGRESS_CLASS_RULES,
  "networking.k8s.io/NetworkPolicy": NETWORK_POLICY_RULES,
  "node.k8s.io/RuntimeClass": RUNTIME_CLASS_RULES,
  "apps/DaemonSet": DAEMON_SET_RULES,
  "apps/Deployment": DEPLOYMENT_RULES,
  "apps/ReplicaSet": REPLICA_SET_RULES,
  "apps/StatefulSet": STATEFUL_SET_RULES,
  "autoscaling/v1/HorizontalPodAutoscaler": OLDER_AUTOSCALER_RULES,
  "autoscaling/v2/HorizontalPodAutoscaler": AUTOSCALER_RULES,
  "batch/CronJob": CRON_JOB_RULES,
  "batch/Job": JOB_RULES,
  "coordination.k8s.io/Lease": LEASE_RULES,
  "events.k8s.io/Event": NEW_EVENT_RULES,
  "policy/PodDisruptionBudget": BUDGET_RULES,
  "rbac.authorization.k8s.io/ClusterRole": CLUSTER_ROLE_RULES,
  "rbac.authorization.k8s.io/ClusterRoleBinding": CLUSTER_ROLE_BINDING_RULES,
  "rbac.authorization.k8s.io/Role": ROLE_RULES,
  "rbac.authorization.k8s.io/RoleBinding": ROLE_BINDING_RULES,
  "resource.k8s.io/DeviceClass": DEVICE_CLASS_RULES,
  "resource.k8s.io/ResourceClaim": RESOURCE_CLAIM_RULES,
  "resource.k8s.io/ResourceClaimTemplate": RESOURCE_CLAIM_TEMPLATE_RULES,
  "resource.k8s.io/ResourceSlice": RESOURCE_SLICE_RULES,
  "scheduling.k8s.io/PriorityClass": PRIORITY_CLASS_RULES,
  "storage.k8s.io/CSIDriver": CSI_DRIVER_RULES,
  "storage.k8s.io/CSINode": CSI_NODE_RULES,
  "storage.k8s.io/StorageClass": STORAGE_CLASS_RULES,
};
