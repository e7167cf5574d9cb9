/**
 * Kinds around the workloads: Namespace, Node, Service, ConfigMap, Secret, PriorityClass,
 * PodDisruptionBudget, Lease, webhook configurations and CustomResourceDefinitions.
 * upstream: pkg/apis/<group>/v1/defaults.go, pkg/apis/<group>/validation, pkg/registry
 */
import { ruleProblems } from "../cel/rules.ts";
import { forbidden, invalid, required } from "../schema/field-error.ts";
import { labelValueProblems, nameProblems, qualifiedNameProblems } from "../schema/metadata.ts";
import type { FieldError } from "../schema/schema.ts";
import { fallback, type KindRules, type Raw } from "./kind-rules.ts";
import { validateImmutable, validateSelector } from "./selector-rules.ts";

/** The largest value that a user's PriorityClass may have. */
const HIGHEST_USER_PRIORITY = 1_000_000_000;
const TAINT_EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
const WEBHOOK_TIMEOUT_SECONDS = 10;

export const NAMESPACE_RULES: KindRules = {
  names: "label",
  defaults(namespace) {
    namespace.metadata.labels ??= {};
    fallback(namespace.metadata.labels, "kubernetes.io/metadata.name", namespace.metadata.name);
  },
  prepareCreate(namespace) {
    namespace.spec = { finalizers: ["kubernetes"] };
    namespace.status = { phase: "Active" };
  },
  prepareUpdate(namespace, current) {
    namespace.spec = current.spec;
  },
};

