import { afterEach, describe, expect, it } from "vitest";
import { type Crd, CUSTOM_RESOURCE_DEFINITION } from "../apis/core/custom-resource-definition.ts";
import { customResourceDefinitions } from "../apis/crds/all.ts";
import { LEASE } from "../apis/policy/kinds.ts";
import { SILENT } from "../base/log.ts";
import { Random } from "../base/random.ts";
import { VirtualClock } from "../base/virtual-clock.ts";
import { kwokProvider } from "../cli/controller/providers.ts";
import { createKubeClient } from "../kube/client/kube-client.ts";
import { bareApiServer } from "../sandbox/testing/bare-api-server.ts";
import { createOperator } from "./create-operator.ts";
import type { RootLogger } from "./logging/logger.ts";
import { parseOptions } from "./settings/parse-options.ts";

let close: () => void = () => undefined;
afterEach(() => close());

describe("an operator whose start fails", () => {
  it("rejects while it holds the lease, and releases that when it is stopped", async () => {
    const clock = new VirtualClock(Date.UTC(2026, 0, 1));
    const server = bareApiServer({ clock });
    close = () => server.close();
    const transport = server.transport({ name: "tester", groups: ["system:masters"] });
    const client = createKubeClient(transport);
    for (const crd of customResourceDefinitions())
      await client.create(CUSTOM_RESOURCE_DEFINITION, crd as unknown as Crd);
    const operator = createOperator({
      clock,
      random: new Random("start"),
      transport,
      log: { ...SILENT, webhook: SILENT } as RootLogger,
      options: parseOptions({ "leader-election-name": "lead" }, {}),
      createProvider: (doors) => ({
        ...kwokProvider(doors),
        controllers: [
          {
            name: "broken",
            concurrency: 1,
            watches: [],
            listen: () => {
              throw new Error("no start today");
            },
            reconcile: () => Promise.reject(new Error("never asked")),
          },
        ],
      }),
      version: "",
      commit: "",
      namespace: "kube-system",
      identity: "one",
    });
    const started = operator.start().then(
      () => "started",
      (error: Error) => error.message,
    );
    await clock.advance(5_000);
    expect(await started).toBe("no start today");
    const ref = { name: "lead", namespace: "kube-system" };
    expect((await client.get(LEASE, ref)).spec.holderIdentity).toBe("one");
    const stopped = operator.stop();
    await clock.advance(5_000);
    await stopped;
    expect((await client.get(LEASE, ref)).spec.holderIdentity).toBe("");
  });
});
