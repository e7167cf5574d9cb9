/**
 * A real Prometheus scrapes a sandbox under load, and each query of each panel returns data.
 * The load makes the cloud refuse launches, fail calls and reclaim spot nodes, and Karpenter consolidate.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { DASHBOARDS } from "../../scripts/monitoring/dashboards.ts";
import { PacedClock } from "../../src/base/paced-clock.ts";
import { type Box, openBox } from "../../src/cli/sandbox/box.ts";
import { type Endpoints, serveEndpoints } from "../../src/operator/endpoints.ts";
import { applyCloudFault } from "../../src/sandbox/scenario/cloud-fault.ts";
import { freePort } from "../../src/testing/free-port.ts";
import { HUGE_POD } from "../../src/testing/manifests.ts";
import { createUser, type User } from "../user.ts";
import { isUsual } from "../world.ts";
import { prometheusPrograms } from "./programs.ts";

const EXAMPLES = new URL("../../examples/", import.meta.url);
const POOL = readFileSync(new URL("v1/nodepool.yaml", EXAMPLES), "utf8").replace(
  "WhenEmpty\n",
  "WhenEmptyOrUnderutilized\n",
);
const INFLATE = readFileSync(new URL("inflate.yaml", EXAMPLES), "utf8").replace(
  "    spec:\n",
  "    spec:\n      nodeSelector: { karpenter.sh/capacity-type: spot }\n",
);
const SPEED = 60;
/** How long (real ms) the test waits until all panels have data. */
const PATIENCE_MS = 240_000;

const folder = mkdtempSync(join(tmpdir(), "karpenter-prometheus-"));
const clock = new PacedClock(SPEED);
let box: Box;
let endpoints: Endpoints;
let prometheus: ChildProcess;
let url = "";

beforeAll(async () => {
  box = await openBox({
    clock,
    seed: 1,
    provider: "aws",
    clusterName: "karpenter-demo",
    region: "us-west-2",
    kubernetesVersion: "1.34",
    logLevel: "info",
    sells: isUsual,
    trace: () => undefined,
  });
  endpoints = await serveEndpoints({
    metricsPort: "any",
    healthProbePort: "any",
    host: "127.0.0.1",
    metrics: () => {
      const { metrics } = box.operator;
      return { contentType: metrics.contentType, parts: metrics.parts() };
    },
    clock,
    ready: () => box.operator.ready,
  });
  const { host, pathname } = new URL(endpoints.metricsUrl ?? "");
  const scrape = `  - job_name: karpenter\n    metrics_path: ${pathname}\n    static_configs: [{ targets: ["${host}"] }]\n`;
  const config = join(folder, "prometheus.yml");
  writeFileSync(
    config,
    `global: { scrape_interval: 2s, scrape_timeout: 2s }\nscrape_configs:\n${scrape}`,
  );
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  const flags = [
    `--config.file=${config}`,
    `--storage.tsdb.path=${join(folder, "data")}`,
    `--web.listen-address=127.0.0.1:${port}`,
    "--log.level=error",
  ];
  prometheus = spawn(prometheusPrograms()?.prometheus ?? "", flags, { stdio: "ignore" });
});

afterAll(async () => {
  prometheus.kill();
  await endpoints.close();
  await box.stop();
  clock.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Queries as Grafana sends them, named by their panel. */
const QUERIES = DASHBOARDS.flatMap(({ name: board, rows }) =>
  rows.flatMap(({ panels }) =>
    panels.flatMap(({ title, queries }) =>
      queries.map(({ expr }, index) => ({
        where: `${board}, ${title}, query ${index + 1}`,
        expr: expr.replaceAll("$nodepool", ".*").replaceAll("$__rate_interval", "10m"),
      })),
    ),
  ),
);

/** The queries that still have no number as an answer. */
async function unanswered(queries: typeof QUERIES): Promise<typeof QUERIES> {
  const rest: typeof QUERIES = [];
  for (const query of queries) {
    const answer = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(query.expr)}`).catch(
      () => undefined,
    );
    const body = (await answer?.json()) as
      | { status: string; error?: string; data?: { result: { value: [number, string] }[] } }
      | undefined;
    if (body?.error !== undefined) throw new Error(`${query.where}: ${body.error}`);
    const values = body?.data?.result.map(({ value }) => Number(value[1])) ?? [];
    if (!values.some(Number.isFinite)) rest.push(query);
  }
  return rest;
}

/** One round of a load that gives every panel data. Calls `look` halfway and at the end. */
async function turn(user: User, look: () => Promise<void>): Promise<void> {
  const { aws } = box.sandbox;
  // Adds nodes one by one, so that consolidation only deletes spot nodes: it replaces no spot node by another one.
  for (const replicas of [8, 16, 24]) {
    await user.scale("inflate", replicas);
    await clock.sleep(90_000);
  }
  aws.faults.limitCapacity({ capacityType: "spot" });
  aws.faults.throttle("CreateFleet", 3);
  await user.apply(HUGE_POD);
  await user.scale("inflate", 40);
  await clock.sleep(180_000);
  await look();
  await user.remove("Pod", "huge", "v1");
  aws.faults.clear();
  const running = [...aws.state.instances.values()].filter(
    ({ capacityType, state }) => capacityType === "spot" && state === "running",
  );
  if (running.length > 0)
    applyCloudFault(aws, { reclaimSpot: { instanceType: "*", zone: "*", count: 1 } });
  await clock.sleep(300_000);
  await user.scale("inflate", 9);
  await clock.sleep(600_000);
  await look();
}

it("each query of each panel of the dashboards returns data", async () => {
  const user = createUser(box.sandbox.client, { settle: async () => undefined }, "karpenter-demo");
  await user.apply(POOL);
  await user.apply(INFLATE);
  const until = Date.now() + PATIENCE_MS;
  let rest = QUERIES;
  while (rest.length > 0 && Date.now() < until)
    await turn(user, async () => {
      rest = await unanswered(rest);
    });
  expect(rest).toEqual([]);
}, 400_000);
