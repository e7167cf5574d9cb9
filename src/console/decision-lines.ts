/**
 * Decisions for other tools, as one JSON object on each line: old ones first, then new ones as they happen.
 * If an event repeats, its line is sent again with a higher count and the same `id`.
 */
import type { DecisionRow } from "./views/decisions.ts";
import type { ViewPatch } from "./views/view.ts";

/** The version of a line's shape. It changes only if a field is removed or changes its meaning. */
const SCHEMA = "karpenter-ts/decision/v1";

/** The lines for a patch (JSON) of the view `decisions`, in order of time. */
export function decisionLines(patch: string): readonly string[] {
  const { set } = JSON.parse(patch) as ViewPatch;
  return Object.entries(set as Readonly<Record<string, DecisionRow>>)
    .sort(([, a], [, b]) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0))
    .map(([id, { at, reason, says, isWarning, count, kind, name, namespace }]) =>
      JSON.stringify({
        schema: SCHEMA,
        id,
        at,
        reason,
        message: says,
        type: isWarning ? "Warning" : "Normal",
        count,
        object: { kind, name, ...(namespace === undefined ? {} : { namespace }) },
      }),
    );
}
