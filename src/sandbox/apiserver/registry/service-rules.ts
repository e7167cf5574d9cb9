/**
 * Rules of Services: defaults, ports, and a cluster IP that does not change.
 * upstream: pkg/apis/core/v1/defaults.go, pkg/registry/core/service
 */
import { duplicate, forbidden, invalid, required } from "../schema/field-error.ts";
import { nameProblems } from "../schema/metadata.ts";
import type { FieldError } from "../schema/schema.ts";
import { fallback, type KindRules, type Raw } from "./kind-rules.ts";

const PORT_TEXT = "must be between 1 and 65535, inclusive";
const PORT_NAME_TEXT = "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)";

/** Rules of a Service: defaults, validation, the first status, and the fields that an update cannot change. */
export const SERVICE_RULES: KindRules = {
  names: "label",
  defaults(service) {
    service.spec ??= {};
    const { spec } = service;
    fallback(spec, "type", "ClusterIP");
    fallback(spec, "sessionAffinity", "None");
    for (const port of spec.ports ?? []) {
      fallback(port, "protocol", "TCP");
      // Clients in Go write 0 for a target port that is not set.
      if (port["targetPort"] === 0 || port["targetPort"] === "") delete port["targetPort"];
      fallback(port, "targetPort", port.port);
    }
    if (spec.type === "ExternalName") return;
    fallback(spec, "internalTrafficPolicy", "Cluster");
    if (spec.type !== "ClusterIP") fallback(spec, "externalTrafficPolicy", "Cluster");
    if (spec.type === "LoadBalancer") fallback(spec, "allocateLoadBalancerNodePorts", true);
  },
  prepareCreate(service) {
    const { spec } = service;
    service.status = { loadBalancer: {} };
    if (spec.type === "ExternalName") return;
    // The address is computed from the name, so that equal scenarios give equal addresses.
    spec.clusterIP ??= serviceAddress(`${service.metadata.namespace}/${service.metadata.name}`);
    spec.clusterIPs ??= [spec.clusterIP];
    fallback(spec, "ipFamilies", ["IPv4"]);
    fallback(spec, "ipFamilyPolicy", "SingleStack");
  },
  prepareUpdate(service, current) {
    const { spec } = service;
    dropWhatTheTypeHadAdded(spec, current.spec);
    if (spec.type === "ExternalName") return;
    if ((spec.clusterIP ?? "") === "") spec.clusterIP = current.spec.clusterIP;
    for (const field of ["clusterIPs", "ipFamilies", "ipFamilyPolicy"])
      if (current.spec[field] !== undefined) fallback(spec, field, current.spec[field]);
  },
  validate(service, current) {
    const { spec = {} } = service;
    const errors: FieldError[] = [];
    const isHeadless = spec.clusterIP === "None" || spec.type === "ExternalName";
    if ((spec.ports ?? []).length === 0 && !isHeadless) errors.push(required("spec.ports"));
    errors.push(...validatePorts(spec), ...validateType(spec));
    const before = current?.spec;
    if (before?.type === spec.type && (before?.clusterIP ?? "") !== "") {
      if (spec.clusterIP !== before.clusterIP) {
        const shown = [spec.clusterIP];
        errors.push(invalid("spec.clusterIPs[0]", shown, "may not change once set"));
      }
    }
    return errors;
  },
};

/** Whether the Service gets nodePorts. */
export function isOpenToNodes(spec: Raw): boolean {
  return (
    spec.type === "NodePort" ||
    (spec.type === "LoadBalancer" && spec.allocateLoadBalancerNodePorts !== false)
  );
}

/** A Service that changes its type loses the fields that belong to the old type. upstream: dropTypeDependentFields */
function dropWhatTheTypeHadAdded(spec: Raw, before: Raw): void {
  if (spec.type === before.type && spec.externalTrafficPolicy === before.externalTrafficPolicy)
    return;
  const portsOf = ({ ports = [] }: Raw) => ports.map(({ nodePort }: Raw) => nodePort).join();
  if (isOpenToNodes(before) && !isOpenToNodes(spec) && portsOf(before) === portsOf(spec))
    for (const port of spec.ports ?? []) delete port.nodePort;
  const checksHealth = spec.type === "LoadBalancer" && spec.externalTrafficPolicy === "Local";
  const isExternal = spec.type === "NodePort" || spec.type === "LoadBalancer";
  const dropped = [
    ...(checksHealth ? [] : ["healthCheckNodePort"]),
    ...(isExternal ? [] : ["externalTrafficPolicy"]),
    ...(spec.type === "LoadBalancer" ? [] : ["allocateLoadBalancerNodePorts"]),
    ...(spec.type === "ExternalName"
      ? ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"]
      : []),
  ];
  for (const field of dropped)
    if (JSON.stringify(spec[field]) === JSON.stringify(before[field])) delete spec[field];
}

