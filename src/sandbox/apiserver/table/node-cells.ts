/** The row of a node. upstream: pkg/printers/internalversion/printers.go printNode */
import type { Raw } from "../registry/kind-rules.ts";
import { ageCell } from "./age.ts";
import { NONE } from "./cell.ts";

const ROLE_PREFIX = "node-role.kubernetes.io/";
const ROLE_LABEL = "kubernetes.io/role";

/** The cells of a node, in the order of its columns in data/kubernetes. */
export function nodeCells(node: Raw, nowMs: number): readonly unknown[] {
  const info = node.status?.nodeInfo ?? {};
  return [
    node.metadata.name,
    statusCell(node),
    rolesCell(node.metadata.labels ?? {}),
    ageCell(node, nowMs),
    info.kubeletVersion ?? "",
    address(node, "InternalIP"),
    address(node, "ExternalIP"),
    info.osImage || "<unknown>",
    info.kernelVersion || "<unknown>",
    info.containerRuntimeVersion || "<unknown>",
  ];
}

function statusCell(node: Raw): string {
  const ready = (node.status?.conditions ?? []).find(({ type }: Raw) => type === "Ready");
  const words = [ready === undefined ? "Unknown" : ready.status === "True" ? "Ready" : "NotReady"];
  if (node.spec?.unschedulable === true) words.push("SchedulingDisabled");
  return words.join(",");
}

function rolesCell(labels: Readonly<Record<string, string>>): string {
  const roles = new Set<string>();
  for (const key of Object.keys(labels)) {
    if (key.startsWith(ROLE_PREFIX) && key.length > ROLE_PREFIX.length) {
      roles.add(key.slice(ROLE_PREFIX.length));
    } else if (key === ROLE_LABEL && labels[key] !== "") roles.add(labels[key] as string);
  }
  return roles.size === 0 ? NONE : [...roles].sort().join(",");
}

function address(node: Raw, type: string): string {
  const found = (node.status?.addresses ?? []).find((entry: Raw) => entry.type === type);
  return found?.address ?? NONE;
}
