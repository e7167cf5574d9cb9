/** How many requests a controller handles at the same time. upstream: pkg/utils/node, LinearScaleReconciles */
import type { World } from "./world.ts";

/** The number of workers, by CPU cores: `min` at one core, `max` at sixty, linear in between. */
export function concurrency(world: Pick<World, "settings">, min: number, max: number): number {
  const cores = world.settings.cpuRequestsMilli / 1_000;
  const share = Math.min(1, Math.max(0, (cores - 1) / 59));
  return Math.round(min + share * (max - min));
}
