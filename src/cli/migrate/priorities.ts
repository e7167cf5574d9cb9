/**
 * The priority expander of Cluster Autoscaler: a ConfigMap that prefers groups by patterns of their names. The drafts
 * express it by weights of NodePools. upstream: kubernetes/autoscaler, cluster-autoscaler/expander/priority/readme.md
 */
import type { ConfigMap } from "../../apis/core/kinds.ts";
import { counted } from "../../base/counted.ts";
import { firstLineOf } from "../../base/error-text.ts";
import { isObject } from "../../base/json.ts";
import { textMatch } from "../../readers/re2.ts";
import { valuesOf } from "../program/manifest-text.ts";
import type { NodeGroup } from "./node-groups.ts";

/** Name of the ConfigMap, in the namespace of Cluster Autoscaler. */
export const EXPANDER = "cluster-autoscaler-priority-expander";
/** The largest weight of a NodePool. */
const MOST = 100;

/** Weights of NodePools by the name of the group, and notes that the user must read. */
export interface Priorities {
  readonly weights: ReadonlyMap<string, number>;
  readonly notes: readonly string[];
}

/** The weights by group name. The highest priority with a pattern that matches the group decides its weight. */
export function prioritiesOf(
  groups: readonly NodeGroup[],
  expander: ConfigMap | undefined,
): Priorities {
  if (expander === undefined) return { weights: new Map(), notes: [] };
  const notes: string[] = [];
  const rules = rulesIn(expander, notes);
  const found = groups.flatMap((group) => {
    const names = [group.name, ...group.scaling.map(({ name }) => name)];
    const own = rules.filter(({ matches }) => names.some(matches)).map(({ priority }) => priority);
    return own.length === 0 ? [] : [{ name: group.name, priority: Math.max(...own) }];
  });
  const steps = [...new Set(found.map(({ priority }) => priority))].sort((a, b) => a - b);
  const weightOf = (priority: number) => Math.min(steps.indexOf(priority) + 1, MOST);
  const unmatched = groups.length - found.length;
  notes.push(
    `weights of NodePools are those of the priority expander, from 1; where pods do not fit, or the NodePool of the highest weight is at its limits or sold out, the next is used${unmatched === 0 ? "" : `; ${counted(unmatched, "group")} had no priority and no weight, and so come last`}`,
  );
  return {
    weights: new Map(found.map(({ name, priority }) => [name, weightOf(priority)])),
    notes,
  };
}

interface Rule {
  readonly priority: number;
  readonly matches: (name: string) => boolean;
}

function rulesIn({ data }: ConfigMap, notes: string[]): readonly Rule[] {
  const [value] = valuesOf(`ConfigMap ${EXPANDER}`, data?.["priorities"] ?? "");
  if (!isObject(value)) {
    notes.push(`ConfigMap ${EXPANDER} has no priorities, so no NodePool has a weight`);
    return [];
  }
  return Object.entries(value).flatMap(([key, patterns]) =>
    [patterns].flat().flatMap((pattern): readonly Rule[] => {
      try {
        const text = textMatch(String(pattern));
        return [{ priority: Number(key), matches: (name) => text.matches(name) }];
      } catch (error) {
        notes.push(`priority ${key} of ConfigMap ${EXPANDER} is left out: ${firstLineOf(error)}`);
        return [];
      }
    }),
  );
}
