/**
 * What Prometheus gets from a working Karpenter: well-formed text, with the names, types and labels that upstream
 * documents. So dashboards and alerts made for upstream keep working.
 */
import { readFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { AWS_WELL_KNOWN_LABELS } from "../src/apis/aws/labels.ts";
import { HUGE_POD } from "../src/testing/manifests.ts";
import { type Family, lint, parseExposition } from "./metrics/exposition.ts";
import { isUsual, openWorld, type TestWorld } from "./world.ts";

const EXAMPLES = new URL("../examples/", import.meta.url);
const POOL = readFileSync(new URL("v1/nodepool.yaml", EXAMPLES), "utf8");
/** The pods may run only on Karpenter's nodes, because the managed node group has room too. Their containers have CPU limits. */
const INFLATE = readFileSync(new URL("inflate.yaml", EXAMPLES), "utf8")
  .replace("    spec:\n", "    spec:\n      nodeSelector: { karpenter.sh/capacity-type: spot }\n")
  .replace("            requests:", "            limits: { cpu: 2 }\n            requests:");

const DAEMON = `
apiVersion: apps/v1
kind: DaemonSet
metadata: { name: agent, namespace: default }
spec:
  selector: { matchLabels: { app: agent } }
  template:
    metadata: { labels: { app: agent } }
    spec:
      tolerations: [{ operator: Exists }]
      containers: [{ name: a, image: a, resources: { requests: { cpu: 10m }, limits: { cpu: 20m } } }]
`;

interface Documented {
  readonly type: string;
  readonly labels: readonly string[];
}

function listed(file: string): ReadonlyMap<string, Documented> {
  const text = readFileSync(new URL(`fixtures/${file}`, import.meta.url), "utf8");
  return new Map(Object.entries(JSON.parse(text)));
}

/** The metrics of upstream's reference: core's and the AWS provider's. */
const DOCUMENTED = listed("upstream-metrics-documented.json");

/** On AWS a node's gauges also carry the provider's own labels. */
const PROVIDER_LABELS = AWS_WELL_KNOWN_LABELS.map((key) =>
  key.slice(key.indexOf("/") + 1).replaceAll(/[-.]/g, "_"),
);

/** Metrics that only move in events which this story lacks. Tests beside the code check that they are declared. */
const ELSEWHERE = new Set([
  "karpenter_cloudprovider_errors_total",
  "karpenter_cloudprovider_instance_launch_failures_total",
  "karpenter_cloudprovider_instance_termination_failures_total",
  "karpenter_consolidation_moves_total",
  "karpenter_consolidation_score",
  "karpenter_interruption_instance_status_unhealthy_total",
  "karpenter_nodeclaims_unhealthy_disrupted_total",
  "karpenter_nodepools_cost_tracker_errors_total",
  "karpenter_pods_provisioning_scheduling_undecided_time_seconds",
  "karpenter_voluntary_disruption_failed_validations_total",
  "karpenter_voluntary_disruption_queue_failures_total",
  "leader_election_master_status",
  "operator_ec2nodeclass_status_condition_transition_seconds",
  "operator_ec2nodeclass_status_condition_transitions_total",
  "operator_ec2nodeclass_termination_current_time_seconds",
  "operator_ec2nodeclass_termination_duration_seconds",
  "operator_nodepool_termination_current_time_seconds",
  "operator_nodepool_termination_duration_seconds",
]);

let world: TestWorld;
afterEach(() => world.close());

/**
 * Matches about thirty thousand lines that differ only in the instance type. The lines of the family m5 are kept and
 * stand for all.
 */
const MOST_TYPES = /^\w+\{instance_type="(?!m5\.).*\n/gm;

async function scrape(): Promise<ReadonlyMap<string, Family>> {
  const text = await world.box.operator.metrics.render();
  const families = parseExposition(text.replaceAll(MOST_TYPES, ""));
  expect(lint(families)).toEqual([]);
  return families;
}

/** A pod gets a node, and another one fits nowhere. The node is reclaimed, and the next node becomes empty. */
async function day(): Promise<ReadonlyMap<string, Family>> {
  await world.apply(POOL);
  await world.apply(INFLATE);
  const seen = new Map<string, Family>();
  const look = async (everyMs: number, times: number) => {
    for (let i = 0; i < times; i++) {
      await world.advance(everyMs);
      for (const [name, family] of await scrape()) seen.set(name, family);
    }
  };
  await world.apply(HUGE_POD);
  await world.apply(DAEMON);
  await world.scale("inflate", 1);
  await look(4_000, 2);
  await look(60_000, 1);
  const [claim] = await world.list("NodeClaim", "karpenter.sh/v1");
  await world.remove("NodeClaim", claim?.metadata.name ?? "", "karpenter.sh/v1");
  await look(1_000, 2);
  await world.advance(120_000);
  await world.scale("inflate", 0);
  await world.advance(90_000);
  await look(1_000, 1);
  return seen;
}

describe("the metrics of a controller at work", () => {
  it("have upstream's names, types and labels", async () => {
    world = await openWorld({ sells: isUsual });
    const seen = await day();
    const missing = [...DOCUMENTED.keys()].filter(
      (name) => !seen.has(name) && !ELSEWHERE.has(name),
    );
    expect(missing).toEqual([]);
    for (const [name, { type, labels }] of DOCUMENTED) {
      const ours = seen.get(name);
      if (ours === undefined) continue;
      const own = ours.labels.filter(
        (label) =>
          labels.includes(label) ||
          !name.startsWith("karpenter_nodes_") ||
          !PROVIDER_LABELS.includes(label),
      );
      expect({ name, type: ours.type, labels: own }).toEqual({ name, type, labels: [...labels] });
    }
  });
});