function validatePorts(spec: Raw): FieldError[] {
  const ports: readonly Raw[] = spec.ports ?? [];
  const names = new Set<string>();
  const numbers = new Set<string>();
  const onNodes = new Set<string>();
  return ports.flatMap((port, index) => {
    const at = `spec.ports[${index}]`;
    const errors = validatePort(port, at, ports.length > 1);
    if ((port.name ?? "") !== "") {
      if (names.has(port.name)) errors.push(duplicate(`${at}.name`, port.name));
      names.add(port.name);
    }
    if (spec.type === "ClusterIP" && port.nodePort)
      errors.push(forbidden(`${at}.nodePort`, "may not be used when `type` is 'ClusterIP'"));
    const onNode = `${port.protocol}/${port.nodePort}`;
    if (port.nodePort && onNodes.has(onNode))
      errors.push(duplicate(`${at}.nodePort`, port.nodePort));
    onNodes.add(onNode);
    const number = `${port.protocol}/${port.port}`;
    if (numbers.has(number)) errors.push(duplicate(at, innerPort(port)));
    numbers.add(number);
    return errors;
  });
}

function validatePort(
  { name = "", port, targetPort }: Raw,
  at: string,
  isNamed: boolean,
): FieldError[] {
  const errors: FieldError[] = [];
  if (name === "" && isNamed) errors.push(required(`${at}.name`));
  if (name !== "")
    for (const problem of nameProblems(name, "label"))
      errors.push(invalid(`${at}.name`, name, problem));
  if (!isPort(port)) errors.push(invalid(`${at}.port`, port ?? 0, PORT_TEXT));
  if (typeof targetPort === "number" && !isPort(targetPort))
    errors.push(invalid(`${at}.targetPort`, targetPort, PORT_TEXT));
  if (typeof targetPort === "string" && !/^[-a-z0-9]+$/i.test(targetPort))
    errors.push(invalid(`${at}.targetPort`, targetPort, PORT_NAME_TEXT));
  return errors;
}

function isPort(number: number | undefined): boolean {
  return number !== undefined && number >= 1 && number <= 65_535;
}

/** The ServicePort that Go prints in the error about duplicate ports. */
function innerPort({ protocol, port }: Raw): object {
  return {
    Name: "",
    Protocol: protocol,
    AppProtocol: null,
    Port: port,
    TargetPort: 0,
    NodePort: 0,
  };
}

function validateType(spec: Raw): FieldError[] {
  const errors: FieldError[] = [];
  const isExternal = spec.type === "NodePort" || spec.type === "LoadBalancer";
  if (isExternal && spec.clusterIP === "None") {
    const text = `may not be set to 'None' for ${spec.type} services`;
    errors.push(invalid("spec.clusterIPs[0]", "None", text));
  }
  if (spec.type === "ExternalName" && (spec.externalName ?? "") === "")
    errors.push(required("spec.externalName"));
  const policy = spec.externalTrafficPolicy;
  if (!isExternal && (policy ?? "") !== "" && ["ClusterIP", "ExternalName"].includes(spec.type)) {
    const text = "may only be set for externally-accessible services";
    errors.push(invalid("spec.externalTrafficPolicy", policy, text));
  }
  return errors;
}

/** An address in 10.96.0.0/12, from a hash of the service's key. */
function serviceAddress(key: string): string {
  if (key === "default/kubernetes") return "10.96.0.1";
  let hash = 2_166_136_261;
  for (const character of key) hash = Math.imul(hash ^ character.charCodeAt(0), 16_777_619) >>> 0;
  return `10.${96 + (hash & 15)}.${(hash >>> 4) & 255}.${2 + (((hash >>> 12) & 255) % 250)}`;
}
