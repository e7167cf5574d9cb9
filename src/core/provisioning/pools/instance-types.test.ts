import { describe, expect, it } from "vitest";
import { atOnce } from "../../../base/steps.ts";
import { instanceType, pod, poolInput, schedulingInput } from "../../../testing/builders.ts";
import { noBits } from "../../scheduling/bits.ts";
import { Requirements } from "../../scheduling/requirements.ts";
import { prepare } from "../solve.ts";

const ZONE = "topology.kubernetes.io/zone";

function tableOf(zones: readonly string[], ...cpus: readonly number[]) {
  const types = cpus.map((cpu) => instanceType({ cpu, zones, overhead: {} }));
  const input = schedulingInput({ pods: [pod()], pools: [poolInput({}, types)] });
  const { base } = atOnce(prepare(input));
  const [template] = base.templates as [(typeof base.templates)[number]];
  return { ...template, space: base.context.space };
}

describe("hasFitting", () => {
  it("is computed separately for other types, requirements and requests", () => {
    const { table, usable, set, space } = tableOf(["zone-a"], 2, 4);
    const [three, five] = [{ cpu: 3_000 }, { cpu: 5_000 }];
    for (let time = 0; time < 2; time++) {
      expect(table.hasFitting(usable, set, three)).toBe(true);
      expect(table.hasFitting(usable, set, five)).toBe(false);
      expect(table.hasFitting(noBits(table.size), set, three)).toBe(false);
      const elsewhere = space.intern(Requirements.fromLabels({ [ZONE]: "zone-b" }));
      expect(table.hasFitting(usable, elsewhere, three)).toBe(false);
    }
  });
});
