/**
 * One round of the disruption loop on a picture that stands still: what would be done next. The live loop
 * asks the same methods in the same order, its sweeps cut into slices in the same way.
 */
import { METHODS } from "./methods/all.ts";
import type { Method, Proposal } from "./methods/method.ts";
import { type Picture, survey } from "./survey.ts";

export interface Found {
  readonly method: Method;
  /** At least one. */
  readonly commands: Proposal["commands"];
}

/**
 * The first method that has commands; undefined: nothing is to be done now. `meanwhile`: while a command
 * waits for its second look, only what needs no such wait is done.
 */
export function nextCommands(
  picture: Picture,
  mode: "idle" | "meanwhile" = "idle",
): Found | undefined {
  const examined = new Map<string, Set<string>>();
  let open: readonly Method[] = mode === "idle" ? METHODS : METHODS.filter(({ waits }) => !waits);
  while (open.length > 0) {
    const still: Method[] = [];
    for (const method of open) {
      const seen = examined.get(method.name) ?? new Set<string>();
      const { commands: all, slice } = method.propose(survey(picture, method, seen).input);
      const commands =
        mode === "idle" ? all : all.filter(({ validateAfterMs }) => validateAfterMs === 0);
      if (commands.length > 0) return { method, commands };
      if (slice === undefined) continue;
      for (const name of slice) seen.add(name);
      examined.set(method.name, seen);
      still.push(method);
    }
    open = still;
  }
  return undefined;
}
