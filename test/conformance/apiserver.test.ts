/**
 * The sandbox's API server gives the answers that a real kube-apiserver gave to the same requests. What is known to
 * differ stands in docs/reference/differences.md by step, and must still differ.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Random } from "../../src/base/random.ts";
import { SystemClock } from "../../src/base/system-clock.ts";
import type { ApiServer } from "../../src/sandbox/apiserver/api-server.ts";
import { createApiServer } from "../../src/sandbox/apiserver/create-api-server.ts";
import { createRegistry } from "../../src/sandbox/apiserver/registry/create-registry.ts";
import { webhookCaller } from "../../src/sandbox/apiserver/webhook-http.ts";
import { CHECKS } from "./apiserver/checks.ts";
import { installCustomKinds } from "./apiserver/custom-kinds.ts";
import { knownDifferences, readRecording } from "./apiserver/recorded.ts";
import { runCheck } from "./apiserver/run-checks.ts";
import { startWebhooks, type WebhookServer } from "./apiserver/webhook-server.ts";

const ADMIN = { name: "admin", groups: ["system:masters", "system:authenticated"] };
const known = knownDifferences();

for (const [group, checks] of Object.entries(CHECKS)) {
  describe(`kube-apiserver's answers: ${group}`, () => {
    const clock = new SystemClock();
    let api: ApiServer;
    let webhooks: WebhookServer;

    beforeAll(async () => {
      api = createApiServer({
        clock,
        random: new Random(1),
        registry: createRegistry({ kubernetesVersion: "1.34" }),
        webhooks: webhookCaller(),
        kubernetesVersion: "v1.34.4",
      });
      webhooks = await startWebhooks();
      await installCustomKinds(api.transport(ADMIN), clock);
    });
    afterAll(async () => {
      api.close();
      await webhooks.close();
    });

    const { checks: recorded } = readRecording(group);
    it.each(checks.map((check) => [check.id, check.title, check] as const))(
      "%s %s",
      async (id, _, check) => {
        const wanted = recorded[id];
        if (wanted === undefined) throw new Error(`${id} is not recorded: npm run cluster:record`);
        const answers = JSON.parse(
          JSON.stringify(await runCheck(api.transport(ADMIN), clock, check, webhooks)),
        );
        check.steps.forEach((step, index) => {
          const name = `${id}.${index + 1}`;
          const what = `${name}: ${step.method} ${step.path}`;
          if (!known.has(name)) expect.soft(answers[index], what).toEqual(wanted[index]);
          else
            expect
              .soft(answers[index], `${what} is mended: take it off the list`)
              .not.toEqual(wanted[index]);
        });
      },
    );
  });
}
