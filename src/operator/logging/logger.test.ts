import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../base/virtual-clock.ts";
import { createLogger } from "./logger.ts";

function lines(encoding: "json" | "console", level: "info" | "debug" = "info") {
  const written: string[] = [];
  const log = createLogger({
    clock: new VirtualClock(),
    write: (line) => written.push(line),
    level,
    encoding,
    commit: "61b3e1e",
  });
  return { log, written };
}

describe("logger", () => {
  it("writes upstream's JSON keys in upstream's order, in the world's time", () => {
    const { log, written } = lines("json");
    log
      .named("provisioner")
      .with({ controller: "provisioner" })
      .info("created nodeclaim", { NodeClaim: { name: "a" } });
    expect(written).toEqual([
      '{"level":"INFO","time":"2026-01-05T08:00:00.000Z","logger":"controller.provisioner","commit":"61b3e1e","controller":"provisioner","NodeClaim":{"name":"a"},"message":"created nodeclaim"}',
    ]);
  });

  it("writes the console form of the alpha generation (S0-30, S0-33)", () => {
    const { log, written } = lines("console", "debug");
    log
      .with({ controller: "provisioner" })
      .debug("created machine", { provisioner: "custom", requests: { cpu: "3155m", pods: "7" } });
    expect(written[0]).toBe(
      '2026-01-05T08:00:00.000Z\tDEBUG\tcontroller.provisioner\tcreated machine\t{"commit": "61b3e1e", "provisioner": "custom", "requests": {"cpu":"3155m","pods":"7"}}',
    );
  });

  it("leaves out what is below the level", () => {
    const { log, written } = lines("json");
    log.debug("why nothing happened");
    expect(written).toEqual([]);
  });
});
