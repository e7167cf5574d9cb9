/** The console's view of a test world's cluster. */
import { SILENT } from "../src/base/log.ts";
import { Random } from "../src/base/random.ts";
import { liveSource } from "../src/cli/console/live-source.ts";
import type { ConsoleScene, ConsoleSource, SimulationFollower } from "../src/console/source.ts";
import type { Transport } from "../src/kube/transport/transport.ts";
import type { TestWorld } from "./world.ts";

/** Somebody who waits for the answer, and does not look how far it has come. */
export const WAITS: SimulationFollower = { isGone: () => false, tell: () => undefined };

/** Reads the world's cluster as `karpenter console` does. `transport`: the user; by default the administrator. */
export function sourceOf(
  { clock, box }: TestWorld,
  transport: Transport = box.sandbox.transport,
): ConsoleSource {
  return liveSource({
    name: "test",
    mode: "cluster",
    transport,
    clock,
    random: new Random(1),
    log: SILENT,
    nowMs: () => clock.now(),
    restFactor: 0,
  });
}

/** Opens the console's watches, calls `ask` with the present scene, and closes the watches. */
export async function withScene<T>(
  world: TestWorld,
  ask: (scene: ConsoleScene) => Promise<T>,
): Promise<T> {
  const source = sourceOf(world);
  const close = source.open();
  try {
    return await world.during(ask(await world.during(source.scene())));
  } finally {
    close();
  }
}
