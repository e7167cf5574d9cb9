/**
 * `npm run bench -- repack [N] [--quick] [C-name …]`: plays the C-* scenarios in memory, without a cluster. Nodes are
 * first provisioned for all pods by upstream's greedy rules. Then pods are removed, and the disruption loop runs to its
 * end, as `karpenter simulate` plays it.
 * Prints the settled cost over the lower bound (bound.ts) with repack and without, the pods moved, and the moves per
 * dollar saved. Decisions are those of the real loop. Pods are assumed to go where the plan put them; bench/settled
 * uses a real control plane.
 */
import type { NodePool } from "../src/apis/karpenter/nodepool.ts";
import { atOnce } from "../src/base/steps.ts";
import { pictureOf } from "../src/cli/answers/read-picture.ts";
import { modelOf } from "../src/cli/answers/simulate.ts";
import type { PlanningInput } from "../src/cli/plan/planning-input.ts";
import type { Model } from "../src/core/answers/model.ts";
import { type PlanPass, provision, type Rehearsal, rehearse } from "../src/core/answers/rehearsal.ts";
import { type Totals, totalsOf } from "../src/core/answers/totals.ts";
import { DEFAULT_PLANNER, GREEDY_PLANNER } from "../src/core/planner/planner-options.ts";
import { planBatchInSteps } from "../src/core/planner/plan-batch.ts";
import type { SchedulingInput } from "../src/core/provisioning/scheduling-input.ts";
import { nodeView, type NodeView } from "../src/core/state/node-view.ts";
import { parseOptions } from "../src/operator/settings/parse-options.ts";
import { settingsOf } from "../src/operator/create-operator.ts";
import { lowerBound } from "./bound.ts";
import { chosenC, type ScenarioC, survivors, workloadOf } from "./scenarios-c.ts";
import { cells, dollars, percent } from "./table.ts";
import { inputOf } from "./workload.ts";

const DAY_MS = 24 * 60 * 60_000;
const HEAD = ["scenario", "nodes", "pods", "bound $/h", "before", "settled without repack", "with repack", "pods moved: without, with", "moved for a dollar an hour", "commands", "seconds"];

export async function repack(args: readonly string[]): Promise<void> {
  const nodes = Number(args.find((arg) => /^\d+$/.test(arg)) ?? 100);
  const names = args.filter((arg) => /^[CT]-/.test(arg));
  print(HEAD);
  print(HEAD.map(() => "---"));
  for (const scenario of chosenC(names, nodes)) {
    const bound = await lowerBound(workloadOf(scenario, "down"), args.includes("--quick") || scenario.bound === "quick");
    const start = startOf(scenario);
    const plain = settle(start, "false");
    const packed = settle(start, "true");
    const { before } = start;
    const over = (micro: number) => `${dollars(micro)} (${percent(micro / bound - 1)})`;
    const [a, b] = [plain, packed].map(movedIn) as [number, number];
    const perDollar = (rehearsal: Rehearsal, moved: number) => {
      const saved = before.priceMicroUsdPerHour - atOnce(totalsOf(rehearsal.model)).priceMicroUsdPerHour;
      return saved <= 0 ? "-" : (moved / (saved / 1e6)).toFixed(1);
    };
    print([
      scenario.name,
      `${before.nodes} -> ${atOnce(totalsOf(plain.model)).nodes}, ${atOnce(totalsOf(packed.model)).nodes}`,
      String(before.pods),
      dollars(bound),
      over(before.priceMicroUsdPerHour),
      over(atOnce(totalsOf(plain.model)).priceMicroUsdPerHour),
      over(atOnce(totalsOf(packed.model)).priceMicroUsdPerHour),
      `${a}, ${b}`,
      `${perDollar(plain, a)}, ${perDollar(packed, b)}`,
      `${commandsIn(plain)}, ${commandsIn(packed)}${plain.ended === "settled" ? "" : ` ${plain.ended}`}${packed.ended === "settled" ? "" : ` ${packed.ended}`}`,
      `${plain.seconds.toFixed(1)}, ${packed.seconds.toFixed(1)}`,
    ]);
  }
}

interface Start {
  readonly before: Totals;
  readonly made: number;
  readonly planning: PlanningInput;
  readonly natives: readonly NodePool[];
}

/**
 * The start: nodes for all pods, launched by upstream's greedy rules. Then all but the remaining pods are removed.
 */
export function startOf(scenario: ScenarioC): Start {
  const workload = workloadOf(scenario, "up");
  const input = inputOf(workload);
  const natives = workload.nodePools;
  const greedy: PlanPass = (one) => planBatchInSteps(one, GREEDY_PLANNER);
  const { model: full } = atOnce(provision(modelFor(input, natives, "false"), greedy));
  if (full.made === 0) throw new Error(`${scenario.name}: nothing to provision`);
  const left = new Set(
    scenario.deployments.flatMap((one) => survivors(one).map((index) => `${one.name}-${index}`)),
  );
  const nodes = full.picture.nodes.map((node) => shrunk(node, left));
  const planning = planningOf({ ...input, pods: [], nodes, nowMs: 60_000 });
  // `made` counts the existing nodes, because names of new nodes continue their numbers.
  return { natives, planning, made: full.made, before: atOnce(totalsOf(modelFor(planning.input, natives, "true"))) };
}

function shrunk(node: NodeView, left: ReadonlySet<string>): NodeView {
  return nodeView({
    node: node.node,
    claim: node.claim,
    pods: node.pods.filter(({ metadata: { name } }) => left.has(name)),
    marked: false,
    nominatedUntilMs: 0,
  });
}

function planningOf(input: SchedulingInput): PlanningInput {
  const owners = new Set(input.pools.map(({ pool }) => pool.id));
  return { input, pools: input.pools, foreign: new Set(), owners } as unknown as PlanningInput;
}

function modelFor(input: SchedulingInput, natives: readonly NodePool[], repacks: string): Model {
  const settings = settingsOf(parseOptions({ "consolidation-repack": repacks }, {}));
  const planning = planningOf(input);
  const picture = pictureOf({ pools: natives, budgets: [], claims: [], workloads: [], volumeClaims: [] }, planning, settings);
  return modelOf({ picture, planning, settings } as Parameters<typeof modelOf>[0]);
}

export function settle({ planning, natives, made }: Start, repacks: string): Rehearsal & { readonly seconds: number } {
  const started = performance.now();
  const model = { ...modelFor(planning.input, natives, repacks), made };
  const plan: PlanPass = (one) => planBatchInSteps(one, DEFAULT_PLANNER);
  const done = atOnce(rehearse(model, plan, { untilMs: model.picture.nowMs + 7 * DAY_MS }));
  return { ...done, seconds: (performance.now() - started) / 1_000 };
}

function movedIn({ steps }: Rehearsal): number {
  return steps.flatMap(({ moves }) => moves).filter(({ from, to }) => from !== undefined && from !== to).length;
}

function commandsIn({ steps }: Rehearsal): number {
  return steps.filter(({ kind }) => kind === "command").length;
}

function print(texts: readonly string[]): void {
  process.stdout.write(`${cells(texts)}\n`);
}
