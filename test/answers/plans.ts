/** Whether the nodes launched for a wave are those of its plan, and if not, why. */
import type { WaveKind } from "./draw-wave.ts";
import { type Played, playWave } from "./live-wave.ts";

/**
 * - `agrees`: the same nodes.
 * - `pickedByCloud`: EC2 picked another spot instance that the claim allows.
 * - `strandedByScheduler`: nodes differ only after kube-scheduler bound a pod to another node than planned.
 * - `boundMeanwhile`: kube-scheduler did so between the plan and the first launch.
 * - `fault`: anything else.
 */
export type PlanClass =
  | "agrees"
  | "pickedByCloud"
  | "strandedByScheduler"
  | "boundMeanwhile"
  | "fault";

interface Verdict {
  readonly kind: PlanClass;
  /** Nodes that were planned but not launched. */
  readonly missing: readonly string[];
  /** Nodes that were launched but not planned. */
  readonly more: readonly string[];
}

/** Plays the wave for a seed and classifies the result. */
export async function planVerdict(
  seed: number,
  kind: WaveKind = "plain",
): Promise<Verdict & { readonly played: Played }> {
  const played = await playWave(seed, kind);
  return { ...judge(played), played };
}

/** Compares the plan with the launched nodes. */
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

/** Nodes that EC2 picked instead of missing ones. */
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
 * Until the first pod is bound elsewhere, only planned nodes are launched. Later there is at most one extra node for
 * each such pod, and Karpenter's log names pods that lost their planned node.
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

/** The items that `some` has more often than `others`. */
function without(some: readonly string[], others: readonly string[]): readonly string[] {
  const left = [...others];
  return some.filter((one) => {
    const at = left.indexOf(one);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}
