/**
 * Rules of small kinds: Namespace, PriorityClass, PodDisruptionBudget, Lease, webhook configurations, CSINode
 * and CSIDriver.
 * upstream: pkg/apis/<group>/v1/defaults.go, pkg/apis/<group>/validation, pkg/registry
 */
import { compileIn } from "../cel/conditions.ts";
import { forbidden, invalid, notSupported, required } from "../schema/field-error.ts";
import type { FieldError } from "../schema/schema.ts";
import { fallback, type KindRules, type Raw } from "./kind-rules.ts";
import { validateImmutable, validateSelector } from "./selector-rules.ts";
import { driverNameErrors } from "./storage-rules.ts";
import { webhookUrlErrors } from "./webhook-url.ts";

/** The largest value that a user's PriorityClass may have. */
const HIGHEST_USER_PRIORITY = 1_000_000_000;
const WEBHOOK_TIMEOUT_SECONDS = 10;
const REVIEWS = ["v1", "v1beta1"];

/** Rules of a Namespace: defaults, the first status, and the fields that an update cannot change. */
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

/** Defaults and validation of a PriorityClass. */
export const PRIORITY_CLASS_RULES: KindRules = {
  defaults(priorityClass) {
    fallback(priorityClass, "preemptionPolicy", "PreemptLowerPriority");
    // Go does not omit this number, so a missing value is written as 0.
    fallback(priorityClass, "value", 0);
  },
  validate(priorityClass, current) {
    const { name } = priorityClass.metadata;
    const errors: FieldError[] = [];
    const isSystem = ["system-cluster-critical", "system-node-critical"].includes(name);
    if (name.startsWith("system-") && !isSystem) {
      const text = `priority class names with 'system-' prefix are reserved for system use only. error: ${name} is not a known system priority class`;
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

/** Validation of a PodDisruptionBudget, and its first status. */
export const BUDGET_RULES: KindRules = {
  prepareCreate(budget) {
    budget.status = {
      disruptionsAllowed: 0,
      currentHealthy: 0,
      desiredHealthy: 0,
      expectedPods: 0,
    };
  },
  validate({ spec = {} }) {
    const errors = validateSelector(spec.selector, "spec.selector");
    if (spec.minAvailable !== undefined && spec.maxUnavailable !== undefined) {
      // The error shows Go's struct of the budget's spec, with these field names.
      const shown = {
        MinAvailable: spec.minAvailable,
        Selector: spec.selector ?? null,
        MaxUnavailable: spec.maxUnavailable,
        UnhealthyPodEvictionPolicy: spec.unhealthyPodEvictionPolicy ?? null,
      };
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

/** Validation of a Lease. */
export const LEASE_RULES: KindRules = {
  validate({ spec = {} }) {
    const seconds = spec.leaseDurationSeconds;
    if (seconds === undefined || seconds > 0) return [];
    return [invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0")];
  },
};

const WEBHOOK_OPERATIONS = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];

/** Defaults and validation of a webhook configuration. */
export const WEBHOOK_RULES: KindRules = {
  validate(configuration) {
    return (configuration.webhooks ?? []).flatMap((webhook: Raw, index: number) =>
      webhookErrors(webhook, `webhooks[${index}]`),
    );
  },
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

/** Errors of one webhook. upstream: pkg/apis/admissionregistration/validation */
function webhookErrors(webhook: Raw, at: string): FieldError[] {
  const errors: FieldError[] = [];
  const { name = "", timeoutSeconds, sideEffects, failurePolicy, clientConfig = {} } = webhook;
  if (name.split(".").length < 3) {
    const text = "should be a domain with at least three segments separated by dots";
    errors.push(invalid(`${at}.name`, name, text));
  }
  if (!(webhook.admissionReviewVersions ?? []).some((version: string) => REVIEWS.includes(version)))
    errors.push(required(`${at}.admissionReviewVersions`, "must specify one of v1, v1beta1"));
  (webhook.rules ?? []).forEach((rule: Raw, index: number) => {
    (rule.operations ?? []).forEach((operation: string, position: number) => {
      const field = `${at}.rules[${index}].operations[${position}]`;
      if (!WEBHOOK_OPERATIONS.includes(operation))
        errors.push(notSupported(field, operation, WEBHOOK_OPERATIONS));
    });
  });
  if (!["Fail", "Ignore"].includes(failurePolicy))
    errors.push(notSupported(`${at}.failurePolicy`, failurePolicy, ["Fail", "Ignore"]));
  const effects = ["None", "NoneOnDryRun"];
  if (sideEffects === undefined)
    errors.push(required(`${at}.sideEffects`, 'must specify one of "None", "NoneOnDryRun"'));
  else if (!effects.includes(sideEffects))
    errors.push(notSupported(`${at}.sideEffects`, sideEffects, effects));
  if (timeoutSeconds < 1 || timeoutSeconds > 30) {
    const text = "the timeout value must be between 1 and 30 seconds";
    errors.push(invalid(`${at}.timeoutSeconds`, timeoutSeconds, text));
  }
  if ((clientConfig.url === undefined) === (clientConfig.service === undefined))
    errors.push(required(`${at}.clientConfig`, "exactly one of url or service is required"));
  if (clientConfig.url !== undefined)
    errors.push(...webhookUrlErrors(`${at}.clientConfig.url`, clientConfig.url));
  (webhook.matchConditions ?? []).forEach(({ expression }: Raw, index: number) => {
    const program = compileIn("webhook", expression);
    const field = `${at}.matchConditions[${index}].expression`;
    if (typeof program === "string")
      errors.push(invalid(field, expression, `compilation failed: ERROR: ${program}`));
  });
  return errors;
}

/** Defaults and validation of a CSINode. */
export const CSI_NODE_RULES: KindRules = {
  defaults({ spec = {} }) {
    for (const driver of spec.drivers ?? []) fallback(driver, "topologyKeys", null);
  },
  validate: ({ spec = {} }) =>
    (spec.drivers ?? []).flatMap(({ name = "" }: Raw, index: number) =>
      driverNameErrors(name, `spec.drivers[${index}].name`),
    ),
};

/** Defaults of a CSIDriver. */
export const CSI_DRIVER_RULES: KindRules = {
  defaults({ spec = {} }) {
    fallback(spec, "attachRequired", true);
    fallback(spec, "podInfoOnMount", false);
    fallback(spec, "storageCapacity", false);
    fallback(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
    fallback(spec, "volumeLifecycleModes", ["Persistent"]);
    fallback(spec, "requiresRepublish", false);
    fallback(spec, "seLinuxMount", false);
  },
};
