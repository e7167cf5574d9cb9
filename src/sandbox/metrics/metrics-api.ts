/**
 * The two resources of metrics.k8s.io/v1beta1, which the metrics server adds to a real cluster. `kubectl top`
 * and HorizontalPodAutoscalers read them. They are read-only.
 */

import { type Kind, type KubeObject, keyOf } from "../../apis/meta.ts";
import {
  NODE_METRICS,
  type NodeMetrics,
  POD_METRICS,
  type PodMetrics,
} from "../../apis/metrics/kinds.ts";
import type { Logger } from "../../base/log.ts";
import { Memo } from "../../base/memo.ts";
import { formatBytes, formatMilli, parseMilli, parseUnits } from "../../base/quantity.ts";
import type { Column, Computing, ResourceDefinition } from "../apiserver/resource-definition.ts";
import type { Schema } from "../apiserver/schema/schema.ts";
import { nodeMetrics, type OnOdd, podMetrics } from "./samples.ts";

/** The definitions for the registry. An invalid annotation is logged once. */
export function metricsDefinitions(log: Logger): readonly ResourceDefinition[] {
  const onOdd = warnOnce(log);
  return [
    definition(NODE_METRICS, { usage: AMOUNTS }, (from) => nodeMetrics(from, onOdd)),
    definition(POD_METRICS, { containers: CONTAINERS }, (from, namespace) =>
      podMetrics(from, namespace, onOdd),
    ),
  ];
}

function warnOnce(log: Logger): OnOdd {
  const said = new Memo((_id) => ({ isNew: true }));
  return (object, { annotation, value, wanted }) => {
    const note = said.get(`${object.metadata.uid ?? keyOf(object)}/${annotation}/${value}`);
    if (!note.isNew) return;
    note.isNew = false;
    log.warn(`ignoring annotation: not ${wanted}`, {
      [object.kind ?? "object"]: keyOf(object),
      annotation,
      value,
    });
  };
}

const AMOUNTS: Schema = { type: "object", additionalProperties: { type: "string" } };
const CONTAINERS: Schema = {
  type: "array",
  items: { type: "object", properties: { name: { type: "string" }, usage: AMOUNTS } },
};

/** The columns of `kubectl get`. upstream: sigs.k8s.io/metrics-server pkg/api/table.go */
const COLUMNS: readonly Column[] = [
  ["Name", "name"],
  ["cpu", "quantity"],
  ["memory", "quantity"],
  ["Window", "duration"],
].map(([name = "", format = ""]) => ({
  name,
  type: "string",
  format,
  description: "",
  priority: 0,
}));

function definition(
  kind: Kind,
  fields: Readonly<Record<string, Schema>>,
  computed: (from: Computing, namespace: string | undefined) => readonly KubeObject[],
): ResourceDefinition {
  const { group, version, plural, namespaced } = kind;
  const text: Schema = { type: "string" };
  return {
    group,
    version,
    kind: kind.kind,
    listKind: `${kind.kind}List`,
    plural,
    singular: "",
    shortNames: [],
    categories: [],
    namespaced,
    verbs: ["get", "list"],
    storageKey: `${group}/${plural}`,
    storageVersion: version,
    schema: { type: "object", properties: { ...fields, timestamp: text, window: text } },
    hasStatus: false,
    scale: undefined,
    warning: undefined,
    columns: COLUMNS,
    computed,
    prune: (object) => ({ value: object, unknown: [] }),
    applyDefaults: (object) => object,
    prepareCreate: (object) => object,
    prepareUpdate: (next) => next,
    validate: () => [],
    tableCells: (object) => cellsOf(object as PodMetrics | NodeMetrics),
    conversion: undefined,
  };
}

function cellsOf(metrics: PodMetrics | NodeMetrics): readonly unknown[] {
  const parts =
    "containers" in metrics ? metrics.containers.map(({ usage }) => usage) : [metrics.usage];
  const total = (read: (amount: string) => number | undefined, name: "cpu" | "memory"): number =>
    parts.reduce((sum, amounts) => sum + (read(String(amounts[name] ?? "0")) ?? 0), 0);
  return [
    metrics.metadata.name,
    formatMilli(total(parseMilli, "cpu")),
    formatBytes(total(parseUnits, "memory")),
    metrics.window,
  ];
}
