/**
 * `npm run fuzz`: checks the plans of random scenarios (properties.ts). The first failure of each seed is shrunk,
 * written to a file, and printed with the command that repeats it. USAGE lists the other fuzzers: fixes.ts,
 * upstream.ts, repack.ts, test/answers/plans.ts, inputs/fuzz-inputs.ts and test/calm/run.ts.
 */
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { calm, calmDay } from "../calm/run.ts";
import { tryMutants } from "../calm/try-mutants.ts";
import type { Scenario } from "../validator/validate.ts";
import { digestOf } from "./digests.ts";
import { drawScenario } from "./draw.ts";
import { withNamedDaemons } from "./draw-daemons.ts";
import { withLimits } from "./draw-limits.ts";
import { withVolumes } from "./draw-volumes.ts";
import { fixVerdict } from "./fixes.ts";
import { faultsOf } from "./properties.ts";
import { repackVerdict } from "./repack.ts";
import { shrink } from "./shrink.ts";
import { againstUpstream } from "./upstream.ts";

const DEFAULT_COUNT = 10_000;
const MAX_REPORTS = 5;

const USAGE = `npm run fuzz -- [--count N] [--seed N]          plans of random scenarios (${DEFAULT_COUNT})
npm run fuzz -- fixes [--count N] [--seed N]    the fixes that such plans name, made and planned again (1000)
npm run fuzz -- --upstream [--count N] [--seed N]  the same, compared with sigs.k8s.io/karpenter (2000)
npm run fuzz -- repack [--count N] [--seed N]      what repack proposes for random clusters (2000)
npm run fuzz -- digests [--count N] [--seed N]     a digest of all decided about each, to compare two checkouts (3000)
npm run fuzz -- inputs [--count N] [--from N] [--target NAME]  hostile texts through all that reads texts (10000)
npm run fuzz -- inputs --target NAME --seed N      one of them, made small
npm run fuzz -- plans [--count N] [--seed N]       what plans say is launched is launched in the sandbox (300)
npm run fuzz -- plans volumes|aws [--count N]      the same with volumes; on AWS, with capacity reservations (300)
npm run fuzz -- calm [--from N] [--seeds N] [--workers N]  random days of random clusters (500)
npm run fuzz -- calm --seed N [--verbose]          one of them, told in full
npm run fuzz -- mutants [NAME …] [--from N] [--seeds N]  Karpenter with a rule taken out, played until that is seen (20)
`;

const args = process.argv.slice(2);
/** First word → the arguments that it accepts. A flag of another fuzzer would otherwise be ignored silently. */
const KNOWN: Readonly<Record<string, RegExp>> = {
  mutants: /^(?:[a-z][a-z-]*|\d+|--(?:from|seeds))$/,
  inputs: /^(?:[a-z][a-z-]*|\d+|--(?:count|from|seed|target))$/,
  calm: /^(?:calm|\d+|--(?:count|seed|from|seeds|workers|verbose))$/,
};
const known =
  KNOWN[args[0] ?? ""] ??
  /^(?:repack|digests|fixes|plans|plain|volumes|aws|\d+|--(?:count|seed|upstream))$/;
const strange = args.find((arg) => !known.test(arg));
const count = numberAfter("--count");
const seed = numberAfter("--seed");
if (strange !== undefined) {
  process.stdout.write(/^(?:--help|-h)$/.test(strange) ? USAGE : `${strange}: not known\n${USAGE}`);
  process.exitCode = /^(?:--help|-h)$/.test(strange) ? 0 : 1;
} else if (args.includes("calm"))
  process.exitCode =
    seed === undefined
      ? await calm({
          from: numberAfter("--from") ?? 0,
          seeds: numberAfter("--seeds") ?? count,
          workers: numberAfter("--workers"),
        })
      : await calmDay(seed, args.includes("--verbose"));
else if (args[0] === "inputs") process.exitCode = await inputs();
else if (args[0] === "mutants")
  process.exitCode = await tryMutants({
    names: args.slice(1).filter((arg) => /^[a-z]/.test(arg)),
    from: numberAfter("--from") ?? 0,
    seeds: numberAfter("--seeds"),
  });
else if (args.includes("repack"))
  process.exitCode = await fuzzRepack(seed, count ?? (seed === undefined ? 2_000 : 1));
else if (args.includes("digests"))
  process.exitCode = await digests(seed, count ?? (seed === undefined ? 3_000 : 1));
else if (args.includes("plans"))
  process.exitCode = await fuzzPlans(seed, count ?? (seed === undefined ? 300 : 1));
else if (args.includes("fixes"))
  process.exitCode = fuzzFixes(seed, count ?? (seed === undefined ? 1_000 : 1));
else if (args.includes("--upstream")) process.exitCode = againstUpstream(seed ?? 0, count ?? 2_000);
else process.exitCode = fuzz(seed, count ?? (seed === undefined ? DEFAULT_COUNT : 1));

async function inputs(): Promise<number> {
  // Imported only here, because it loads half the product.
  const { fuzzInput, fuzzInputs } = await import("./inputs/fuzz-inputs.ts");
  const at = args.indexOf("--target");
  const targets = at < 0 ? [] : [args[at + 1] ?? ""];
  if (seed !== undefined) return fuzzInput(targets[0] ?? "", seed);
  return fuzzInputs({ from: numberAfter("--from") ?? 0, count: count ?? DEFAULT_COUNT, targets });
}

