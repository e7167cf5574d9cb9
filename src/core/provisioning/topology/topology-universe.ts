/** The domains in which new nodes can be launched. A topology rule knows these domains before any node exists. */
import { HOSTNAME_LABEL_KEY } from "../../../apis/karpenter/labels.ts";
import { isEmptyBits } from "../../scheduling/bits.ts";
import type { RequirementSpace, SetId } from "../../scheduling/requirement-space.ts";
import { areTolerated } from "../../scheduling/taints.ts";
import type { Template } from "../pools/pool-template.ts";
import type { GroupShape, NodeFilter } from "./topology-group.ts";

/**
 * The domains of this rule, with the count 0: values of its label with which a NodePool can launch a node that the rule
 * counts over. Upstream also takes values that no available offering has. Then a spread over capacity types waits for
 * spot in a zone that sells none.
 */
export function universeOf(
  { key, filter }: GroupShape,
  templates: readonly Template[],
  space: RequirementSpace,
): Map<string, number> {
  const counts = new Map<string, number>();
  if (key === HOSTNAME_LABEL_KEY) return counts;
  for (const template of templates) {
    const { tolerations } = filter;
    if (tolerations !== undefined && !areTolerated(tolerations, template.taints)) continue;
    for (const set of eligibleSets(template, filter, space)) {
      const requirement = space.get(set).get(key);
      const bits = template.table.compatible(set);
      if (isEmptyBits(bits)) continue;
      const values = template.table.valuesOf(bits, requirement).filter((value) => {
        const narrowed = space.narrow(set, key, [value]);
        return narrowed !== undefined && !isEmptyBits(template.table.compatible(narrowed));
      });
      const own = requirement.complement ? [] : requirement.values;
      for (const domain of values.length > 0 ? values : own) counts.set(domain, 0);
    }
  }
  return counts;
}

function eligibleSets(
  template: Template,
  { requirements }: NodeFilter,
  space: RequirementSpace,
): readonly SetId[] {
  if (requirements === undefined) return [template.set];
  return requirements
    .map((one) => space.join(template.set, space.intern(one)))
    .filter((set) => set !== undefined);
}
