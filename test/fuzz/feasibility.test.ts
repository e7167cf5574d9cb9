/**
 * Placement and explanation use the same check. A new node of a NodePool accepts a pod exactly if no stage of the
 * explanation refuses it. A refusal names the right object: without that object the answer differs.
 */
import { describe, expect, it } from "vitest";
import { atOnce } from "../../src/base/steps.ts";
import type { PodClass, Variant } from "../../src/core/provisioning/batch/pod-class.ts";
import { admittedSet } from "../../src/core/provisioning/feasibility/admission.ts";
import { Attempt } from "../../src/core/provisioning/feasibility/attempt.ts";
import type { NodeRefusal } from "../../src/core/provisioning/feasibility/node-refusal.ts";
import { typeRefusals } from "../../src/core/provisioning/feasibility/type-refusals.ts";
import { ExistingNode } from "../../src/core/provisioning/nodes/existing-node.ts";
import { NewNodeClaim } from "../../src/core/provisioning/nodes/new-nodeclaim.ts";
import { type Template, unlimited } from "../../src/core/provisioning/pools/pool-template.ts";
import { rowsUnder } from "../../src/core/provisioning/pools/whole-types.ts";
import { hardestVariants, refusalByNewNode } from "../../src/core/provisioning/refusals/explain.ts";
import { type Batch, prepare } from "../../src/core/provisioning/solve.ts";
import { allBits, bitIndices, commonBits, hasBit } from "../../src/core/scheduling/bits.ts";
import { anyValue } from "../../src/core/scheduling/requirement.ts";
import { Requirements } from "../../src/core/scheduling/requirements.ts";
import type { NodeView } from "../../src/core/state/node-view.ts";
import { drawScenario } from "./draw.ts";
import { inputOf } from "./ours.ts";

const SEEDS = 250;

type Base = Batch["base"];

/** Asks whether a new node of the NodePool accepts a pod. */
interface NewNodeQuestion {
  readonly base: Base;
  readonly template: Template;
  readonly podClass: PodClass;
  readonly variant: Variant;
}

const batches = Array.from({ length: SEEDS }, (_, seed) =>
  atOnce(prepare(inputOf(drawScenario(seed)))),
);

/** Asks about each pod class of each random batch. Questions do not change the batch. */
function eachClass(ask: (base: Base, podClass: PodClass, variant: Variant) => void): void {
  for (const { base, classes } of batches)
    for (const podClass of classes)
      for (const variant of hardestVariants(podClass, base)) ask(base, podClass, variant);
}

describe("a new node in the planner", () => {
  it("accepts a pod exactly if no stage of the explanation refuses it", () => {
    const answers = { takes: 0, refuses: 0 };
    eachClass((base, podClass, variant) => {
      for (const template of base.templates) {
        const question = { base, template, podClass, variant };
        const takes = isTaken(question);
        answers[takes ? "takes" : "refuses"]++;
        const refusal = refusalByNewNode({
          template,
          pod: podClass.sample,
          podClass,
          variant,
          pass: base,
        });
        expect(takes, JSON.stringify(refusal)).toBe(refusal === undefined);
      }
    });
    expect(Math.min(answers.takes, answers.refuses)).toBeGreaterThan(100);
  });

  it("gives another answer without the object that a refusal names", () => {
    const stages = new Set<string>();
    eachClass((base, podClass, variant) => {
      for (const template of base.templates) {
        const refusal = refusalByNewNode({
          template,
          pod: podClass.sample,
          podClass,
          variant,
          pass: base,
        });
        const [stage] = Object.keys(refusal?.rejected ?? {}).slice(-1);
        const lifted = stage && liftedByStage[stage]?.({ base, template, podClass, variant });
        if (refusal === undefined || !lifted) continue;
        stages.add(stage);
        const other = refusalByNewNode({ ...lifted, pod: lifted.podClass.sample, pass: base });
        expect(other?.text).not.toBe(refusal.text);
      }
    });
    expect([...stages].sort()).toEqual(Object.keys(liftedByStage).sort());
  });
});

