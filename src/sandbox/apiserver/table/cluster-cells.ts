/** Rows of everything that is no workload. upstream: pkg/printers/internalversion/printers.go */
import type { Raw } from "../registry/kind-rules.ts";
import { ageCell, sinceCell } from "./age.ts";
import { accessModes, type Cells, formatLabels, NONE, someOf } from "./cell.ts";

const UNSET = "<unset>";

/** The columns of `kubectl get namespaces`. upstream: pkg/printers/internalversion of Kubernetes. */
export const namespaceCells: Cells = (namespace, nowMs) => [
  namespace.metadata.name,
  namespace.status?.phase ?? "",
  ageCell(namespace, nowMs),
];

/** The columns of `kubectl get configmaps`. upstream: pkg/printers/internalversion of Kubernetes. */
export const configMapCells: Cells = (map, nowMs) => [
  map.metadata.name,
  Object.keys(map.data ?? {}).length + Object.keys(map.binaryData ?? {}).length,
  ageCell(map, nowMs),
];

/** The columns of `kubectl get secrets`. upstream: pkg/printers/internalversion of Kubernetes. */
export const secretCells: Cells = (secret, nowMs) => [
  secret.metadata.name,
  secret.type ?? "",
  Object.keys(secret.data ?? {}).length,
  ageCell(secret, nowMs),
];

/** The columns of `kubectl get serviceaccounts`. upstream: pkg/printers/internalversion of Kubernetes. */
export const serviceAccountCells: Cells = (account, nowMs) => [
  account.metadata.name,
  (account.secrets ?? []).length,
  ageCell(account, nowMs),
];

/** The columns of `kubectl get services`. upstream: pkg/printers/internalversion of Kubernetes. */
export const serviceCells: Cells = (service, nowMs) => {
  const { spec = {}, status = {} } = service;
  const ports = (spec.ports ?? []).map(({ port, nodePort, protocol }: Raw) =>
    (nodePort ?? 0) > 0 ? `${port}:${nodePort}/${protocol}` : `${port}/${protocol}`,
  );
  const ingress = (status.loadBalancer?.ingress ?? []).map(
    (entry: Raw) => entry.ip ?? entry.hostname,
  );
  let external = (spec.externalIPs ?? []).join(",") || NONE;
  if (spec.type === "ExternalName") external = spec.externalName;
  if (spec.type === "LoadBalancer") external = ingress.join(",") || "<pending>";
  return [
    service.metadata.name,
    spec.type,
    spec.clusterIP || NONE,
    external,
    ports.join(",") || NONE,
    ageCell(service, nowMs),
    formatLabels(spec.selector),
  ];
};

/** The columns of `kubectl get endpoints`. upstream: pkg/printers/internalversion of Kubernetes. */
export const endpointsCells: Cells = (endpoints, nowMs) => {
  const list = (endpoints.subsets ?? []).flatMap(({ addresses = [], ports = [] }: Raw) =>
    ports.length === 0
      ? addresses.map(({ ip }: Raw) => ip)
      : ports.flatMap(({ port }: Raw) => addresses.map(({ ip }: Raw) => `${ip}:${port}`)),
  );
  return [endpoints.metadata.name, someOf(list, 3), ageCell(endpoints, nowMs)];
};

/** The columns of `kubectl get endpointslices`. upstream: pkg/printers/internalversion of Kubernetes. */
export const endpointSliceCells: Cells = (slice, nowMs) => [
  slice.metadata.name,
  slice.addressType ?? "",
  someOf(
    (slice.ports ?? []).map(({ port }: Raw) => String(port ?? "*")),
    3,
  ).replace(NONE, "<unset>"),
  someOf(
    (slice.endpoints ?? []).flatMap(({ addresses = [] }: Raw) => addresses),
    3,
  ).replace(NONE, "<unset>"),
  ageCell(slice, nowMs),
];

