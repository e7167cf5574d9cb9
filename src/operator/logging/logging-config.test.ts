import { describe, expect, it } from "vitest";
import { CONFIG_MAP } from "../../apis/core/kinds.ts";
import { Random } from "../../base/random.ts";
import { VirtualClock } from "../../base/virtual-clock.ts";
import { createManager } from "../../kube/manager/manager.ts";
import { LiveMirrors } from "../../kube/mirror/mirrors.ts";
import { fakeKube } from "../../testing/fake-kube.ts";
import { createLogger } from "./logger.ts";
import { loggingConfig } from "./logging-config.ts";

async function following(name = "config-logging") {
  const clock = new VirtualClock();
  const written: string[] = [];
  const log = createLogger({
    clock,
    write: (line) => written.push(line),
    level: "info",
    encoding: "console",
    commit: "61b3e1e",
  });
  const kube = fakeKube(clock);
  const random = new Random("logging");
  const mirrors = new LiveMirrors({ client: kube, clock, random, log });
  const manager = createManager({ mirrors, clock, random, log });
  manager.add(loggingConfig({ mirrors, log, namespace: "karpenter", name }));
  const starting = manager.start();
  await clock.advance(1_000);
  await starting;
  const configure = async (data: Readonly<Record<string, string>>, namespace = "karpenter") => {
    await kube.create(CONFIG_MAP, { metadata: { name, namespace }, data });
    await clock.advance(1_000);
  };
  const said = () => written.map((line) => line.split("\t").slice(1).join(" | "));
  return {
    log,
    configure,
    said,
    stop: async () => {
      await manager.stop();
      mirrors.close();
    },
  };
}

describe("the ConfigMap config-logging", () => {
  it("sets the level of loglevel.controller rather than that of zap-logger-config", async () => {
    const { log, configure, stop } = await following();
    await configure({ "zap-logger-config": '{"level":"debug"}', "loglevel.controller": "error" });
    expect(log.level).toBe("error");
    await stop();
  });

  it("is read from Karpenter's own namespace only", async () => {
    const { log, configure, stop } = await following();
    await configure({ "loglevel.controller": "debug" }, "default");
    expect(log.level).toBe("info");
    await stop();
  });

  it("leaves the level unchanged if it cannot be parsed, with a warning", async () => {
    const { log, configure, said, stop } = await following();
    await configure({
      "zap-logger-config": '{"level": "debug" # all of it',
      "loglevel.other": "error",
    });
    expect(log.level).toBe("info");
    expect(said()[0]).toMatch(
      /^WARN \| controller \| ignoring zap-logger-config, which is no JSON/,
    );
    expect(said()[1]).toContain(
      'not acted on | {"commit": "61b3e1e", "configmap": "karpenter/config-logging", "unused": ["loglevel.other"]}',
    );
    await stop();
  });

  it("may have another name", async () => {
    const { log, configure, stop } = await following("blue-karpenter-config-logging");
    await configure({ "loglevel.controller": "debug" });
    expect(log.level).toBe("debug");
    await stop();
  });

  it("changes the level of the webhook logger at run time (S3-85)", async () => {
    const { log, configure, said, stop } = await following();
    log.webhook.info("a review");
    await configure({ "loglevel.controller": "info", "loglevel.webhook": "error" });
    log.webhook.warn("a review");
    log.webhook.error("a review that failed");
    log.info("something else");
    expect(said().map((line) => line.split(" | ").slice(0, 3).join(" "))).toEqual([
      "INFO webhook a review",
      "INFO controller Updating logging level for webhook from info to error.",
      "ERROR webhook a review that failed",
      "INFO controller something else",
    ]);
    await stop();
  });
});
