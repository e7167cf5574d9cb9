/** The names that karpenter-ts offers, in the form of upstream-facts.ts, from code and from shipped files. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import * as awsLabels from "../../src/apis/aws/labels.ts";
import { customResourceDefinitions } from "../../src/apis/crds/all.ts";
import { vocabulary } from "../../src/apis/hub/generation.ts";
import * as labels from "../../src/apis/karpenter/labels.ts";
import { controllerMetrics } from "../../src/controllers/all-metrics.ts";
import { sampleEvents } from "../../src/operator/events-page.ts";
import { BUILD_INFO, fullName } from "../../src/operator/metrics/metrics.ts";
import type { OptionDefinition } from "../../src/operator/settings/option-definition.ts";
import { OPTIONS } from "../../src/operator/settings/options.ts";
import { AWS_METRICS } from "../../src/providers/aws/metrics.ts";
import { CONTROLLER_POLICIES, policyText } from "../aws-stack.ts";
import { crdFields, type Definition, valuePaths } from "./names.ts";
import type { UpstreamFacts } from "./upstream-facts.ts";

const CHART = fileURLToPath(new URL("../../deploy/charts/karpenter/values.yaml", import.meta.url));

/** The names that karpenter-ts offers. Fields are those of the storage version of each CRD. Keys are those of v1. */
export function ourFacts(): Omit<UpstreamFacts, "core" | "aws"> {
  const options = Object.values<OptionDefinition>(OPTIONS);
  const metrics = [
    BUILD_INFO,
    ...controllerMetrics({ nodeClassKinds: [], wellKnownLabels: [] }),
    ...AWS_METRICS,
  ];
  const named = metrics.filter((one) => one.unprefixed !== true);
  return {
    fields: Object.fromEntries(
      customResourceDefinitions().map((crd) => {
        const { kind, names } = crdFields(crd as unknown as Definition);
        return [kind, names];
      }),
    ),
    flags: sorted(options.map(({ flag }) => flag)),
    gates: sorted(
      [OPTIONS.featureGates, OPTIONS.awsFeatureGates].flatMap((option) =>
        option.default.split(",").map((gate) => gate.split("=")[0] ?? ""),
      ),
    ),
    metrics: sorted(named.map(fullName)),
    metricLabels: sorted(
      named.flatMap((one) => one.labels.map((label) => `${fullName(one)}{${label}}`)),
    ),
    events: sorted(
      sampleEvents()
        .map(({ reason }) => reason)
        .filter((reason) => !reason.startsWith("<")),
    ),
    keys: sorted([...keysIn(labels), ...keysIn(awsLabels), vocabulary("v1").hashAnnotation]),
    chartValues: valuePaths(parse(readFileSync(CHART, "utf8"))),
    iamActions: sorted(CONTROLLER_POLICIES.flatMap(({ file }) => actionsIn(file))),
  };
}

function actionsIn(file: string): readonly string[] {
  const policy = JSON.parse(policyText(file)) as {
    Statement: readonly { Action: string | readonly string[] }[];
  };
  return policy.Statement.flatMap(({ Action }) => Action);
}

/** Strings and taints of a module that are keys of Karpenter's groups. */
function keysIn(module: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.values(module)
    .flatMap((one) => (Array.isArray(one) ? one : [one]) as readonly unknown[])
    .map((one) => (typeof one === "string" ? one : ((one as { key?: unknown } | null)?.key ?? "")))
    .filter(
      (one): one is string =>
        typeof one === "string" && /^[a-z.]*(?:karpenter|k8s\.aws)[a-z0-9.]*\/./.test(one),
    );
}

function sorted(names: readonly string[]): readonly string[] {
  return [...new Set(names)].sort();
}
