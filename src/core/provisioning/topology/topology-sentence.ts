/**
 * Upstream's message for a topology rule that refuses a pod.
 * upstream: pkg/controllers/provisioning/scheduling/topology.go
 */
import { formatRequirement, type Requirement } from "../../scheduling/requirement.ts";
import type { TopologyGroup } from "./topology-group.ts";

/** The names of the kinds of rules in sentences. */
export const RULE_NAMES = {
  spread: "topology spread",
  affinity: "pod affinity",
  antiAffinity: "pod anti-affinity",
};
const MOST_SHOWN = 10;

/** The message. `counts`: pods by domain. `node`: the label's values that the node can have. Undefined: it has none. */
export function topologySentence(
  { type, key }: TopologyGroup,
  counts: readonly (readonly [domain: string, count: number])[],
  podDomains: Requirement,
  node: Requirement | undefined,
): string {
  const shown = counts
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .slice(0, MOST_SHOWN)
    .map(([domain, count]) => `${domain}:${count}`);
  const more = counts.length > MOST_SHOWN ? ",…" : "";
  const nodeDomains = node === undefined ? "none" : formatRequirement(node);
  return (
    `unsatisfiable topology constraint for ${RULE_NAMES[type]}, key=${key} ` +
    `(counts = ${shown.join(",")}${more}, ` +
    `podDomains = ${formatRequirement(podDomains)}, nodeDomains = ${nodeDomains})`
  );
}
