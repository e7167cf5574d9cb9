/**
 * Rules of Nodes: the status of the first write is kept (the kubelet sends it), providerID can be set only
 * once, taints must be valid.
 * upstream: pkg/apis/core/validation ValidateNode, ValidateNodeUpdate
 */
import { forbidden, invalid, notSupported, required } from "../schema/field-error.ts";
import { labelValueProblems, qualifiedNameProblems } from "../schema/metadata.ts";
import type { FieldError } from "../schema/schema.ts";
import { fallback, type KindRules, nullTimes, type Raw } from "./kind-rules.ts";

const TAINT_EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

const NO_NODE_INFO = {
  machineID: "",
  systemUUID: "",
  bootID: "",
  kernelVersion: "",
  osImage: "",
  containerRuntimeVersion: "",
  kubeletVersion: "",
  kubeProxyVersion: "",
  operatingSystem: "",
  architecture: "",
};

/** Defaults and validation of a Node. */
export const NODE_RULES: KindRules = {
  keepsStatusOnCreate: true,
  defaults(node) {
    node.spec ??= {};
    node.status ??= {};
    const { status } = node;
    if (status.capacity !== undefined) fallback(status, "allocatable", { ...status.capacity });
    // Go does not omit these structs and times when they are empty.
    fallback(status, "daemonEndpoints", { kubeletEndpoint: { Port: 0 } });
    status.nodeInfo = { ...NO_NODE_INFO, ...status.nodeInfo };
    nullTimes(status.conditions, ["lastHeartbeatTime", "lastTransitionTime"]);
  },
  validate(node, current) {
    const errors = validateTaints(node.spec?.taints);
    // kube-apiserver validates an update twice, as a new node and as a change. So each error appears twice.
    if (current !== undefined) errors.push(...errors);
    const before = current?.spec?.providerID ?? "";
    if (before !== "" && node.spec?.providerID !== before) {
      const text = 'node updates may not change providerID except from "" to valid';
      errors.push(forbidden("spec.providerID", text));
    }
    return errors;
  },
};

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
      errors.push(notSupported(`${at}.effect`, taint.effect, TAINT_EFFECTS));
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
