/**
 * Plans the same scenarios with sigs.k8s.io/karpenter (bench/upstream) and with our greedy rules. karpenter-ts
 * must place every pod that upstream places, and cost no more if both place all. Each difference must belong to a
 * class of differences.ts, and each more expensive plan to one of dearer.ts. Otherwise the run fails. Needs Go.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Random } from "../../src/base/random.ts";
import type { Plan } from "../../src/cli/plan/plan.ts";
import { DEFAULT_PLANNER, GREEDY_PLANNER } from "../../src/core/planner/planner-options.ts";
import { goEnv } from "../cluster/go-env.ts";
import { outcomesOf } from "../validator/places.ts";
import { factsOf, type Scenario } from "../validator/validate.ts";
import { classifyDearer, type Dearer } from "./dearer.ts";
import { classify, type Lots } from "./differences.ts";
import { drawScenario } from "./draw.ts";
import { planned, plannedToTheLetter } from "./ours.ts";
import { asItComesUp, type Promised, refusedInTheEnd } from "./scheduler.ts";
import { labelledPlans, settledPlans } from "./settled.ts";

/** A plan as bench/upstream prints it. */
export interface Outcome {
  readonly newNodeClaims:
    | readonly {
        readonly nodePool: string;
        readonly pods: readonly string[];
        readonly requirements: Plan["newNodeClaims"][number]["requirements"];
        readonly instanceTypes: readonly string[];
        readonly priceMicroUsdPerHour: number;
      }[]
    | null;
  /** The existing node of each pod that is placed on one. */
  readonly existing: Readonly<Record<string, string>>;
  /** The reason for each pod without a place. */
  readonly unschedulable: Readonly<Record<string, string>>;
  readonly error?: string;
}

interface Tally {
  pods: number;
  same: number;
  /** Our price and upstream's, for scenarios in which both place all pods. */
  readonly ratios: Ratio[];
  readonly classes: Map<string, number[]>;
  readonly unexplained: string[];
}

interface Ratio {
  readonly seed: number;
  readonly ours: number;
  readonly theirs: number;
}

const EAGER = {
  ...DEFAULT_PLANNER,
  minPods: 0,
  minSaving: 0,
  nodeMicroUsdPerHour: 0,
  baseWork: 20_000,
};

const OTHER_RUNS = 20;
/** Largest number of combinations of open zones and labels that are checked with kube-scheduler. */
const MOST_WAYS = 200;

