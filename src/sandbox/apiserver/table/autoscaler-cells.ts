/**
 * The row of a HorizontalPodAutoscaler, the same in both versions.
 * upstream: pkg/printers/internalversion/printers.go
 */

import type { Raw } from "../registry/kind-rules.ts";
import { newerAutoscalerOf } from "../versions/autoscaler-versions.ts";
import { ageCell } from "./age.ts";
import { type Cells, NONE } from "./cell.ts";

const UNSET = "<unset>";
/** Number of targets that are shown. Of the rest only the number is shown. */
const MAX_TARGETS = 2;

/** The cells of one row of `kubectl get horizontalpodautoscalers`. */
export const autoscalerCells: Cells = (autoscaler, nowMs) => {
  const { spec = {}, status = {} } = autoscaler;
  return [
    autoscaler.metadata.name,
    `${spec.scaleTargetRef?.kind}/${spec.scaleTargetRef?.name}`,
    targetsOf(autoscaler),
    String(spec.minReplicas ?? UNSET),
    spec.maxReplicas ?? 0,
    status.currentReplicas ?? 0,
    ageCell(autoscaler, nowMs),
  ];
};

/**
 * The cell with the targets: `cpu: <unknown>/80%, memory: 1Gi/2Gi + 1 more...`. upstream: pkg/printers/internalversion
 * formatHPAMetrics
 */
function targetsOf(autoscaler: Parameters<Cells>[0]): string {
  const isNewer = autoscaler.spec?.metrics !== undefined;
  const { spec = {}, status = {} }: Raw = isNewer ? autoscaler : newerAutoscalerOf(autoscaler);
  const { metrics = [] } = spec;
  if (metrics.length === 0) return NONE;
  const shown = metrics.slice(0, MAX_TARGETS).map((metric: Raw, index: number) => {
    const source = sourceIn(metric);
    const { target = {}, name, container, metric: id, describedObject } = source;
    const current = sourceIn(status.currentMetrics?.[index] ?? {}).current ?? {};
    const value =
      target.averageUtilization === undefined
        ? `${current.averageValue ?? current.value ?? "<unknown>"}/${target.averageValue ?? target.value}`
        : `${current.averageUtilization === undefined ? "<unknown>" : `${current.averageUtilization}%`}/${target.averageUtilization}%`;
    const isAverage = id !== undefined && target.averageValue !== undefined;
    const suffix = isAverage && (metric.type === "External" || describedObject) ? " (avg)" : "";
    return name === undefined
      ? `${value}${suffix}`
      : `${container ? `${container}/` : ""}${name}: ${value}`;
  });
  const more = metrics.length - shown.length;
  return `${shown.join(", ")}${more > 0 ? ` + ${more} more...` : ""}`;
}

function sourceIn({ type: _type, ...sources }: Raw): Raw {
  return Object.values(sources)[0] ?? {};
}
