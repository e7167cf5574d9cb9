/**
 * Defaults that the API server writes into the spec of a pod, in a Pod or in a workload's template.
 * upstream: pkg/apis/core/v1/defaults.go
 */
import { fallback, type Raw } from "./kind-rules.ts";

const DEFAULT_GRACE_SECONDS = 30;
const SECRET_MODE = 0o644;

/** Writes the defaults into `spec`. */
export function defaultPodSpec(spec: Raw): void {
  fallback(spec, "restartPolicy", "Always");
  fallback(spec, "terminationGracePeriodSeconds", DEFAULT_GRACE_SECONDS);
  fallback(spec, "dnsPolicy", "ClusterFirst");
  fallback(spec, "securityContext", {});
  fallback(spec, "schedulerName", "default-scheduler");
  // `serviceAccount` is the old name of `serviceAccountName`. Each fills the other.
  if (spec.serviceAccountName === undefined && spec.serviceAccount !== undefined) {
    spec.serviceAccountName = spec.serviceAccount;
  }
  if (spec.serviceAccountName !== undefined && spec.serviceAccountName !== "") {
    spec.serviceAccount = spec.serviceAccountName;
  }
  for (const container of allContainers(spec)) defaultContainer(container, spec);
  for (const volume of spec.volumes ?? []) defaultVolume(volume);
  for (const constraint of spec.topologySpreadConstraints ?? []) {
    fallback(constraint, "whenUnsatisfiable", "DoNotSchedule");
  }
}

/** Every container of a spec: init, ordinary and ephemeral ones. */
export function allContainers(spec: Raw): Raw[] {
  return [
    ...(spec.initContainers ?? []),
    ...(spec.containers ?? []),
    ...(spec.ephemeralContainers ?? []),
  ];
}

function defaultContainer(container: Raw, spec: Raw): void {
  fallback(container, "terminationMessagePath", "/dev/termination-log");
  fallback(container, "terminationMessagePolicy", "File");
  fallback(container, "resources", {});
  if (container.imagePullPolicy === undefined) {
    container.imagePullPolicy = pullPolicy(container.image ?? "");
  }
  for (const port of container.ports ?? []) {
    fallback(port, "protocol", "TCP");
    if (spec.hostNetwork === true && (port.hostPort ?? 0) === 0) port.hostPort = port.containerPort;
  }
  for (const variable of container.env ?? []) {
    const fieldRef = variable.valueFrom?.fieldRef;
    if (fieldRef !== undefined) fallback(fieldRef, "apiVersion", "v1");
  }
  for (const name of ["livenessProbe", "readinessProbe", "startupProbe"]) {
    if (container[name] !== undefined) defaultProbe(container[name]);
  }
  for (const hook of [container.lifecycle?.postStart, container.lifecycle?.preStop]) {
    if (hook?.httpGet !== undefined) defaultHttpGet(hook.httpGet);
  }
}

/** The default pull policy. Images without a tag or with `latest` can change, so they are always pulled. */
function pullPolicy(image: string): string {
  if (image.includes("@")) return "IfNotPresent";
  const tag = /:([^/:]+)$/.exec(image)?.[1] ?? "latest";
  return tag === "latest" ? "Always" : "IfNotPresent";
}

function defaultProbe(probe: Raw): void {
  fallback(probe, "timeoutSeconds", 1);
  fallback(probe, "periodSeconds", 10);
  fallback(probe, "successThreshold", 1);
  fallback(probe, "failureThreshold", 3);
  if (probe.httpGet !== undefined) defaultHttpGet(probe.httpGet);
  if (probe.grpc !== undefined) fallback(probe.grpc, "service", "");
}

function defaultHttpGet(action: Raw): void {
  fallback(action, "path", "/");
  fallback(action, "scheme", "HTTP");
}

function defaultVolume(volume: Raw): void {
  for (const source of ["secret", "configMap", "downwardAPI", "projected"]) {
    if (volume[source] !== undefined) fallback(volume[source], "defaultMode", SECRET_MODE);
  }
  if (volume.hostPath !== undefined) fallback(volume.hostPath, "type", "");
  for (const source of volume.projected?.sources ?? []) {
    const token = source.serviceAccountToken;
    if (token !== undefined) fallback(token, "expirationSeconds", 3_600);
    for (const item of source.downwardAPI?.items ?? []) {
      if (item.fieldRef !== undefined) fallback(item.fieldRef, "apiVersion", "v1");
    }
  }
  for (const item of volume.downwardAPI?.items ?? []) {
    if (item.fieldRef !== undefined) fallback(item.fieldRef, "apiVersion", "v1");
  }
  const claim = volume.ephemeral?.volumeClaimTemplate?.spec;
  if (claim !== undefined) fallback(claim, "volumeMode", "Filesystem");
}

/** Copies limits to missing requests. Only for Pods: templates are stored as written. */
export function requestLimits(spec: Raw): void {
  for (const container of allContainers(spec)) {
    const limits = container.resources?.limits;
    if (limits === undefined) continue;
    container.resources.requests ??= {};
    for (const name of Object.keys(limits))
      fallback(container.resources.requests, name, limits[name]);
  }
}