/** The columns of `kubectl get events`. upstream: pkg/printers/internalversion of Kubernetes. */
export const eventCells: Cells = (event, nowMs) => {
  const about = event.involvedObject ?? event.regarding ?? {};
  const source = event.source ?? event.deprecatedSource ?? {};
  const component = event.reportingComponent || event.reportingController || source.component || "";
  const host = event.reportingInstance || source.host;
  const first = event.firstTimestamp ?? event.deprecatedFirstTimestamp ?? event.eventTime;
  const last =
    event.series?.lastObservedTime ?? event.lastTimestamp ?? event.deprecatedLastTimestamp;
  const count = event.series?.count ?? event.count ?? event.deprecatedCount;
  return [
    sinceCell(last ?? first, nowMs),
    event.type ?? "",
    event.reason ?? "",
    `${(about.kind ?? "").toLowerCase()}/${about.name ?? ""}`,
    about.fieldPath ?? "",
    host === undefined || host === "" ? component : `${component}, ${host}`,
    (event.message ?? event.note ?? "").trim(),
    sinceCell(first, nowMs),
    count === undefined || count === 0 ? 1 : count,
    event.metadata.name,
  ];
};

/** The columns of `kubectl get persistentvolumeclaims`. upstream: pkg/printers/internalversion of Kubernetes. */
export const claimCells: Cells = (claim, nowMs) => {
  const { spec = {}, status = {} } = claim;
  const isBound = (spec.volumeName ?? "") !== "";
  return [
    claim.metadata.name,
    claim.metadata.deletionTimestamp === undefined ? (status.phase ?? "") : "Terminating",
    spec.volumeName ?? "",
    isBound ? (status.capacity?.storage ?? "") : "",
    isBound ? accessModes(status.accessModes) : "",
    spec.storageClassName ?? "",
    spec.volumeAttributesClassName ?? UNSET,
    ageCell(claim, nowMs),
    spec.volumeMode ?? UNSET,
  ];
};

/** The columns of `kubectl get persistentvolumes`. upstream: pkg/printers/internalversion of Kubernetes. */
export const volumeCells: Cells = (volume, nowMs) => {
  const { spec = {}, status = {} } = volume;
  const claim = spec.claimRef;
  return [
    volume.metadata.name,
    spec.capacity?.storage ?? "",
    accessModes(spec.accessModes),
    spec.persistentVolumeReclaimPolicy ?? "",
    volume.metadata.deletionTimestamp === undefined ? (status.phase ?? "") : "Terminating",
    claim === undefined ? "" : `${claim.namespace}/${claim.name}`,
    spec.storageClassName ?? "",
    spec.volumeAttributesClassName ?? UNSET,
    status.reason ?? "",
    ageCell(volume, nowMs),
    spec.volumeMode ?? UNSET,
  ];
};

/** The columns of `kubectl get storageclasses`. upstream: pkg/printers/internalversion of Kubernetes. */
export const storageClassCells: Cells = (storageClass, nowMs) => {
  const { name, annotations = {} } = storageClass.metadata;
  const isDefault = annotations["storageclass.kubernetes.io/is-default-class"] === "true";
  return [
    isDefault ? `${name} (default)` : name,
    storageClass.provisioner,
    storageClass.reclaimPolicy ?? "Delete",
    storageClass.volumeBindingMode ?? UNSET,
    storageClass.allowVolumeExpansion === true,
    ageCell(storageClass, nowMs),
  ];
};

/** The columns of `kubectl get csinodes`. upstream: pkg/printers/internalversion of Kubernetes. */
export const csiNodeCells: Cells = (node, nowMs) => [
  node.metadata.name,
  (node.spec?.drivers ?? []).length,
  ageCell(node, nowMs),
];

/** The columns of `kubectl get csidrivers`. upstream: pkg/printers/internalversion of Kubernetes. */
export const csiDriverCells: Cells = (driver, nowMs) => {
  const { spec = {} } = driver;
  const audiences = (spec.tokenRequests ?? []).map(({ audience }: Raw) => audience);
  return [
    driver.metadata.name,
    spec.attachRequired ?? true,
    spec.podInfoOnMount ?? false,
    spec.storageCapacity ?? false,
    audiences.join(",") || UNSET,
    spec.requiresRepublish ?? false,
    (spec.volumeLifecycleModes ?? []).join(",") || NONE,
    ageCell(driver, nowMs),
  ];
};