describe("an instance type in the planner", () => {
  it("refuses a pod exactly if one column of the table excludes it", () => {
    const stages = new Set<string>();
    const volumes = Requirements.NONE;
    eachClass(({ templates, context: { space } }, { requests }, variant) => {
      for (const template of templates) {
        const set = admittedSet(template, variant, space);
        if (set === undefined) continue;
        const { table } = template;
        const requirements = space.get(set);
        const asked = { requests, requirements, volumes, attaching: undefined };
        const left = commonBits(table.compatible(set), table.holding(requests));
        for (const row of bitIndices(rowsUnder(table, allBits(table.size), requirements))) {
          const refusals = typeRefusals(table, row, asked);
          expect(refusals.length === 0).toBe(hasBit(left, row));
          for (const { stage } of refusals) stages.add(stage);
        }
      }
    });
    expect([...stages].sort()).toEqual(["noOffering", "offerings", "requirements", "resources"]);
  });
});

describe("an existing node in the planner", () => {
  it("gives another answer without the object that a refusal names", () => {
    const stages = new Set<string>();
    eachClass((base, podClass, variant) => {
      for (const node of base.nodes) {
        const attemptOf = (as: Variant) =>
          new Attempt(base.context, { pod: podClass.sample, podClass, variant: as });
        const ask = (asked: ExistingNode, as = variant) => asked.refusal(attemptOf(as));
        const refusal = ask(node);
        const verdict = node.accepts(attemptOf(variant));
        expect(verdict === "yes").toBe(refusal === undefined);
        if (refusal === undefined) continue;
        stages.add(refusal.stage);
        const fresh = new ExistingNode(withoutObject(node.view, refusal), []);
        expect(ask(fresh, withoutRule(variant, refusal))).not.toEqual(refusal);
      }
    });
    expect([...stages].sort()).toEqual([
      "hostPorts",
      "requirements",
      "resources",
      "taints",
      "topology",
    ]);
  });
});

function isTaken({ base, template, podClass, variant }: NewNodeQuestion): boolean {
  const { context, claims } = base;
  if (template.limitsLeft.exhausted) return false;
  const claim = new NewNodeClaim(claims.size, template, template.limitsLeft.within, context);
  return claim.accepts(podClass.sample, podClass, variant).fit !== undefined;
}

const liftedByStage: Readonly<Record<string, (one: NewNodeQuestion) => NewNodeQuestion>> = {
  taints: (one) => ({ ...one, template: { ...one.template, taints: [] } }),
  requirements: (one) => ({
    ...one,
    variant: { ...one.variant, hostname: undefined, set: 0 } as Variant,
  }),
  resources: (one) => ({ ...one, podClass: { ...one.podClass, requests: {} } }),
  limits: (one) => ({ ...one, template: unlimited(one.template) }),
  topology: (one) => ({
    ...one,
    variant: { ...one.variant, rules: [], hostRules: [], narrowingRules: [] },
  }),
};

/** The node without the object that the refusal names. */
function withoutObject(view: NodeView, refusal: NodeRefusal): NodeView {
  switch (refusal.stage) {
    case "taints":
      return { ...view, taints: view.taints.filter((one) => one !== refusal.taint) };
    case "resources": {
      const { resource, requested, left } = refusal;
      const available = { ...view.available };
      available[resource] = (available[resource] ?? 0) + requested + Math.abs(left);
      return { ...view, available };
    }
    case "requirements": {
      const { [refusal.requirement.key]: _, ...others } = view.labels;
      const value = anyValue(refusal.requirement);
      const own = value === undefined ? {} : { [refusal.requirement.key]: value };
      return { ...view, labels: { ...others, ...own } };
    }
    case "hostPorts":
      return { ...view, pods: [] };
    default:
      return view;
  }
}

function withoutRule(variant: Variant, refusal: NodeRefusal): Variant {
  if (refusal.stage !== "topology") return { ...variant, metNodes: variant.deadNodes };
  const others = (rules: Variant["rules"]) => rules.filter((one) => one !== refusal.rule);
  const { hostRules, narrowingRules } = variant;
  return { ...variant, hostRules: others(hostRules), narrowingRules: others(narrowingRules) };
}
