/**
 * The sandbox's API server gives the answers that a real kube-apiserver gave to the same requests, in process and
 * over HTTPS. Steps with known differences are listed in docs/reference/differences.md, and must still differ.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Timer } from "../../src/base/clock.ts";
import { Random } from "../../src/base/random.ts";
import { SystemClock } from "../../src/base/system-clock.ts";
import { createHttpTransport } from "../../src/kube/transport/http-transport.ts";
import type { KubeRequest, KubeResponse } from "../../src/kube/transport/transport.ts";
import { bearerOf } from "../../src/sandbox/apiserver/access/bearer.ts";
import { webhookCaller } from "../../src/sandbox/apiserver/admission/webhook-http.ts";
import type { ApiServer } from "../../src/sandbox/apiserver/api-server.ts";
import { startHttps } from "../../src/sandbox/apiserver/https/https-server.ts";
import { failure } from "../../src/sandbox/apiserver/request/status.ts";
import { Store } from "../../src/sandbox/apiserver/store/store.ts";
import { bareApiServer } from "../../src/sandbox/testing/bare-api-server.ts";
import { CHECKS } from "./apiserver/checks.ts";
import { installCustomKinds } from "./apiserver/custom-kinds.ts";
import { knownDifferences, readRecording } from "./apiserver/recorded.ts";
import { runCheck, type Subject } from "./apiserver/run-checks.ts";
import { startWebhooks, type WebhookServer } from "./apiserver/webhook-server.ts";

const ADMIN = { name: "admin", groups: ["system:masters", "system:authenticated"] };
const ANONYMOUS = { name: "system:anonymous", groups: ["system:unauthenticated"] };
const known = knownDifferences();

/**
 * The machine's clock with long timers ten times as fast: some checks wait until a watch ends. Short timers keep their
 * length, because on a busy machine garbage collection would come before the next request. The date stands still,
 * because the recorded objects of one check were made in the same second.
 */
class ShortWaits extends SystemClock {
  readonly #nowMs = super.now();

  override now(): number {
    return this.#nowMs;
  }

  override after(delayMs: number, callback: () => void): Timer {
    return super.after(delayMs < 1_000 ? delayMs : delayMs / 10, callback);
  }
}

const clock = new ShortWaits();

/** An API server of its own that the checks are sent to, in process or over HTTPS. */
interface Target extends Subject {
  readonly how: string;
  /** False for the server in this process: it gets values, not bytes. */
  readonly takesBytes: boolean;
  close(): Promise<void>;
}

function newServer(store: Store): ApiServer {
  return bareApiServer({
    store,
    clock,
    random: new Random(1),
    webhooks: webhookCaller(),
  });
}

async function inProcess(): Promise<Target> {
  const store = new Store();
  const api = newServer(store);
  return {
    how: "in process",
    takesBytes: false,
    forget: async () => store.forget(),
    transport: { send: (request) => sentInProcess(api, request), close: () => undefined },
    close: async () => api.close(),
  };
}

/** A request with a token is made as the token's user, as over HTTPS. Without one, as the administrator. */
async function sentInProcess(api: ApiServer, request: KubeRequest): Promise<KubeResponse> {
  const header = request.headers?.["authorization"];
  if (header === undefined) return api.handle(request, ADMIN);
  const token = bearerOf(header);
  if (token === undefined) return api.handle(request, ANONYMOUS);
  const user = api.authenticate(token);
  if (user !== undefined) return api.handle(request, user);
  return { status: 401, headers: {}, body: failure(401, "Unauthorized", "Unauthorized") };
}

async function overHttps(directory: string): Promise<Target> {
  const store = new Store();
  const api = newServer(store);
  const { url, caPem, token, close } = await startHttps(api, { port: 0, directory });
  const transport = createHttpTransport({ server: url, caPem, token, userAgent: "conformance" });
  return {
    how: "over HTTPS",
    takesBytes: true,
    forget: async () => store.forget(),
    transport,
    close: async () => {
      transport.close();
      api.close();
      await close();
    },
  };
}

const directory = mkdtempSync(join(tmpdir(), "karpenter-conformance-"));
afterAll(() => rmSync(directory, { recursive: true }));

