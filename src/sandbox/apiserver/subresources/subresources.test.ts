import { describe, expect, it } from "vitest";
import { SIMULATION_EPOCH_MS } from "../../../base/virtual-clock.ts";
import type { KubeResponse } from "../../../kube/transport/transport.ts";
import { ContainerLog } from "../../log-lines.ts";
import { bareApiServer } from "../../testing/bare-api-server.ts";

// biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes
type Answer = KubeResponse & { readonly body?: any };

const PODS = "/api/v1/namespaces/default/pods";
const BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
const MERGE = "application/merge-patch+json";

function start() {
  const server = bareApiServer();
  const send = (method: "GET" | "POST" | "PUT" | "PATCH", path: string, body?: unknown) =>
    server.handle(
      {
        method,
        path,
        body,
        ...(method === "PATCH" ? { headers: { "content-type": MERGE } } : {}),
      },
      { name: "tester", groups: ["system:masters"] },
    ) as Promise<Answer>;
  return { server, send };
}

async function withPod(ready: boolean) {
  const world = start();
  const { send } = world;
  await send("POST", PODS, {
    metadata: { name: "p", labels: { app: "x" } },
    spec: { nodeName: "n1", containers: [{ name: "main", image: "pause" }] },
  });
  const conditions = [{ type: "Ready", status: ready ? "True" : "False" }];
  await send("PATCH", `${PODS}/p/status`, { status: { phase: "Running", conditions } });
  const evict = (query = "") =>
    send("POST", `${PODS}/p/eviction${query}`, {
      apiVersion: "policy/v1",
      kind: "Eviction",
      metadata: { name: "p", namespace: "default" },
    });
  const budget = async (name: string, status: object, spec: object = {}) => {
    await send("POST", BUDGETS, {
      metadata: { name },
      spec: { minAvailable: 1, selector: { matchLabels: { app: "x" } }, ...spec },
    });
    const full = { observedGeneration: 1, expectedPods: 2, ...status };
    await send("PATCH", `${BUDGETS}/${name}/status`, { status: full });
  };
  return { ...world, evict, budget };
}

describe("an eviction by the API", () => {
  it("deletes a pod without a PodDisruptionBudget", async () => {
    const { evict, send } = await withPod(true);
    expect((await evict()).status).toBe(201);
    const pod = await send("GET", `${PODS}/p`);
    expect(pod.body.metadata.deletionTimestamp).toBeDefined();
    expect(pod.body.status.conditions).toContainEqual(
      expect.objectContaining({ type: "DisruptionTarget", reason: "EvictionByEvictionAPI" }),
    );
  });

  it("is refused with a reason if the PodDisruptionBudget allows no more", async () => {
    const { budget, evict, send } = await withPod(true);
    await budget("pdb", { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1 });
    const answer = await evict();
    expect(answer.body).toMatchObject({
      code: 429,
      reason: "TooManyRequests",
      message: "Cannot evict pod as it would violate the pod's disruption budget.",
      details: {
        causes: [
          {
            reason: "DisruptionBudget",
            message: "The disruption budget pdb needs 1 healthy pods and has 1 currently",
          },
        ],
      },
    });
    const pod = await send("GET", `${PODS}/p`);
    expect(pod.body.metadata.deletionTimestamp).toBeUndefined();
  });

  it("counts in the PodDisruptionBudget at once, except as a dry run", async () => {
    const { budget, evict, send } = await withPod(true);
    await budget("pdb", { disruptionsAllowed: 1, currentHealthy: 2, desiredHealthy: 1 });
    expect((await evict("?dryRun=All")).status).toBe(201);
    expect((await send("GET", `${BUDGETS}/pdb`)).body.status.disruptionsAllowed).toBe(1);
    expect((await evict()).status).toBe(201);
    const { status } = (await send("GET", `${BUDGETS}/pdb`)).body;
    expect(status.disruptionsAllowed).toBe(0);
    expect(status.disruptedPods).toEqual({ p: "2026-01-05T08:00:00Z" });
  });

  it("must wait while the PodDisruptionBudget's controller has not seen the last change", async () => {
    const { budget, evict } = await withPod(true);
    await budget("pdb", { disruptionsAllowed: 1, observedGeneration: 0 });
    const answer = await evict();
    expect(answer.status).toBe(429);
    expect(answer.body.details.retryAfterSeconds).toBe(10);
    expect(answer.headers["retry-after"]).toBe("10");
  });

  it("fails for a pod with two PodDisruptionBudgets", async () => {
    const { budget, evict } = await withPod(true);
    await budget("one", { disruptionsAllowed: 1 });
    await budget("two", { disruptionsAllowed: 1 });
    const answer = await evict();
    expect(answer.status).toBe(500);
    expect(answer.body.message).toBe(
      "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
    );
  });

  const unready: readonly [string, object, object, number][] = [
    [
      "passes when the budget is kept without it",
      { currentHealthy: 1, desiredHealthy: 1 },
      {},
      201,
    ],
    ["is refused when the budget is broken", { currentHealthy: 0, desiredHealthy: 1 }, {}, 429],
    [
      "passes always when the policy says so",
      { currentHealthy: 0, desiredHealthy: 1 },
      { unhealthyPodEvictionPolicy: "AlwaysAllow" },
      201,
    ],
  ];
  it.each(unready)("of an unready pod %s", async (_title, status, spec, expected) => {
    const { budget, evict } = await withPod(false);
    await budget("pdb", { disruptionsAllowed: 0, ...status }, spec);
    expect((await evict()).status).toBe(expected);
  });
});

