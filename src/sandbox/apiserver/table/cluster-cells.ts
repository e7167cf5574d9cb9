/** Table rows of all kinds that are not workloads. upstream: pkg/printers/internalversion/printers.go */
import type { Raw } from "../registry/kind-rules.ts";
import { ageCell, sinceCell } from "./age.ts";
import { accessModes, type Cells, formatLabels, NONE, someOf } from "./cell.ts";

const UNSET = "<unset>";

/** The cells of one row of `kubectl get namespaces`. */
export const namespaceCells: Cells = (namespace, nowMs) => [
  namespace.metadata.name,
  namespace.status?.phase ?? "",
  ageCell(namespace, nowMs),
];

/** The cells of one row of `kubectl get configmaps`. */
export const configMapCells: Cells = (map, nowMs) => [
  map.metadata.name,
  Object.keys(map.data ?? {}).length + Object.keys(map.binaryData ?? {}).length,
  ageCell(map, nowMs),
];

/** The cells of one row of `kubectl get secrets`. */
export const secretCells: Cells = (secret, nowMs) => [
  secret.metadata.name,
  secret.type ?? "",
  Object.keys(secret.data ?? {}).length,
  ageCell(secret, nowMs),
];

/** The cells of one row of `kubectl get serviceaccounts`. */
export const serviceAccountCells: Cells = (account, nowMs) => [
  account.metadata.name,
  (account.secrets ?? []).length,
  ageCell(account, nowMs),
];

/** The cells of one row of `kubectl get services`. */
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

/** The cells of one row of `kubectl get endpoints`. */
export const endpointsCells: Cells = (endpoints, nowMs) => {
  const list = (endpoints.subsets ?? []).flatMap(({ addresses = [], ports = [] }: Raw) =>
    ports.length === 0
      ? addresses.map(({ ip }: Raw) => ip)
      : ports.flatMap(({ port }: Raw) => addresses.map(({ ip }: Raw) => `${ip}:${port}`)),
  );
  return [endpoints.metadata.name, someOf(list, 3), ageCell(endpoints, nowMs)];
};

/** The cells of one row of `kubectl get endpointslices`. */
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

/** The cells of one row of `kubectl get events`. */
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

/** The cells of one row of `kubectl get persistentvolumeclaims`. */
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

/** The cells of one row of `kubectl get persistentvolumes`. */
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

/** The cells of one row of `kubectl get storageclasses`. */
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

/** The cells of one row of `kubectl get csinodes`. */
export const csiNodeCells: Cells = (node, nowMs) => [
  node.metadata.name,
  (node.spec?.drivers ?? []).length,
  ageCell(node, nowMs),
];

/** The cells of one row of `kubectl get csidrivers`. */
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

/** The cells of one row of `kubectl get volumeattachments`. */
export const attachmentCells: Cells = (attachment, nowMs) => [
  attachment.metadata.name,
  attachment.spec?.attacher ?? "",
  attachment.spec?.source?.persistentVolumeName ?? "",
  attachment.spec?.nodeName ?? "",
  attachment.status?.attached ?? false,
  ageCell(attachment, nowMs),
];

/** The cells of one row of `kubectl get poddisruptionbudgets`. */
export const budgetCells: Cells = (budget, nowMs) => [
  budget.metadata.name,
  budget.spec?.minAvailable === undefined ? "N/A" : String(budget.spec.minAvailable),
  budget.spec?.maxUnavailable === undefined ? "N/A" : String(budget.spec.maxUnavailable),
  budget.status?.disruptionsAllowed ?? 0,
  ageCell(budget, nowMs),
];

/** The cells of one row of `kubectl get priorityclasses`. */
export const priorityClassCells: Cells = (priorityClass, nowMs) => [
  priorityClass.metadata.name,
  priorityClass.value ?? 0,
  priorityClass.globalDefault ?? false,
  ageCell(priorityClass, nowMs),
  priorityClass.preemptionPolicy ?? "",
];

/** The cells of one row of `kubectl get leases`. */
export const leaseCells: Cells = (lease, nowMs) => [
  lease.metadata.name,
  lease.spec?.holderIdentity ?? "",
  ageCell(lease, nowMs),
];

/** The cells of one row of webhook configurations. */
export const webhookCells: Cells = (configuration, nowMs) => [
  configuration.metadata.name,
  (configuration.webhooks ?? []).length,
  ageCell(configuration, nowMs),
];

/** Cells of kinds whose second column is the time of creation. */
export const createdAtCells: Cells = ({ metadata }) => [
  metadata.name,
  metadata.creationTimestamp ?? "<unknown>",
];

/** The cells of one row of role bindings. */
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

/** The cells of one row of `kubectl get componentstatuses`. */
export const componentCells: Cells = ({ metadata, conditions = [] }) => {
  const { status, message = "", error = "" } = conditions[0] ?? {};
  const health = status === "True" ? "Healthy" : status === "False" ? "Unhealthy" : "Unknown";
  return [metadata.name, health, message, error];
};

/** The cells of one row of `kubectl get resourcequotas`. */
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