for (const [group, checks] of Object.entries(CHECKS)) {
  describe(`kube-apiserver's answers: ${group}`, () => {
    let targets: readonly Target[] = [];
    let webhooks: WebhookServer;

    beforeAll(async () => {
      webhooks = await startWebhooks();
      targets = await Promise.all([inProcess(), overHttps(directory)]);
      for (const { transport } of targets) await installCustomKinds(transport, clock);
    });
    afterAll(async () => {
      for (const target of targets) await target.close();
      await webhooks.close();
    });

    const { checks: recorded } = readRecording(group);
    it.each(checks.map((check) => [check.id, check.title, check] as const))(
      "%s %s",
      async (id, _, check) => {
        const wanted = recorded[id];
        if (wanted === undefined) throw new Error(`${id} is not recorded: npm run cluster:record`);
        // Both targets are tested in parallel, because most of a check's time is waiting.
        await Promise.all(
          targets.map(async (target) => {
            const { how, takesBytes } = target;
            if (!takesBytes && check.steps.some(({ raw }) => raw !== undefined)) return;
            const answers = JSON.parse(
              JSON.stringify(await runCheck(target, clock, check, webhooks)),
            );
            check.steps.forEach((step, index) => {
              const name = `${id}.${index + 1}`;
              const what = `${name} ${how}: ${step.method} ${step.path}`;
              if (!known.has(name)) expect.soft(answers[index], what).toEqual(wanted[index]);
              else
                expect
                  .soft(answers[index], `${what} is mended: take it off the list`)
                  .not.toEqual(wanted[index]);
              // If the wording of a refusal is known to differ, its status must still be the same.
              if (known.has(name) && (wanted[index]?.status ?? 0) >= 400)
                expect.soft(answers[index].status, what).toBe(wanted[index]?.status);
            });
          }),
        );
      },
    );
  });
}

/**
 * upstream: kubernetes v1.34 pkg/kubeapiserver/options/plugins.go, DefaultOffAdmissionPlugins names those that are on.
 */
const ON_BY_DEFAULT =
  "CertificateApproval CertificateSigning CertificateSubjectRestriction ClusterTrustBundleAttest DefaultIngressClass " +
  "DefaultStorageClass DefaultTolerationSeconds LimitRanger MutatingAdmissionPolicy MutatingAdmissionWebhook " +
  "NamespaceLifecycle PersistentVolumeClaimResize PodSecurity PodTopologyLabels Priority ResourceQuota RuntimeClass " +
  "ServiceAccount StorageObjectInUseProtection TaintNodesByCondition ValidatingAdmissionPolicy ValidatingAdmissionWebhook";

describe("the admission plugins of kube-apiserver that are on by default", () => {
  const document = new URL("../../docs/reference/differences.md", import.meta.url);
  const rows = [
    ...readFileSync(document, "utf8").matchAll(/^\| (\w+) \| (served|not served) \| (.*) \|$/gm),
  ].map(([, plugin = "", state = "", told = ""]) => ({ plugin, state, told }));
  const all = Object.values(CHECKS).flatMap((checks) => checks.map(({ id }) => id));

  it("are each named once in the document", () => {
    const listed = rows.map(({ plugin }) => plugin).sort();
    expect(listed).toEqual(ON_BY_DEFAULT.split(" "));
  });

  it.each(rows.filter(({ state }) => state === "served"))(
    "$plugin is held to checks that are there",
    ({ told }) => {
      const ids = told.split(" ");
      expect(ids.length).toBeGreaterThan(0);
      for (const id of ids) expect(all).toContain(id);
    },
  );

  it.each(rows.filter(({ state }) => state === "not served"))(
    "$plugin is left out for a reason",
    ({ told }) => expect(told.split(" ").length).toBeGreaterThan(4),
  );
});

describe("what clients rely on", () => {
  it("is listed in the README, each check once or more", () => {
    const text = readFileSync(new URL("README.md", import.meta.url), "utf8");
    const listed = new Set(text.match(/\b[A-Z]{2}-\d\d\b(?!\.)/g));
    const all = Object.values(CHECKS).flatMap((checks) => checks.map(({ id }) => id));
    expect([...listed].sort()).toEqual(all.toSorted());
  });
});