/** The columns of `kubectl get volumeattachments`. upstream: pkg/printers/internalversion of Kubernetes. */
export const attachmentCells: Cells = (attachment, nowMs) => [
  attachment.metadata.name,
  attachment.spec?.attacher ?? "",
  attachment.spec?.source?.persistentVolumeName ?? "",
  attachment.spec?.nodeName ?? "",
  attachment.status?.attached ?? false,
  ageCell(attachment, nowMs),
];

/** The columns of `kubectl get poddisruptionbudgets`. upstream: pkg/printers/internalversion of Kubernetes. */
export const budgetCells: Cells = (budget, nowMs) => [
  budget.metadata.name,
  budget.spec?.minAvailable === undefined ? "N/A" : String(budget.spec.minAvailable),
  budget.spec?.maxUnavailable === undefined ? "N/A" : String(budget.spec.maxUnavailable),
  budget.status?.disruptionsAllowed ?? 0,
  ageCell(budget, nowMs),
];

/** The columns of `kubectl get priorityclasses`. upstream: pkg/printers/internalversion of Kubernetes. */
export const priorityClassCells: Cells = (priorityClass, nowMs) => [
  priorityClass.metadata.name,
  priorityClass.value ?? 0,
  priorityClass.globalDefault ?? false,
  ageCell(priorityClass, nowMs),
  priorityClass.preemptionPolicy ?? "",
];

/** The columns of `kubectl get leases`. upstream: pkg/printers/internalversion of Kubernetes. */
export const leaseCells: Cells = (lease, nowMs) => [
  lease.metadata.name,
  lease.spec?.holderIdentity ?? "",
  ageCell(lease, nowMs),
];

/** The columns of the webhook configurations. upstream: pkg/printers/internalversion of Kubernetes. */
export const webhookCells: Cells = (configuration, nowMs) => [
  configuration.metadata.name,
  (configuration.webhooks ?? []).length,
  ageCell(configuration, nowMs),
];

/** Kinds whose second column is the instant of creation. */
export const createdAtCells: Cells = ({ metadata }) => [
  metadata.name,
  metadata.creationTimestamp ?? "<unknown>",
];

/** The columns of the role bindings. upstream: pkg/printers/internalversion of Kubernetes. */
export const bindingCells: Cells = (binding, nowMs) => {
  const names = (kind: string): string =>
    (binding.subjects ?? [])
      .filter((subject: Raw) => subject.kind === kind)
      .map(({ namespace, name }: Raw) => (namespace === undefined ? name : `${namespace}/${name}`))
      .join(", ");
  const role = binding.roleRef ?? {};
  return [
    binding.metadata.name,
    `${role.kind}/${role.name}`,
    ageCell(binding, nowMs),
    names("User"),
    names("Group"),
    names("ServiceAccount"),
  ];
};

/** The columns of `kubectl get componentstatuses`. upstream: pkg/printers/internalversion of Kubernetes. */
export const componentCells: Cells = ({ metadata, conditions = [] }) => {
  const { status, message = "", error = "" } = conditions[0] ?? {};
  const health = status === "True" ? "Healthy" : status === "False" ? "Unhealthy" : "Unknown";
  return [metadata.name, health, message, error];
};

/** The columns of `kubectl get resourcequotas`. upstream: pkg/printers/internalversion of Kubernetes. */
export const quotaCells: Cells = (quota, nowMs) => {
  const { hard = {}, used = {} } = quota.status ?? {};
  const list = (isLimit: boolean): string =>
    Object.keys(hard)
      .sort()
      .filter((name) => name.startsWith("limits.") === isLimit)
      .map((name) => `${name}: ${used[name] ?? 0}/${hard[name]}`)
      .join(", ");
  return [quota.metadata.name, list(false), list(true), ageCell(quota, nowMs)];
};
