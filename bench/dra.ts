/**
 * `npm run bench -- dra [--runs N]`: plans a batch of 1,000 pods, each with a claim of 1 to 8 devices, over 60 types
 * with GPUs and 340 without. Then a batch without claims is planned twice: with devices ignored, and with devices
 * planned. Figures are CPU time of the thread. The longest step is the longest time for which other work has to wait.
 */
import type { Device } from "../src/apis/resource/kinds.ts";
import type { DynamicResources } from "../src/core/cloudprovider/dynamic-resources.ts";
import { planBatchInSteps } from "../src/core/planner/plan-batch.ts";
import { DEFAULT_PLANNER } from "../src/core/planner/planner-options.ts";
import type { SchedulingInput } from "../src/core/provisioning/scheduling-input.ts";
import { instanceType, pod, poolInput, schedulingInput } from "../src/testing/builders.ts";
import {
  cel,
  claimsOf,
  claimTemplate,
  DRIVER,
  deviceClaim,
  deviceFacts,
  templates,
} from "../src/testing/devices.ts";
import { cells } from "./table.ts";
import { threadMs } from "./thread-ms.ts";

const PODS = 1_000;
const MODELS = ["T4", "A10G", "L4", "L40S", "V100", "A100", "H100", "H200", "B200", "B300"];
const GPUS = [1, 1, 1, 4, 8, 8];
const ROOT = "resource.kubernetes.io/pcieRoot";

/** Runs this bench. */
export async function dra(args: readonly string[]): Promise<void> {
  const at = args.indexOf("--runs");
  const runs = at < 0 ? 5 : Number(args[at + 1]);
  print(["batch", "median ms", "longest step ms", "nodes", "without a place"]);
  print(new Array<string>(5).fill("---"));
  const facts = deviceFacts({ templates: claims() });
  const withClaims = batch(true);
  const without = batch(false);
  measure("1,000 pods with claims", { ...withClaims, devices: facts }, runs);
  measure("without claims, devices ignored", without, runs);
  measure("without claims, devices planned", { ...without, devices: facts }, runs);
}

function measure(name: string, input: SchedulingInput, runs: number): void {
  const times: number[] = [];
  let longest = 0;
  let result: ReturnType<typeof planned>["plan"] | undefined;
  for (let run = 0; run < runs; run++) {
    const { plan, totalMs, longestMs } = planned(input);
    times.push(totalMs);
    // The first run compiles code, so it does not count.
    if (run > 0) longest = Math.max(longest, longestMs);
    result = plan;
  }
  const median = times.sort((a, b) => a - b)[Math.floor(runs / 2)] as number;
  const nodes = result?.newClaims.length ?? 0;
  print([
    name,
    median.toFixed(0),
    // With one run there is no figure: that run compiles the code.
    runs > 1 ? longest.toFixed(1) : "-",
    String(nodes),
    String(result?.unschedulable.length),
  ]);
}

function planned(input: SchedulingInput) {
  globalThis.gc?.();
  const steps = planBatchInSteps(input, DEFAULT_PLANNER);
  const begin = threadMs();
  let longestMs = 0;
  for (let last = begin; ; ) {
    const { done, value } = steps.next();
    const now = threadMs();
    longestMs = Math.max(longestMs, now - last);
    last = now;
    if (done === true) return { plan: value, totalMs: now - begin, longestMs };
  }
}

/** Claims of 1 to 8 devices: of any kind, of one model, with much memory, or on one PCIe root. */
function claims() {
  return Array.from({ length: 8 }, (_, at) => at + 1).flatMap((count) => [
    claimTemplate(`any-${count}`, deviceClaim({ count })),
    claimTemplate(
      `model-${count}`,
      deviceClaim({ count, selectors: [is("model", MODELS[count] as string)] }),
    ),
    claimTemplate(`large-${count}`, deviceClaim({ count, selectors: [LARGE] })),
    claimTemplate(
      `near-${count}`,
      deviceClaim({ count: Math.min(2, count) }, { constraints: [{ matchAttribute: ROOT }] }),
    ),
  ]);
}

const is = (name: string, value: string) =>
  cel(`device.attributes["${DRIVER}"].${name} == "${value}"`);
const LARGE = cel(`device.capacity["${DRIVER}"].memory.compareTo(quantity("80Gi")) >= 0`);

function batch(hasClaims: boolean): SchedulingInput {
  const kinds = ["any", "model", "large", "near"];
  const pods = Array.from({ length: PODS }, (_, at) =>
    pod({
      name: `p-${String(at).padStart(4, "0")}`,
      cpu: `${1 + (at % 4)}`,
      ...(hasClaims ? { spec: claimsOf(`template:${kinds[at % 4]}-${1 + ((at * 7) % 8)}`) } : {}),
    }),
  );
  const types = [
    ...Array.from({ length: 60 }, (_, at) => gpuType(at)),
    ...Array.from({ length: 340 }, (_, at) =>
      instanceType({
        name: `c-${at}`,
        cpu: 2 + (at % 60),
        memoryGi: 4 + (at % 120),
        priceMicroUsd: 20_000 + at * 900,
      }),
    ),
  ];
  return schedulingInput({ pods, pools: [poolInput({}, types)] });
}

function gpuType(at: number) {
  const model = MODELS[at % MODELS.length] as string;
  const count = GPUS[Math.floor(at / MODELS.length)] as number;
  const devices = Array.from(
    { length: count },
    (_, index): Device => ({
      name: `gpu-${index}`,
      attributes: {
        model: { string: model },
        [ROOT]: { string: `pci0000:${Math.floor(index / 2)}` },
      },
      capacity: { memory: { value: `${16 * (1 + (at % MODELS.length))}Gi` } },
    }),
  );
  const dynamicResources: DynamicResources = templates(devices, { pool: `gpus-${at}` });
  const type = instanceType({
    name: `g-${at}`,
    cpu: 8 + (at % 6) * 24,
    memoryGi: 64,
    priceMicroUsd: count * (500_000 + 300_000 * (at % MODELS.length)) + at,
  });
  return { ...type, dynamicResources };
}

function print(row: readonly string[]): void {
  process.stdout.write(`${cells(row)}\n`);
}