describe("a binding of a pod", () => {
  it("sets its node once", async () => {
    const { send } = start();
    await send("POST", PODS, {
      metadata: { name: "p" },
      spec: { containers: [{ name: "main", image: "pause" }] },
    });
    const bind = (name: string) =>
      send("POST", `${PODS}/p/binding`, {
        metadata: { name: "p" },
        target: { kind: "Node", name },
      });
    expect((await bind("n1")).status).toBe(201);
    const pod = (await send("GET", `${PODS}/p`)).body;
    expect(pod.spec.nodeName).toBe("n1");
    expect(pod.status.conditions[0]).toMatchObject({ type: "PodScheduled", status: "True" });
    const again = await bind("n2");
    expect(again.body).toMatchObject({
      code: 409,
      message:
        'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "n1"',
    });
  });
});

describe("a port of a pod", () => {
  it("is answered by the pod's process if one runs, and otherwise refused", async () => {
    const { send, server } = await withPod(true);
    const refused = await send("GET", `${PODS}/http:p:8080/proxy/metrics`);
    expect([refused.status, refused.body.message]).toEqual([
      400,
      "pods/proxy is not available: the sandbox runs no containers, only their life in the API",
    ]);
    const asked: unknown[] = [];
    server.setPodHttp(async (request) => {
      asked.push(request);
      return { status: 200, headers: { "content-type": "text/plain" }, body: "up 1\n" };
    });
    const { status, body } = await send("GET", `${PODS}/http:p:8080/proxy/metrics`);
    expect([status, body]).toEqual([200, "up 1\n"]);
    expect((await send("GET", `${PODS}/p/proxy`)).status).toBe(200);
    expect(asked).toEqual([
      { pod: "default/p", port: "8080", path: "/metrics" },
      { pod: "default/p", port: undefined, path: "/" },
    ]);
    expect((await send("GET", `${PODS}/none:8080/proxy/metrics`)).status).toBe(404);
  });

  it.each([
    "http:p:1@another.host",
    "http:p:1@another.host:80",
    "p:80%2Fpath",
    "p:80?query",
    "p:0",
    "p:65536",
    "ftp:p:80",
    // kube-apiserver reads this as a pod named `http` with a port named `p`.
    "http:p",
  ])("must be a number: %s", async (id) => {
    const { send, server } = await withPod(true);
    server.setPodHttp(async (request) => {
      throw new Error(`was asked for ${JSON.stringify(request)}`);
    });
    const { status, body } = await send("GET", `${PODS}/${encodeURIComponent(id)}/proxy/metrics`);
    expect([status, body.message]).toEqual([400, `invalid pod request "${id}"`]);
  });
});

describe("the scale subresource", () => {
  it("reads and writes the number of replicas", async () => {
    const { send } = start();
    const deployments = "/apis/apps/v1/namespaces/default/deployments";
    await send("POST", deployments, {
      metadata: { name: "web" },
      spec: {
        replicas: 1,
        selector: { matchLabels: { app: "web" } },
        template: {
          metadata: { labels: { app: "web" } },
          spec: { containers: [{ name: "main", image: "pause" }] },
        },
      },
    });
    const patched = await send("PATCH", `${deployments}/web/scale`, { spec: { replicas: 4 } });
    expect(patched.body).toMatchObject({
      kind: "Scale",
      apiVersion: "autoscaling/v1",
      spec: { replicas: 4 },
      status: { selector: "app=web" },
    });
    const deployment = await send("GET", `${deployments}/web`);
    expect(deployment.body.metadata.generation).toBe(2);
    const bad = await send("PATCH", `${deployments}/web/scale`, { spec: { replicas: -1 } });
    expect(bad.status).toBe(422);
  });
});