export const NODE_RULES: KindRules = {
  keepsStatusOnCreate: true,
  defaults(node) {
    node.spec ??= {};
    const status = node.status;
    if (status?.capacity !== undefined) fallback(status, "allocatable", { ...status.capacity });
  },
  validate(node, current) {
    const errors = validateTaints(node.spec?.taints);
    const before = current?.spec?.providerID ?? "";
    if (before !== "" && node.spec?.providerID !== before) {
      const text = 'node updates may not change providerID except from "" to valid';
      errors.push(forbidden("spec.providerID", text));
    }
    return errors;
  },
};

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
    fallback(spec, "ipFamilies", ["IPv4"]);
    fallback(spec, "ipFamilyPolicy", "SingleStack");
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
  },
  prepareUpdate(service, current) {
    const { spec } = service;
    if (spec.type === "ExternalName") return;
    if ((spec.clusterIP ?? "") === "") spec.clusterIP = current.spec.clusterIP;
    if (spec.clusterIPs === undefined) spec.clusterIPs = current.spec.clusterIPs;
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

export const CONFIG_MAP_RULES: KindRules = {
  validate: (map, current) => validateKeptImmutable(map, current),
};

export const SECRET_RULES: KindRules = {
  defaults(secret) {
    fallback(secret, "type", "Opaque");
  },
  prepareCreate: mergeStringData,
  prepareUpdate: mergeStringData,
  validate(secret, current) {
    const errors = validateKeptImmutable(secret, current);
    if (current !== undefined) errors.push(...validateImmutable(secret.type, current.type, "type"));
    return errors;
  },
};

export const PRIORITY_CLASS_RULES: KindRules = {
  defaults(priorityClass) {
    fallback(priorityClass, "preemptionPolicy", "PreemptLowerPriority");
    // Go writes numbers that were left out.
    fallback(priorityClass, "value", 0);
  },
  validate(priorityClass, current) {
    const { name } = priorityClass.metadata;
    const errors: FieldError[] = [];
    const isSystem = ["system-cluster-critical", "system-node-critical"].includes(name);
    if (name.startsWith("system-") && !isSystem) {
      const text = "priority class names with 'system-' prefix are reserved for system use only";
      errors.push(forbidden("metadata.name", text));
    }
    if (priorityClass.value > HIGHEST_USER_PRIORITY && !isSystem) {
      const text = `maximum allowed value of a user defined priority is ${HIGHEST_USER_PRIORITY}`;
      errors.push(forbidden("value", text));
    }
    if (current !== undefined && current.value !== priorityClass.value) {
      errors.push(forbidden("value", "may not be changed in an update."));
    }
    if (current !== undefined) {
      const field = "preemptionPolicy";
      errors.push(...validateImmutable(priorityClass[field], current[field], field));
    }
    return errors;
  },
};

export const BUDGET_RULES: KindRules = {
  validate({ spec = {} }) {
    const errors = validateSelector(spec.selector, "spec.selector");
    if (spec.minAvailable !== undefined && spec.maxUnavailable !== undefined) {
      const shown = { minAvailable: spec.minAvailable, maxUnavailable: spec.maxUnavailable };
      errors.push(invalid("spec", shown, "minAvailable and maxUnavailable cannot be both set"));
    }
    for (const field of ["minAvailable", "maxUnavailable"]) {
      const value = spec[field];
      if (typeof value === "number" && value < 0) {
        errors.push(invalid(`spec.${field}`, value, "must be greater than or equal to 0"));
      }
      if (typeof value === "string" && !/^\d+%$/.test(value)) {
        const text =
          "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  " +
          "or '93%', regex used for validation is '[0-9]+%')";
        errors.push(invalid(`spec.${field}`, value, text));
      } else if (typeof value === "string" && Number.parseInt(value, 10) > 100) {
        errors.push(invalid(`spec.${field}`, value, "must not be greater than 100%"));
      }
    }
    return errors;
  },
};

export const LEASE_RULES: KindRules = {
  validate({ spec = {} }) {
    const seconds = spec.leaseDurationSeconds;
    if (seconds === undefined || seconds > 0) return [];
    return [invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0")];
  },
};

export const WEBHOOK_RULES: KindRules = {
  defaults(configuration) {
    const isMutating = configuration.kind === "MutatingWebhookConfiguration";
    for (const webhook of configuration.webhooks ?? []) {
      fallback(webhook, "failurePolicy", "Fail");
      fallback(webhook, "matchPolicy", "Equivalent");
      fallback(webhook, "namespaceSelector", {});
      fallback(webhook, "objectSelector", {});
      fallback(webhook, "timeoutSeconds", WEBHOOK_TIMEOUT_SECONDS);
      if (isMutating) fallback(webhook, "reinvocationPolicy", "Never");
      for (const rule of webhook.rules ?? []) fallback(rule, "scope", "*");
      if (webhook.clientConfig?.service !== undefined) {
        fallback(webhook.clientConfig.service, "port", 443);
      }
    }
  },
};

export const ANY_NAME_RULES: KindRules = { names: "path" };

function mergeStringData(secret: Raw): void {
  if (secret.stringData === undefined) return;
  secret.data ??= {};
  for (const key of Object.keys(secret.stringData)) {
    secret.data[key] = Buffer.from(secret.stringData[key], "utf8").toString("base64");
  }
  delete secret.stringData;
}

function validateKeptImmutable(object: Raw, current: Raw | undefined): FieldError[] {
  if (current?.immutable !== true) return [];
  const text = "field is immutable when `immutable` is set";
  if (object.immutable !== true) return [forbidden("immutable", text)];
  const changed = JSON.stringify(object.data) !== JSON.stringify(current.data);
  return changed ? [forbidden("data", text)] : [];
}

function validateTaints(taints: readonly Raw[] | undefined): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  (taints ?? []).forEach((taint, index) => {
    const at = `metadata.taints[${index}]`;
    for (const text of qualifiedNameProblems(taint.key ?? "")) {
      errors.push(invalid(`${at}.key`, taint.key ?? "", text));
    }
    for (const text of labelValueProblems(taint.value ?? "")) {
      errors.push(invalid(`${at}.value`, taint.value, text));
    }
    if ((taint.effect ?? "") === "") errors.push(required(`${at}.effect`));
    else if (!TAINT_EFFECTS.includes(taint.effect)) {
      const list = TAINT_EFFECTS.map((effect) => `"${effect}"`).join(", ");
      errors.push({
        field: `${at}.effect`,
        reason: "FieldValueNotSupported",
        message: `Unsupported value: "${taint.effect}": supported values: ${list}`,
      });
    }
    const id = `${taint.key}:${taint.effect}`;
    if (seen.has(id)) {
      errors.push({
        field: at,
        reason: "FieldValueDuplicate",
        message: `Duplicate value: ${JSON.stringify(taint)}: taints must be unique by key and effect pair`,
      });
    }
    seen.add(id);
  });
  return errors;
}

/** An address in 10.96.0.0/12, from a hash of the service's key. */
function serviceAddress(key: string): string {
  if (key === "default/kubernetes") return "10.96.0.1";
  let hash = 2_166_136_261;
  for (const character of key) hash = Math.imul(hash ^ character.charCodeAt(0), 16_777_619) >>> 0;
  return `10.${96 + (hash & 15)}.${(hash >>> 4) & 255}.${2 + (((hash >>> 12) & 255) % 250)}`;
}

/** A CRD's defaults and what is refused before anything of it is served. */
export const CRD_RULES: KindRules = {
  defaults(crd) {
    const { names } = crd.spec ?? {};
    if (names?.kind !== undefined) {
      fallback(names, "singular", names.kind.toLowerCase());
      fallback(names, "listKind", `${names.kind}List`);
    }
    if (crd.spec !== undefined) fallback(crd.spec, "conversion", { strategy: "None" });
    const service = crd.spec?.conversion?.webhook?.clientConfig?.service;
    if (service !== undefined) fallback(service, "port", 443);
  },
  validate(crd) {
    const { spec = {}, metadata } = crd;
    const errors: FieldError[] = [];
    const wanted = `${spec.names?.plural}.${spec.group}`;
    if (metadata.name !== wanted) {
      const text = 'must be spec.names.plural+"."+spec.group';
      errors.push(invalid("metadata.name", metadata.name, text));
    }
    if ((spec.group ?? "") === "") errors.push(required("spec.group"));
    if (spec.scope === undefined) errors.push(required("spec.scope"));
    for (const name of ["plural", "kind"]) {
      if ((spec.names?.[name] ?? "") === "") errors.push(required(`spec.names.${name}`));
    }
    const versions: Raw[] = spec.versions ?? [];
    if (versions.filter((version) => version.storage === true).length !== 1) {
      const text = "must have exactly one version marked as storage version";
      errors.push(
        invalid(
          "spec.versions",
          versions.map(({ name }) => name),
          text,
        ),
      );
    }
    versions.forEach((version, index) => {
      for (const text of nameProblems(version.name ?? "", "label")) {
        errors.push(invalid(`spec.versions[${index}].name`, version.name ?? "", text));
      }
      const field = `spec.versions[${index}].schema.openAPIV3Schema`;
      if (version.schema?.openAPIV3Schema === undefined) {
        errors.push(required(field, "schemas are required"));
      } else {
        errors.push(...ruleProblems(version.schema.openAPIV3Schema, field));
      }
    });
    return errors;
  },
};