/** Returns the exit code. */
export function againstUpstream(first: number, count: number): number {
  const folder = mkdtempSync(join(tmpdir(), "karpenter-fuzz-"));
  try {
    const program = join(folder, "upstream");
    const home = fileURLToPath(new URL("../../bench/upstream", import.meta.url));
    run("go", ["build", "-o", program, "."], home);
    const scenarios = Array.from({ length: count }, (_, at) => drawScenario(first + at));
    const file = join(folder, "scenarios.ndjson");
    const askAll = (some: readonly Scenario[]): Outcome[] => {
      writeFileSync(file, some.map((one) => `${JSON.stringify(one)}\n`).join(""));
      const lines = run(program, ["-scenarios", file]).trimEnd().split("\n");
      return lines.map((line) => JSON.parse(line) as Outcome);
    };
    const tally: Tally = {
      pods: 0,
      same: 0,
      ratios: [],
      classes: new Map(),
      unexplained: [],
    };
    const answers = askAll(scenarios);
    scenarios.forEach((scenario, at) => {
      compare(scenario, answers[at] as Outcome, first + at, tally, askAll);
    });
    print(count, tally);
    return tally.unexplained.length === 0 ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function compare(
  scenario: Scenario,
  theirs: Outcome,
  seed: number,
  tally: Tally,
  askAll: (scenarios: readonly Scenario[]) => readonly Outcome[],
): void {
  /** Several runs of upstream, which picks randomly among equals. */
  const askAgain = (one: Scenario) => askAll(Array<Scenario>(OTHER_RUNS).fill(one));
  if (theirs.error !== undefined) {
    note(tally, `upstream fails: ${theirs.error.slice(0, 60)}`, seed);
    return;
  }
  const ours = planned(scenario, GREEDY_PLANNER);
  const left = new Map(ours.unschedulable.map(({ pod, reason }) => [pod, reason]));
  const placed = new Set([
    ...Object.keys(theirs.existing),
    ...(theirs.newNodeClaims ?? []).flatMap((claim) => claim.pods),
  ]);
  const pods = scenario.manifests.filter(({ kind, spec }) => kind === "Pod" && !spec.nodeName);
  tally.pods += pods.length;
  const promised = promisedBy(theirs, scenario);
  const refused = refusedInTheEnd(scenario, promised);
  const theirFacts = factsOf(scenario, promised, []);
  for (const pod of pods) {
    const name = `${pod.metadata.namespace}/${pod.metadata.name}`;
    const unplaced = left.get(name);
    if ((unplaced === undefined) === placed.has(name)) tally.same++;
    else if (unplaced === undefined) note(tally, "only ours places it", seed);
    else {
      const found = classify({
        scenario,
        pod: theirFacts.pods.get(name),
        reason: unplaced,
        theirs,
        ours,
        refused,
        refusedWhenAllAreUp: () => refusedInTheEnd(scenario, promised, "all up"),
        refusedInEachWay: () =>
          settledPlans(scenario, promised, MOST_WAYS)?.map((one) =>
            refusedInTheEnd(scenario, one, "all up"),
          ),
        refusedByLabels: () =>
          labelledPlans(scenario, promised, MOST_WAYS)?.map((one) =>
            refusedInTheEnd(scenario, one, "all up"),
          ),
        theirFacts,
        oursFor: (other) => planned(other, GREEDY_PLANNER),
        oursPlaces: (other) => isPlaced(planned(other, GREEDY_PLANNER), name),
        oursLeaves: (other) => planned(other, GREEDY_PLANNER).unschedulable.length,
        theirRuns: askAgain,
        byOtherLots: () => byOtherLots(scenario, name, askAll),
        oursLater: () => isPlaced(plannedLater(scenario, ours), name),
        oursByPlanner: () => planned(scenario, DEFAULT_PLANNER),
        oursToTheLetter: () => plannedToTheLetter(scenario),
      });
      if (found === undefined) tally.unexplained.push(`seed ${seed}: ${name}: ${unplaced}`);
      else note(tally, `only upstream places it: ${found}`, seed);
    }
  }
  if (left.size > 0 || Object.keys(theirs.unschedulable).length > 0) return;
  const theirPrices = (one: Scenario) => askAgain(one).map(theirPrice);
  comparePrices({ scenario, theirs, refused, theirFacts }, seed, tally, theirPrices);
}

/** Compares the prices of a scenario in which both place all pods. */
function comparePrices(
  one: Omit<Dearer, "ours" | "ourPrice" | "theirPrice">,
  seed: number,
  tally: Tally,
  theirPrices: (scenario: Scenario) => readonly number[],
): void {
  const ratio = { seed, ours: ourPrice(one.scenario), theirs: theirPrice(one.theirs) };
  tally.ratios.push(ratio);
  if (ratio.ours <= ratio.theirs) return;
  const found = classifyDearer({
    ...one,
    ours: planned(one.scenario, EAGER),
    ourPrice,
    theirPrice: (scenario) => median(theirPrices(scenario)),
  });
  if (found === undefined)
    tally.unexplained.push(`seed ${seed}: costs ${ratio.ours}, upstream's plan ${ratio.theirs}`);
  else note(tally, `dearer: ${found}`, seed);
}

function ourPrice(scenario: Scenario): number {
  const { unschedulable, totals } = planned(scenario, EAGER);
  return unschedulable.length > 0 ? Number.POSITIVE_INFINITY : totals.priceMicroUsdPerHour;
}

function theirPrice({ newNodeClaims, unschedulable }: Outcome): number {
  if (Object.keys(unschedulable).length > 0) return Number.POSITIVE_INFINITY;
  return (newNodeClaims ?? []).reduce((sum, one) => sum + one.priceMicroUsdPerHour, 0);
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1] as number;
}

function isPlaced({ unschedulable }: Plan | Outcome, name: string): boolean {
  return Array.isArray(unschedulable)
    ? unschedulable.every(({ pod }) => pod !== name)
    : !(name in unschedulable);
}

/** Our next plan, once the nodes of a plan are ready and its pods are bound. */
function plannedLater(scenario: Scenario, plan: Plan): Plan {
  return planned(asItComesUp(scenario, plan), GREEDY_PLANNER);
}

/** How often each side places the pod if all pods get other random UIDs. */
function byOtherLots(
  scenario: Scenario,
  name: string,
  askAll: (scenarios: readonly Scenario[]) => readonly Outcome[],
): Lots {
  const random = new Random(1);
  const drawn = Array.from({ length: OTHER_RUNS }, () => {
    const manifests = scenario.manifests.map((one) =>
      one.kind === "Pod"
        ? { ...one, metadata: { ...one.metadata, uid: `uid-${random.int(1 << 30)}` } }
        : one,
    );
    return { ...scenario, manifests };
  });
  const ours = drawn.filter((one) => isPlaced(planned(one, GREEDY_PLANNER), name));
  const theirs = askAll(drawn).filter((one) => isPlaced(one, name));
  return { drawings: drawn.length, ours: ours.length, theirs: theirs.length };
}

/** Upstream's plan, each node launched as its cheapest offering. */
function promisedBy(theirs: Outcome, { manifests, instanceTypes }: Scenario): Promised {
  const existing = new Map<string, string[]>();
  for (const [pod, node] of Object.entries(theirs.existing))
    existing.set(node, [...(existing.get(node) ?? []), pod]);
  const newNodeClaims = (theirs.newNodeClaims ?? []).map((claim) => {
    const pool = manifests.find(
      ({ kind, metadata }) => kind === "NodePool" && metadata.name === claim.nodePool,
    );
    const types = instanceTypes.filter(({ name }) => claim.instanceTypes.includes(name));
    const requirements = claim.requirements.filter(({ key }) => !SIMULATED.has(key));
    const [cheapest] = outcomesOf(pool, requirements, types).sort(
      (a, b) => a.priceMicroUsd - b.priceMicroUsd,
    );
    return {
      ...claim,
      requirements,
      cheapest: {
        instanceType: cheapest?.instanceType ?? "",
        zone: cheapest?.labels["topology.kubernetes.io/zone"] ?? "",
        capacityType: cheapest?.labels["karpenter.sh/capacity-type"] ?? "",
        priceMicroUsdPerHour: cheapest?.priceMicroUsd ?? 0,
      },
    };
  });
  return {
    newNodeClaims,
    existingNodes: [...existing].map(([node, pods]) => ({ node, pods })),
  };
}

/** Labels that upstream sets on claims while it plans. Its test NodePool adds the last one. */
const SIMULATED = new Set([
  "karpenter.sh/registered",
  "karpenter.sh/initialized",
  "testing/cluster",
]);

function note(tally: Tally, what: string, seed: number): void {
  const seeds = tally.classes.get(what) ?? [];
  seeds.push(seed);
  tally.classes.set(what, seeds);
}

function print(count: number, tally: Tally): void {
  const lines = [
    `${count} scenarios, ${tally.pods} pods; both agree on ${tally.same}`,
    ...ratioLines(tally.ratios),
    ...[...tally.classes]
      .sort(([, a], [, b]) => b.length - a.length)
      .map(
        ([what, seeds]) =>
          `${String(seeds.length).padStart(6)}  ${what} (seeds ${[...new Set(seeds)].slice(0, 5).join(", ")})`,
      ),
    ...tally.unexplained.slice(0, 20).map((one) => `no reason known: ${one}`),
    `${tally.unexplained.length} differences are not explained`,
  ];
  process.stdout.write(`${lines.join("\n")}\n`);
}

function ratioLines(ratios: readonly Ratio[]): string[] {
  if (ratios.length === 0) return [];
  const [cheaper, dearer] = [
    ratios.filter(({ ours, theirs }) => ours < theirs),
    ratios.filter(({ ours, theirs }) => ours > theirs),
  ];
  const sum = (side: "ours" | "theirs") => ratios.reduce((total, one) => total + one[side], 0);
  const sorted = ratios
    .filter(({ theirs }) => theirs > 0)
    .map(({ seed, ours, theirs }) => ({ seed, ratio: ours / theirs }))
    .sort((a, b) => a.ratio - b.ratio);
  const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))];
  const shown = [0.05, 0.25, 0.5, 0.75, 0.95].map((share) => at(share)?.ratio.toFixed(3));
  const worst = at(1);
  return [
    `where both place all: our plan is cheaper ${cheaper.length} times, as dear ${ratios.length - cheaper.length - dearer.length} times, dearer ${dearer.length} times; all together ${(sum("ours") / sum("theirs")).toFixed(3)} of upstream's`,
    `ours over upstream's: at 5, 25, 50, 75, 95 % ${shown.join(", ")}; worst ${worst?.ratio.toFixed(3)} (seed ${worst?.seed})`,
  ];
}

function run(command: string, args: readonly string[], cwd?: string): string {
  const options = {
    encoding: "utf8" as const,
    maxBuffer: 1 << 30,
    env: goEnv(),
    ...(cwd === undefined ? {} : { cwd }),
  };
  const { status, stdout, stderr, error } = spawnSync(command, args, options);
  if (error !== undefined) throw new Error(`${command}: ${error.message}`);
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed: ${stderr}`);
  return stdout;
}
