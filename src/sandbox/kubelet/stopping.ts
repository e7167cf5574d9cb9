/**
 * How long a pod takes to stop: preStop hooks first, then all containers together, within the grace
 * period.
 * upstream: kubernetes, pkg/kubelet/kuberuntime/kuberuntime_container.go (killContainer)
 */
import type { Container, Pod } from "../../apis/core/pod.ts";

/** Milliseconds that a container gets after its preStop hook, even if the grace period is over. */
const LEAST_AFTER_HOOK_MS = 2_000;

/** Milliseconds until the pod has stopped. `containersMs`: how long its containers take after the signal to stop. */
export function stopsWithinMs({ spec }: Pod, graceMs: number, containersMs: number): number {
  const hookMs = Math.min(graceMs, Math.max(0, ...spec.containers.map(preStopMs)));
  if (hookMs === 0) return Math.min(graceMs, containersMs);
  const leftMs = Math.max(LEAST_AFTER_HOOK_MS, graceMs - hookMs);
  return hookMs + Math.min(leftMs, containersMs);
}

const UNITS_MS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/**
 * Milliseconds of a preStop hook. It is not executed: a command takes as long as its `sleep`s, and HTTP takes no
 * time.
 */
function preStopMs({ lifecycle }: Container): number {
  const { sleep, exec } = lifecycle?.preStop ?? {};
  if (sleep !== undefined) return sleep.seconds * 1_000;
  const command = (exec?.command ?? []).join(" ");
  let totalMs = 0;
  for (const [, count, unit = "s"] of command.matchAll(/\bsleep\s+(\d+(?:\.\d+)?)([smhd])?\b/g))
    totalMs += Math.round(Number(count) * (UNITS_MS[unit] as number));
  return totalMs;
}
