import { describe, expect, it } from "vitest";
import { NODE_CLAIM } from "../../apis/karpenter/nodeclaim.ts";
import { SILENT } from "../../base/log.ts";
import { Random } from "../../base/random.ts";
import { VirtualClock } from "../../base/virtual-clock.ts";
import { AWAIT_CHANGE, source } from "../../kube/manager/controller.ts";
import { createManager } from "../../kube/manager/manager.ts";
import { LiveMirrors } from "../../kube/mirror/mirrors.ts";
import { fakeKube } from "../../testing/fake-kube.ts";
import { createLogger } from "./logger.ts";
import { createReconcileScope } from "./reconcile-scope.ts";

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
  it("writes upstream's JSON keys in upstream's order, with the injected clock's time", () => {
    const { log, written } = lines("json");
    log
      .named("provisioner")
      .with({ controller: "provisioner" })
      .info("created nodeclaim", { NodeClaim: { name: "a" } });
    expect(written).toEqual([
      '{"level":"INFO","time":"2026-01-05T08:00:00.000Z","logger":"controller.provisioner","message":"created nodeclaim","commit":"61b3e1e","controller":"provisioner","NodeClaim":{"name":"a"}}',
    ]);
  });

  it("writes controller, object and reconcileID of the reconcile before a line's own fields", async () => {
    const { log, written } = lines("json");
    const clock = new VirtualClock();
    const random = new Random("log");
    const mirrors = new LiveMirrors({ client: fakeKube(clock), clock, random, log: SILENT });
    const scope = createReconcileScope(random);
    const manager = createManager({ mirrors, clock, random, log, scope });
    const asked = { kind: "NodeClaim", name: "a" };
    manager.add({
      name: "nodeclaim.lifecycle",
      watches: [source(NODE_CLAIM)],
      concurrency: 1,
      initialRequests: [asked],
      reconcile: async ({ name }) => {
        await Promise.resolve();
        log.info("launched nodeclaim", { "provider-id": "x", NodeClaim: { name } });
        log.with({ controller: "eviction-queue" }).info("of another one");
        throw new Error("not yet");
      },
    });
    manager.add({
      name: "disruption",
      watches: [],
      concurrency: 1,
      initialRequests: [{ kind: "Singleton", name: "disruption" }],
      reconcile: async () => {
        log.info("disrupting node(s)", { decision: "delete" });
        return AWAIT_CHANGE;
      },
    });
    const started = manager.start();
    await clock.settle();
    await started;
    await clock.settle();
    await manager.stop();
    mirrors.close();
    const found = written.map((line) => JSON.parse(line) as Record<string, unknown>);
    const ofClaim = found.filter((one) => one["NodeClaim"] !== undefined);
    const own = ["controller", "controllerGroup", "controllerKind", "NodeClaim"];
    const start = ["level", "time", "logger", "message", "commit"];
    const rest = ["namespace", "name", "reconcileID"];
    expect(ofClaim.map((one) => Object.keys(one).slice(0, 12))).toEqual([
      [...start, ...own, ...rest],
      [...start, ...own, ...rest],
    ]);
    expect(ofClaim.map((one) => one["message"])).toEqual([
      "launched nodeclaim",
      "Reconciler error",
    ]);
    expect(ofClaim[1]).toMatchObject({
      controllerGroup: "karpenter.sh",
      controllerKind: "NodeClaim",
      NodeClaim: { name: "a" },
      namespace: "",
      name: "a",
      error: expect.stringContaining("not yet"),
    });
    const [first, second] = ofClaim.map((one) => one["reconcileID"]);
    expect(first).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(second).toBe(first);
    const other = found.find((one) => one["message"] === "of another one");
    expect(Object.keys(other ?? {})).toEqual([...start, "controller"]);
    const singleton = found.find((one) => one["message"] === "disrupting node(s)");
    expect(Object.keys(singleton ?? {})).toEqual([...start, "controller", ...rest, "decision"]);
    expect(singleton).toMatchObject({ controller: "disruption", namespace: "", name: "" });
  });

  it("writes the console format of the alpha generation (S0-30, S0-33)", () => {
    const { log, written } = lines("console", "debug");
    log
      .with({ controller: "provisioner" })
      .debug("created machine", { provisioner: "custom", requests: { cpu: "3155m", pods: "7" } });
    expect(written[0]).toBe(
      '2026-01-05T08:00:00.000Z\tDEBUG\tcontroller.provisioner\tcreated machine\t{"commit": "61b3e1e", "provisioner": "custom", "requests": {"cpu":"3155m","pods":"7"}}',
    );
  });

  it("writes no lines below its level", () => {
    const { log, written } = lines("json");
    log.debug("why nothing happened");
    expect(written).toEqual([]);
  });
});
