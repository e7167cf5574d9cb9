/** Whether a wave launched what its plan says, and where not, why. */
import type { WaveKind } from "./draw-wave.ts";
import { type Played, playWave } from "./live-wave.ts";

/**
 * `agrees`: the same machines. `pickedByCloud`: EC2 picked another of the spot machines that a claim allows.
 * `strandedByScheduler`: they differ only by what came after kube-scheduler bound a pod to another node than planned.
 * `boundMeanwhile`: it did so between the plan and the first launch. `fault`: anything else.
 */
export type PlanClass =
  | "agrees"
  | "pickedByCloud"
  | "strandedByScheduler"
  | "boundMeanwhile"
  | "fault";

interface Verdict {
  readonly kind: PlanClass;
  /** Machines that were planned and not launched. */
  readonly missing: readonly string[];
  /** Machines that were launched and not planned. */
  readonly more: readonly string[];
}

/** Plays the wave of a seed, and judges it. */
export async function planVerdict(
  seed: number,
  kind: WaveKind = "plain",
): Promise<Verdict & { readonly played: Played }> {
  const played = await playWave(seed, kind);
  return { ...judge(played), played };
}

/** Holds the plan against what was launched. */
export function judge(played: Played): Verdict {
  const machines = played.created.map(({ machine }) => machine);
  const missing = without(played.planned, machines);
  const more = without(machines, played.planned);
  return { kind: kindOf(played, missing, more), missing, more };
}

function kindOf(played: Played, missing: readonly string[], more: readonly string[]): PlanClass {
  if (missing.length + more.length === 0) return "agrees";
  const picked = pickedIn(played, missing, more);
  const others = without(more, picked);
  if (picked.length === missing.length && others.length === 0) return "pickedByCloud";
  if (isBySchedulerOnly(played, others, picked)) return "strandedByScheduler";
  return isOfAnotherBatch(played) ? "boundMeanwhile" : "fault";
}

function isOfAnotherBatch({ created, strays }: Played): boolean {
  const [[launch], [stray]] = [created, strays];
  return launch !== undefined && stray !== undefined && stray.atMs <= launch.atMs;
}

/** Machines that EC2 picked in place of missing ones. */
function pickedIn(
  { spotChoices }: Played,
  missing: readonly string[],
  more: readonly string[],
): readonly string[] {
  let left = more;
  return missing.flatMap((planned) => {
    const picked = left.find((machine) => spotChoices.get(planned)?.has(machine));
    if (picked === undefined) return [];
    left = without(left, [picked]);
    return [picked];
  });
}

/**
 * Until the first stray pod is bound, only planned machines are launched. There is at most one machine more for each
 * stray pod, and Karpenter's log names pods that lost their planned node.
 */
function isBySchedulerOnly(
  { planned, created, strays, told }: Played,
  more: readonly string[],
  picked: readonly string[],
): boolean {
  const [first] = strays;
  if (first === undefined || told.length === 0 || more.length > strays.length) return false;
  const early = created.filter(({ atMs }) => atMs <= first.atMs).map(({ machine }) => machine);
  return without(without(early, planned), picked).length === 0;
}

/** What one list has beyond another, each as often as it is there. */
function without(some: readonly string[], others: readonly string[]): readonly string[] {
  const left = [...others];
  return some.filter((one) => {
    const at = left.indexOf(one);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}
