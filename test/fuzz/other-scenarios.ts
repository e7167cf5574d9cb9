/** Scenarios with something removed. If a difference disappears with it, it was the cause. */
import type { Json } from "../validator/kubernetes.ts";
import { keyOf, type Scenario } from "../validator/validate.ts";

export function withoutPods(scenario: Scenario, pods: ReadonlySet<string>): Scenario {
  const manifests = scenario.manifests.filter(
    (one) => one.kind !== "Pod" || one.spec.nodeName || !pods.has(keyOf(one)),
  );
  return { ...scenario, manifests };
}

/** The scenario with NodePools without limits, or without their limit of nodes. */
export function withoutLimits(scenario: Scenario, of: "everything" | "nodes"): Scenario {
  return changedSpecs(scenario, "NodePool", ({ limits = {}, ...spec }) => {
    const { nodes: _, ...others } = limits;
    return of === "nodes" ? { ...spec, limits: others } : spec;
  });
}

/** The scenario with these NodePools without their limit of nodes. */
export function withoutNodeLimits(scenario: Scenario, pools: ReadonlySet<string>): Scenario {
  const manifests = scenario.manifests.map((one) => {
    if (one.kind !== "NodePool" || !pools.has(one.metadata.name)) return one;
    const { nodes: _, ...limits } = one.spec.limits ?? {};
    return { ...one, spec: { ...one.spec, limits } };
  });
  return { ...scenario, manifests };
}

export function withoutPools(scenario: Scenario, names: ReadonlySet<string>): Scenario {
  const manifests = scenario.manifests.filter(
    ({ kind, metadata }) => kind !== "NodePool" || !names.has(metadata.name),
  );
  return { ...scenario, manifests };
}

/** The scenario with DaemonSets without host ports. */
export function withoutDaemonPorts(scenario: Scenario): Scenario {
  return changedSpecs(scenario, "DaemonSet", ({ template, ...spec }) => {
    const containers = template.spec.containers.map(({ ports: _, ...one }: Json) => one);
    return { ...spec, template: { ...template, spec: { ...template.spec, containers } } };
  });
}

/** The scenario in which no pod with the same spec as `pod` has topology spread constraints. */
export function withoutSpreadOf(scenario: Scenario, pod: Json): Scenario {
  const own = JSON.stringify(pod.spec);
  return changedSpecs(scenario, "Pod", (spec) => {
    const { topologySpreadConstraints: _, ...rest } = spec;
    return JSON.stringify(spec) === own ? rest : spec;
  });
}

/** The scenario with affinity terms without the fields that upstream ignores. */
export function withoutLabelKeys(scenario: Scenario): Scenario {
  return changedSpecs(scenario, "Pod", (spec) =>
    everywhere(spec, (terms) => {
      const { matchLabelKeys, mismatchLabelKeys, ...term } = terms;
      // Upstream reads matchLabelKeys of a spread.
      return terms.whenUnsatisfiable === undefined ? term : terms;
    }),
  );
}

/** The scenario without the preferences of its pods. */
export function withoutWishes(scenario: Scenario): Scenario {
  return changedSpecs(scenario, "Pod", (spec) =>
    everywhere(spec, ({ preferredDuringSchedulingIgnoredDuringExecution, ...part }) => {
      const { topologySpreadConstraints: spreads } = part;
      if (spreads === undefined) return part;
      const strict = spreads.filter((one: Json) => one.whenUnsatisfiable !== "ScheduleAnyway");
      return { ...part, topologySpreadConstraints: strict };
    }),
  );
}

function changedSpecs(scenario: Scenario, kind: string, change: (spec: Json) => Json): Scenario {
  const manifests = scenario.manifests.map((one) =>
    one.kind === kind ? { ...one, spec: change(one.spec) } : one,
  );
  return { ...scenario, manifests };
}

/** The value with `change` applied to each object in it. */
function everywhere(value: Json, change: (part: Json) => Json): Json {
  if (Array.isArray(value)) return value.map((one) => everywhere(one, change));
  if (typeof value !== "object" || value === null) return value;
  const parts = Object.entries(change(value)).map(([key, part]) => [key, everywhere(part, change)]);
  return Object.fromEntries(parts);
}