function fuzz(first = 0, scenarios: number): number {
  let failures = 0;
  for (let at = first; at < first + scenarios && failures < MAX_REPORTS; at++) {
    const scenario = withNamedDaemons(withLimits(withVolumes(drawScenario(at), at), at), at);
    const faults = safely(scenario);
    if (faults.length > 0) {
      failures++;
      report(at, scenario, faults);
    }
    if ((at - first + 1) % 1_000 === 0) process.stdout.write(`${at - first + 1} scenarios\n`);
  }
  process.stdout.write(
    failures === 0 ? `${scenarios} scenarios, no fault\n` : `${failures} seeds failed\n`,
  );
  return failures === 0 ? 0 : 1;
}

async function fuzzRepack(first = 0, clusters: number): Promise<number> {
  let [failures, commands] = [0, 0];
  for (let at = first; at < first + clusters && failures < MAX_REPORTS; at++) {
    const { faults, moved } = await repackVerdict(at);
    if (moved !== undefined) commands++;
    if (faults.length === 0) continue;
    failures++;
    const lines = [`seed ${at}:`, ...faults.slice(0, 5).map((fault) => `  ${fault}`)];
    process.stdout.write(`${lines.join("\n")}\n  again: npm run fuzz -- repack --seed ${at}\n`);
  }
  const outcome = failures === 0 ? "no fault" : `${failures} seeds failed`;
  process.stdout.write(`${clusters} clusters, ${commands} commands, ${outcome}\n`);
  return failures === 0 ? 0 : 1;
}

async function digests(first = 0, scenarios: number): Promise<number> {
  for (let at = first; at < first + scenarios; at++)
    process.stdout.write(`${at} ${await digestOf(at)}\n`);
  return 0;
}

async function fuzzPlans(first = 0, waves: number): Promise<number> {
  // Imported only here, because it loads the sandbox and Karpenter.
  const { planVerdict } = await import("../answers/plans.ts");
  const { WAVE_KINDS } = await import("../answers/draw-wave.ts");
  const wave = WAVE_KINDS.find((one) => args.includes(one)) ?? "plain";
  const counts = {
    agrees: 0,
    pickedByCloud: 0,
    strandedByScheduler: 0,
    boundMeanwhile: 0,
    fault: 0,
  };
  for (let at = first; at < first + waves && counts.fault < MAX_REPORTS; at++) {
    const { kind, missing, more } = await planVerdict(at, wave);
    counts[kind]++;
    if (kind === "agrees") continue;
    const lines = [`seed ${at}: ${kind}`, `  not launched: ${missing}`, `  not planned: ${more}`];
    process.stdout.write(
      `${lines.join("\n")}\n  again: npm run fuzz -- plans ${wave} --seed ${at}\n`,
    );
  }
  const { agrees, boundMeanwhile, pickedByCloud, strandedByScheduler, fault } = counts;
  process.stdout.write(
    `${agrees} agree, ${pickedByCloud} picked by EC2, ${strandedByScheduler} stranded by the scheduler, ${boundMeanwhile} bound meanwhile, ${fault} faults\n`,
  );
  return fault === 0 ? 0 : 1;
}

function fuzzFixes(first = 0, scenarios: number): number {
  let [failures, fixed, unfixed] = [0, 0, 0];
  for (let at = first; at < first + scenarios && failures < MAX_REPORTS; at++) {
    const verdict = fixVerdict(withLimits(withVolumes(drawScenario(at), at), at));
    fixed += verdict.fixed;
    unfixed += verdict.unfixed;
    if (verdict.faults.length === 0) continue;
    failures++;
    const lines = [`seed ${at}:`, ...verdict.faults.slice(0, 5).map((fault) => `  ${fault}`)];
    process.stdout.write(`${lines.join("\n")}\n  again: npm run fuzz -- fixes --seed ${at}\n`);
  }
  const outcome = failures === 0 ? "no fault" : `${failures} seeds failed`;
  process.stdout.write(
    `${scenarios} scenarios, ${fixed} kinds of pods with a fix, ${unfixed} without, ${outcome}\n`,
  );
  return failures === 0 ? 0 : 1;
}

function safely(scenario: Scenario): string[] {
  try {
    return faultsOf(scenario);
  } catch (error) {
    return [(error as Error).stack ?? String(error)];
  }
}

/** The kind of a fault, without names and numbers. It must stay the same while a scenario shrinks. */
function kindOf(fault: string): string {
  return fault.replaceAll(/[a-z]+\/[\w-]+|claim \d+|\d+/g, "…").slice(0, 60);
}

function report(at: number, scenario: Scenario, faults: readonly string[]): void {
  const kind = kindOf(faults[0] as string);
  const small = shrink(scenario, (smaller) =>
    safely(smaller).some((fault) => kindOf(fault) === kind),
  );
  const file = join(tmpdir(), `karpenter-fuzz-${at}.json`);
  writeFileSync(file, JSON.stringify(small, null, 2));
  const lines = [
    `seed ${at}:`,
    ...faults.slice(0, 5).map((fault) => `  ${fault}`),
    `  made small (${small.manifests.length} manifests, ${small.instanceTypes.length} types): ${file}`,
    ...safely(small)
      .slice(0, 3)
      .map((fault) => `    ${fault}`),
    `  again: npm run fuzz -- --seed ${at}`,
  ];
  process.stdout.write(`${lines.join("\n")}\n`);
}

function numberAfter(flag: string): number | undefined {
  const at = args.indexOf(flag);
  if (at < 0) return undefined;
  const value = Number(args[at + 1]);
  if (!Number.isInteger(value) || value < 0) throw new Error(`${flag}: wanted a number`);
  return value;
}