describe("a container's log", () => {
  const AT = SIMULATION_EPOCH_MS - 20_000;

  /** A pod of one container whose three lines are ten seconds apart, the last at the clock's time. */
  async function logged() {
    const { send, server } = await withPod(true);
    const log = new ContainerLog(100);
    ["one", "two", "three"].forEach((text, at) => {
      log.append({ atMs: AT + at * 10_000, text });
    });
    server.setLogSource({
      lines: (key, container, previous) =>
        key !== "default/p" || container !== "main"
          ? undefined
          : previous
            ? log.previous
            : log.lines,
      follow: (_key, _container, follower) => log.follow(follower),
    });
    const body = async (query: string) => (await send("GET", `${PODS}/p/log?${query}`)).body;
    return { send, body, log };
  }

  it.each([
    ["", "one\ntwo\nthree\n"],
    ["tailLines=2", "two\nthree\n"],
    ["tailLines=0", ""],
    ["sinceSeconds=15", "two\nthree\n"],
    ["sinceTime=2026-01-05T08:00:00Z", "three\n"],
    // `tailLines` applies before `sinceTime`.
    ["tailLines=1&sinceTime=2026-01-05T07:59:00Z", "three\n"],
    ["limitBytes=6", "one\ntw"],
    ["timestamps=true&tailLines=1", "2026-01-05T08:00:00.000000000Z three\n"],
    ["container=main&timestamps=false&tailLines=1", "three\n"],
  ])("with the query ?%s has the expected lines", async (query, text) => {
    const { body } = await logged();
    expect(await body(query)).toBe(text);
  });

  it.each([
    [
      "tailLines=-1",
      422,
      'PodLogOptions "p" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0',
    ],
    [
      "limitBytes=0",
      422,
      'PodLogOptions "p" is invalid: limitBytes: Invalid value: 0: must be greater than 0',
    ],
    [
      "sinceSeconds=0",
      422,
      'PodLogOptions "p" is invalid: sinceSeconds: Invalid value: 0: must be greater than 0',
    ],
    [
      "sinceSeconds=1&sinceTime=2026-01-05T08:00:00Z",
      422,
      "at most one of `sinceTime` or `sinceSeconds` may be specified",
    ],
    ["tailLines=many", 400, 'parsing "many": invalid syntax'],
    ["sinceTime=today", 400, "is no time"],
    ["container=nope", 400, "container nope is not valid for pod p"],
    ["previous=true", 400, 'previous terminated container "main" in pod "p" not found'],
  ])("refuses the query ?%s with %i", async (query, status, message) => {
    const { send } = await logged();
    const answer = await send("GET", `${PODS}/p/log?${query}`);
    expect(answer.status).toBe(status);
    expect(answer.body.message).toContain(message);
  });

  it("of the previous instance is kept when a container restarts", async () => {
    const { body, log } = await logged();
    log.startAgain();
    log.append({ atMs: AT + 20_000, text: "again" });
    expect(await body("previous=true")).toBe("one\ntwo\nthree\n");
    expect(await body("")).toBe("again\n");
  });

  it("can be followed, with times, until it is closed, enough bytes were sent, or the container ends", async () => {
    const { send, log } = await logged();
    const follow = async (query: string, then: (seen: number, close: () => void) => void) => {
      const { stream } = await send("GET", `${PODS}/p/log?follow=true&tailLines=1&${query}`);
      const seen: unknown[] = [];
      for await (const line of stream ?? []) {
        seen.push(line);
        then(seen.length, () => stream?.close());
      }
      return seen;
    };
    const tell = (text: string) => log.append({ atMs: AT + 20_500, text });
    expect(
      await follow("timestamps=true", (seen, close) => (seen === 1 ? tell("four") : close())),
    ).toEqual(["2026-01-05T08:00:00.000000000Z three", "2026-01-05T08:00:00.500000000Z four"]);
    expect(await follow("limitBytes=8", (seen) => seen === 1 && tell("five"))).toEqual([
      "four",
      "fiv",
    ]);
    expect(await follow("", (seen) => seen === 1 && log.end())).toEqual(["five"]);
    // The container has ended before this request.
    expect(await follow("", () => undefined)).toEqual(["five"]);
  });
});

describe("a posted body that is answered but not stored", () => {
  const at = "/api/v1/namespaces/default";
  it.each([
    ["a token", `${at}/serviceaccounts/default/token`, { expirationSeconds: "long" }, "int64"],
    ["a token", `${at}/serviceaccounts/default/token`, { audiences: "vault" }, "[]string"],
    ["who may", "/apis/authorization.k8s.io/v1/subjectaccessreviews", { user: 7 }, "string"],
    ["whose token", "/apis/authentication.k8s.io/v1/tokenreviews", { token: {} }, "string"],
  ])("is refused if a value has a wrong type: %s", async (_what, path, spec, wanted) => {
    const answer = await start().send("POST", path, { spec });
    expect(answer.status).toBe(400);
    expect(answer.body.message).toMatch(/cannot be handled as a \w+: json: cannot unmarshal/);
    expect(answer.body.message.endsWith(`of type ${wanted}`)).toBe(true);
  });

  it("is refused if it is not an object", async () => {
    const answer = await start().send("POST", `${at}/serviceaccounts/default/token`, ["a"]);
    expect(answer.status).toBe(400);
    expect(answer.body.message).toContain("a TokenRequest of authentication.k8s.io/v1");
  });
});
