import { describe, expect, it } from "vitest";
import { CONFIG_MAP, type ConfigMap } from "../../apis/core/kinds.ts";
import { VirtualClock } from "../../base/virtual-clock.ts";
import { fakeKube } from "../../testing/fake-kube.ts";
import { seedObjects } from "../../testing/seed-manifests.ts";
import { createLogger } from "./logger.ts";
import { startLogging } from "./start-logging.ts";

const NAMESPACE = "karpenter";

async function start(configMap: ConfigMap | undefined) {
  const clock = new VirtualClock();
  const client = fakeKube(clock);
  if (configMap !== undefined) {
    const metadata = { ...configMap.metadata, namespace: NAMESPACE };
    await client.create(CONFIG_MAP, { ...configMap, metadata });
  }
  const lines: string[] = [];
  const write = (line: string) => {
    lines.push(line);
  };
  const log = createLogger({ clock, write, level: "info", encoding: "json", commit: "61b3e1e" });
  await startLogging(client, { name: "config-logging", namespace: NAMESPACE }, log);
  return { clock, lines, log };
}

const [united] = seedObjects("s3-41-config-logging.yaml") as [ConfigMap];
const [asWritten] = seedObjects("fragments/s3-26-config-logging.yaml") as [ConfigMap];

function changed(change: (config: Record<string, unknown>) => object): ConfigMap {
  const config = JSON.parse(united.data?.["zap-logger-config"] ?? "");
  return { ...united, data: { "zap-logger-config": JSON.stringify(change(config)) } };
}

describe("the logging ConfigMap of seed S3 at the start", () => {
  it("gives the console format with ISO 8601 times and capital levels (S3-80, S3-82)", async () => {
    const { lines, log } = await start(united);
    log.info("hello", { NodePool: "default" });
    expect(lines).toEqual([
      '2026-01-05T08:00:00.000Z\tINFO\tcontroller\thello\t{"commit": "61b3e1e", "NodePool": "default"}',
    ]);
  });

  it("gives the production format and a warning if it cannot be parsed, as in the seed (S3-81)", async () => {
    const { lines, log } = await start(asWritten);
    log.info("still there");
    expect(lines.map((line) => JSON.parse(line).message)).toEqual([
      "Failed to parse logging config - using default zap production config",
      "still there",
    ]);
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({
      level: "WARN",
      logger: "controller.fallback-logger",
    });
    const quoted = changed((config) => ({ ...config, development: "false" }));
    expect((await start(quoted)).lines[0]).toContain("Failed to parse logging config");
  });

  it("sets the keys of JSON lines (S3-83)", async () => {
    const { lines, log } = await start(changed((config) => ({ ...config, encoding: "json" })));
    log.info("hello");
    expect(Object.keys(JSON.parse(lines[0] ?? ""))).toEqual([
      "level",
      "time",
      "logger",
      "message",
      "commit",
    ]);
    const other = changed((config) => ({
      ...config,
      encoding: "json",
      encoderConfig: { timeKey: "ts", messageKey: "msg", timeEncoder: "millis" },
    }));
    const second = await start(other);
    second.log.info("hello");
    expect(JSON.parse(second.lines[0] ?? "")).toEqual({
      level: "INFO",
      ts: second.clock.now(),
      logger: "controller",
      commit: "61b3e1e",
      msg: "hello",
    });
  });

  it("samples equal lines of one second: the first hundred, then each hundredth (S3-82)", async () => {
    const { clock, lines, log } = await start(united);
    for (let count = 0; count < 300; count++) log.info("again");
    log.info("another");
    expect(lines.length).toBe(103);
    await clock.advance(1_000);
    log.info("again");
    expect(lines.length).toBe(104);
  });

  it("may be missing: INFO in JSON is the default", async () => {
    const { lines, log } = await start(undefined);
    log.info("hello");
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ level: "INFO", message: "hello" });
  });
});
