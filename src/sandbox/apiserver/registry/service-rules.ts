/**
 * Services: defaults, an address of their own that stays, ports.
 * upstream: pkg/apis/core/v1/defaults.go, pkg/registry/core/service
 */
import { invalid, required } from "../schema/field-error.ts";
import type { FieldError } from "../schema/schema.ts";
import { fallback, type KindRules, type Raw } from "./kind-rules.ts";

export const SERVICE_RULES: KindRules = {
  names: "label",
  defaults(service) {
    service.spec ??= {};
    const { spec } = service;
    fallback(spec, "type", "ClusterIP");
    fallback(spec, "sessionAffinity", "None");
    for (const port of spec.ports ?? []) {
      fallback(port, "protocol", "TCP");
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
    // Addresses come from the name: the same story gives the same addresses.
    spec.clusterIP ??= serviceAddress(`${service.metadata.namespace}/${service.metadata.name}`);
    spec.clusterIPs ??= [spec.clusterIP];
    fallback(spec, "ipFamilies", ["IPv4"]);
    fallback(spec, "ipFamilyPolicy", "SingleStack");
  },
  prepareUpdate(service, current) {
    const { spec } = service;
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
    (spec.ports ?? []).forEach((port: Raw, index: number) => {
      if (port.port === undefined || port.port < 1 || port.port > 65_535) {
        const text = "must be between 1 and 65535, inclusive";
        errors.push(invalid(`spec.ports[${index}].port`, port.port ?? 0, text));
      }
    });
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

/** An address in 10.96.0.0/12, from a hash of the service's key. */
function serviceAddress(key: string): string {
  if (key === "default/kubernetes") return "10.96.0.1";
  let hash = 2_166_136_261;
  for (const character of key) hash = Math.imul(hash ^ character.charCodeAt(0), 16_777_619) >>> 0;
  return `10.${96 + (hash & 15)}.${(hash >>> 4) & 255}.${2 + (((hash >>> 12) & 255) % 250)}`;
}
