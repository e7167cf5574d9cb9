/** An edit of the engine as a field that the owner of an object can change. */
import { formatResource } from "../../apis/resources.ts";
import type { Edit, PodEdit, PoolEdit } from "../../core/answers/fixes/edits.ts";

export interface PlannedEdit {
  /** Kind and name: `Pod shop/web-0`, `NodePool default`. */
  readonly object: string;
  readonly field: string;
  readonly action: "add" | "set" | "remove";
  readonly value: string;
  /** The value that `set` replaces. */
  readonly from?: string;
}

/** Describes an edit. `pod` is `namespace/name`. */
export function plannedEdit(edit: Edit, pod: string): PlannedEdit {
  return edit.on === "pod"
    ? { object: `Pod ${pod}`, ...podField(edit) }
    : { object: poolName(edit.poolId), ...poolField(edit, edit.poolId.startsWith("provisioner/")) };
}

function podField(edit: PodEdit): Omit<PlannedEdit, "object"> {
  switch (edit.change) {
    case "tolerate": {
      const { key, operator, value, effect } = edit.toleration;
      const taint = operator === "Exists" ? `${key}:${effect}` : `${key}=${value}:${effect}`;
      return { field: "spec.tolerations", action: "add", value: taint };
    }
    case "dropKey":
      return {
        field: "spec.nodeSelector, spec.affinity.nodeAffinity",
        action: "remove",
        value: edit.key,
      };
    case "renameKey":
      return {
        field: "spec.nodeSelector, spec.affinity.nodeAffinity",
        action: "set",
        value: edit.meant,
        from: edit.key,
      };
    case "request":
      return {
        field: `${holder(edit)}resources.requests.${edit.resource}`,
        action: "set",
        value: formatResource(edit.resource, edit.to),
        from: formatResource(edit.resource, edit.from),
      };
    case "dropRule":
      return { field: RULES[edit.rule], action: "remove", value: edit.topologyKey };
    case "loosen":
      return {
        field: `${RULES.spread}[${edit.topologyKey}].${edit.field}`,
        action: "set",
        value: String(edit.to),
        from: String(edit.from),
      };
    case "dropHostPort":
      return {
        field: edit.of.map((list) => `spec.${list}[].ports`).join(", "),
        action: "remove",
        value: String(edit.port),
      };
  }
}

function holder({ container, isInit }: PodEdit & { readonly change: "request" }): string {
  if (container === undefined) return "spec.";
  return `spec.${isInit ? "initContainers" : "containers"}[${container}].`;
}

const RULES = {
  spread: "spec.topologySpreadConstraints",
  affinity: "spec.affinity.podAffinity",
  antiAffinity: "spec.affinity.podAntiAffinity",
} as const;

/** The field of a pool. A Provisioner has no template, so its paths are shorter. */
function poolField(edit: PoolEdit, flat: boolean): Omit<PlannedEdit, "object"> {
  const requirements = flat ? "spec.requirements" : "spec.template.spec.requirements";
  switch (edit.change) {
    case "limit":
      return {
        field: `${flat ? "spec.limits.resources" : "spec.limits"}.${edit.resource}`,
        action: "set",
        value: formatResource(edit.resource, edit.to),
        from: formatResource(edit.resource, edit.from),
      };
    case "allow":
      return { field: requirements, action: "add", value: `${edit.key}=${edit.value}` };
    case "label":
      return {
        field: flat ? "spec.labels" : "spec.template.metadata.labels",
        action: "add",
        value: `${edit.key}=${edit.value}`,
      };
    case "minValues":
      return {
        field: `${requirements}[${edit.key}].minValues`,
        action: "set",
        value: String(edit.to),
        from: String(edit.from),
      };
  }
}

function poolName(poolId: string): string {
  const at = poolId.indexOf("/");
  return `${poolId.startsWith("provisioner/") ? "Provisioner" : "NodePool"} ${poolId.slice(at + 1)}`;
}
