/**
 * A controller that cannot start says why. Each row of docs/guide/troubleshooting.md is provoked here. The log
 * must have the row's message with its cause and a remedy, and again after a minute. Readiness must be as the row
 * says.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { createServer as createHttps } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { generate } from "selfsigned";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { customResourceDefinitions } from "../src/apis/crds/all.ts";
import type { KubeObject } from "../src/apis/meta.ts";
import { type Logger, SILENT } from "../src/base/log.ts";
import { Random } from "../src/base/random.ts";
import { VirtualClock } from "../src/base/virtual-clock.ts";
import { awsProviderOf } from "../src/cli/controller/providers.ts";
import { createKubeClient } from "../src/kube/client/kube-client.ts";
import { CredentialsError } from "../src/kube/transport/credentials.ts";
import { createHttpTransport } from "../src/kube/transport/http-transport.ts";
import { tellingTransport } from "../src/kube/transport/telling-transport.ts";
import type { KubeRequest, KubeResponse, Transport } from "../src/kube/transport/transport.ts";
import { createOperator } from "../src/operator/create-operator.ts";
import { createLogger } from "../src/operator/logging/logger.ts";
import { underRights } from "../src/operator/rights.ts";
import { readGlobalSettings } from "../src/operator/settings/global-settings.ts";
import { parseOptions } from "../src/operator/settings/parse-options.ts";
import { startWebhooks } from "../src/operator/webhooks/webhooks.ts";
import { bareApiServer } from "../src/sandbox/testing/bare-api-server.ts";
import { refusal } from "./replicas.ts";
import { isUsual, openWorld, type TestWorld } from "./world.ts";

const MINUTE = 60_000;
const NAMESPACE = "karpenter";
const PAGE = readFileSync(new URL("../docs/guide/troubleshooting.md", import.meta.url), "utf8");
const [MESSAGES = "", REST = ""] = PAGE.split("## Reasons not to start at all");
const [SENTENCES = ""] = REST.split("\n## ");
/** A table's rows: the first cell, which is code, and the last cell. */
const rowsOf = (text: string) =>
  [...text.matchAll(/^\| `(.+?)` \|(?:.*\|)? ([^|]+) \|$/gm)].map(
    ([, message = "", last = ""]) => ({
      message,
      last,
    }),
  );

/** What the failing start logged, and whether it reported ready at the end. */
interface Outcome {
  readonly log: readonly string[];
  readonly ready: boolean;
}

type Answer = KubeResponse | undefined | Promise<KubeResponse | undefined>;

let world: TestWorld;
let folder: string;
const servers: Server[] = [];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "karpenter-start-up-"));
  world = await openWorld({ sells: isUsual });
  await world.box.operator.stop();
});
afterAll(async () => {
  await world.close();
  for (const server of servers) server.close();
  rmSync(folder, { recursive: true });
});

/** Runs a controller as `karpenter controller` does, for three minutes. `fault` decides about its requests. */
async function started(
  fault: (request: KubeRequest) => Answer = () => undefined,
  flags: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  const { clock, box } = world;
  const log: string[] = [];
  const options = parseOptions({ "cluster-name": "karpenter-demo", ...flags }, {});
  const root = createLogger({
    clock,
    level: "info",
    encoding: "json",
    commit: "",
    write: (line) => log.push(line),
  });
  const faulty: Transport = {
    send: async (request) => (await fault(request)) ?? box.sandbox.transport.send(request),
    close: () => undefined,
  };
  const operator = createOperator({
    clock,
    random: new Random("start-up"),
    transport: tellingTransport(faulty, { clock, log: root, server: "https://api" }),
    log: root,
    options,
    createProvider: (doors) => awsProviderOf(doors, box.sandbox.aws.api, options, "us-west-2"),
    version: "0.0.0",
    commit: "",
    namespace: NAMESPACE,
    identity: "start-up",
  });
  void operator.start();
  await world.advance(3 * MINUTE);
  const { ready } = operator;
  expect(operator.waitsFor().length > 0).toBe(!ready);
  await operator.stop();
  return { log, ready };
}

const on = (path: string, answer: () => Answer) => (request: KubeRequest) =>
  request.path.split("?")[0] === path ? answer() : undefined;
const POOLS = "/apis/karpenter.sh/v1/nodepools";
const LEASES = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases`;
const LEASE = `${LEASES}/karpenter-leader-election`;

/** Starts the controller while AWS has the faults of `begin`. */
async function withAws(
  begin: (faults: TestWorld["box"]["sandbox"]["aws"]["faults"]) => () => void,
  flags: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  const undo = begin(world.box.sandbox.aws.faults);
  try {
    return await started(undefined, flags);
  } finally {
    undo();
  }
}

const failing = (code: string, status = 400) =>
  withAws((faults) => faults.failCalls({ code, status, message: "no" }));

/** A logger that keeps its lines. */
function lines(): { readonly log: Logger; readonly said: string[] } {
  const said: string[] = [];
  const say = (message: string, fields: object = {}) =>
    void said.push(JSON.stringify({ message, ...fields }));
  const log: Logger = { ...SILENT, info: say, warn: say, error: say, with: () => log };
  return { log, said };
}

async function portOf(server: Server): Promise<number> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

/** The same failure over HTTP: what the transport logs about a server that gets requests for three minutes. */
async function overTheWire(options: Parameters<typeof createHttpTransport>[0]): Promise<Outcome> {
  const clock = new VirtualClock();
  const { log, said } = lines();
  const { server } = options;
  const transport = tellingTransport(createHttpTransport(options), { clock, log, server });
  for (let at = 0; at < 3 * MINUTE; at += 15_000) {
    await transport.send({ method: "GET", path: "/api/v1/nodes" }).catch(() => undefined);
    await clock.advance(15_000);
  }
  transport.close();
  // Readiness of a controller none of whose requests is answered.
  const none = await started(() => Promise.reject(new Error("no answer")));
  return { log: said, ready: none.ready };
}

async function serving(status: number): Promise<string> {
  const server = createServer((_, response) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(
      JSON.stringify({ message: 'conversion webhook for karpenter.sh: Post "https://…"' }),
    );
  });
  return `http://127.0.0.1:${await portOf(server)}`;
}

async function untrusted(): Promise<string> {
  const { private: key, cert } = await generate([{ name: "commonName", value: "other" }], {
    keyType: "ec",
    algorithm: "sha256",
  });
  return `https://127.0.0.1:${await portOf(createHttps({ key, cert }))}`;
}

/** Runs the webhooks for three minutes, in a cluster with these kinds and rights. */
async function webhooks({
  crds = customResourceDefinitions() as readonly KubeObject[],
  mayAll = true,
  service = false,
  port = 0,
} = {}): Promise<Outcome> {
  const clock = new VirtualClock(Date.now());
  const { log, said } = lines();
  const transport = bareApiServer({ clock }).transport({
    name: "tester",
    groups: ["system:masters"],
  });
  const name = NAMESPACE;
  await transport.send({
    method: "POST",
    path: "/api/v1/namespaces",
    body: { metadata: { name } },
  });
  for (const body of crds)
    await transport.send({
      method: "POST",
      path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
      body,
    });
  const running = startWebhooks({
    client: createKubeClient(mayAll ? transport : underRights(transport, [], NAMESPACE)),
    clock,
    random: new Random("webhooks"),
    log,
    port,
    host: "127.0.0.1",
    address: service
      ? { service: { name: "karpenter", namespace: NAMESPACE, port } }
      : { url: "https://127.0.0.1:8443" },
    secret: { name: "karpenter-cert", namespace: NAMESPACE },
    admission: { clusterName: "c", acceptMinusOne: true, defaultInstanceProfile: undefined },
  });
  for (let at = 0; at < 30; at++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    await clock.advance(6_000);
  }
  const ready = running.settled;
  await running.stop();
  return { log: said, ready };
}

/** Kinds that are served in two versions without a conversion. */
const unconverted = () =>
  customResourceDefinitions()
    .filter(({ metadata }) => metadata.name === "nodepools.karpenter.sh")
    .map(({ spec: { conversion: _, ...spec }, ...crd }) => ({ ...crd, spec }) as KubeObject);

const CLASS = `
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: KarpenterNodeRole-karpenter-demo
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: karpenter-demo}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: karpenter-demo}}]
`;

const PROVOKED: Readonly<Record<string, () => Promise<Outcome>>> = {
  "cannot reach the API server, trying again": async () =>
    overTheWire({ server: "http://127.0.0.1:9", userAgent: "test" }),
  "the API server's certificate is not trusted": async () =>
    overTheWire({ server: await untrusted(), userAgent: "test" }),
  "cannot log in to the API server": async () => {
    const error = new CredentialsError("credential plugin aws: there is no such program");
    const credentials = { current: () => Promise.reject(error), refused: () => undefined };
    return overTheWire({ server: "http://127.0.0.1:9", userAgent: "test", credentials });
  },
  "the API server does not accept the controller's credentials": async () => {
    const { log } = await overTheWire({ server: await serving(401), userAgent: "test" });
    const { ready } = await started(() => refusal(401, "Unauthorized"));
    return { log, ready };
  },
  "the API server fails to list a kind": async () => {
    const { log } = await overTheWire({ server: await serving(500), userAgent: "test" });
    const { ready } = await started(on(POOLS, () => refusal(500, "InternalError")));
    return { log, ready };
  },
  "the kinds of Karpenter are not installed, waiting for them": () =>
    started(on("/apis/karpenter.sh", () => refusal(404, "NotFound"))),
  "a feature gate has no effect, its kind is not installed": () =>
    started(
      on("/apis/autoscaling.x-k8s.io/v1beta1", () => refusal(404, "NotFound")),
      { "feature-gates": "CapacityBuffer=true" },
    ),
  "kind is not served, waiting for it": () => started(on(POOLS, () => refusal(404, "NotFound"))),
  "not allowed to watch, waiting for the right": () =>
    started(on(POOLS, () => refusal(403, "Forbidden"))),
  "not allowed to watch, going on without": () =>
    started(on("/apis/apps/v1/deployments", () => refusal(403, "Forbidden"))),
  "not ready, waiting for the first list of every kind": () =>
    started(on("/api/v1/pods", () => new Promise(() => undefined))),
  "not allowed to lead, waiting for the right": () =>
    started(on(LEASE, () => refusal(403, "Forbidden"))),
  "cannot lead: the namespace of the lease does not exist": () =>
    started(undefined, { "leader-election-namespace": "nowhere" }),
  "cannot lead: the API server refuses the lease": () =>
    started(
      on(LEASES, () => refusal(422, "Invalid")),
      { "leader-election-name": "another" },
    ),
  "cannot read the settings of older generations; flags and defaults count": async () => {
    const { log, said } = lines();
    const client = createKubeClient(underRights(world.box.sandbox.transport, [], NAMESPACE));
    await readGlobalSettings({ client, clock: world.clock, log, namespace: NAMESPACE });
    return { log: said, ready: (await started()).ready };
  },
  "webhooks are not served: a right is missing": () => webhooks({ mayAll: false }),
  "webhooks are not served: cannot listen": async () =>
    webhooks({ port: await portOf(createServer()) }),
  "webhooks are not served: the API server would not find them": () => webhooks({ service: true }),
  "kinds are served in two versions without conversion": () => webhooks({ crds: unconverted() }),
  "AWS credentials are missing": () => failing("CredentialsProviderError", 0),
  "AWS does not accept the controller's credentials": () => failing("ExpiredToken"),
  "AWS forbids a call": () => failing("UnauthorizedOperation", 403),
  "AWS does not answer for now, trying again": () => withAws((faults) => faults.unreachable()),
  "the interruption queue does not exist": () =>
    started(undefined, { "interruption-queue": "nowhere" }),
  "EKS knows no cluster of this name": async () => {
    await world.apply(CLASS);
    const outcome = await started(undefined, { "cluster-name": "nowhere" });
    await world.remove("EC2NodeClass", "default", "karpenter.k8s.aws/v1");
    return outcome;
  },
};

/** Messages that are logged once, because the controller works without the missing object. */
const ONCE: ReadonlySet<string> = new Set([
  "not allowed to watch, going on without",
  "cannot read the settings of older generations; flags and defaults count",
  "webhooks are not served: the API server would not find them",
  "kinds are served in two versions without conversion",
]);

describe("a message about what the start waits for", () => {
  it("has a row on the page", () => {
    const rows = rowsOf(MESSAGES).map(({ message }) => message);
    expect(rows.length).toBeGreaterThan(20);
    expect(rows.sort()).toEqual(Object.keys(PROVOKED).sort());
  });

  it.each(rowsOf(MESSAGES))("is logged: $message", async ({ message, last }) => {
    const { log, ready } = await (PROVOKED[message] as () => Promise<Outcome>)();
    const told = log
      .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
      .filter((line) => line["message"] === message);
    expect(told.length, log.join("\n")).toBeGreaterThan(0);
    // The line names the error or the object, and a remedy.
    expect(told[0]).toSatisfy((line: object) =>
      ["error", "groups", "kinds", "apiVersion", "service", "crds"].some((field) => field in line),
    );
    if (!message.startsWith("cannot read the settings")) expect(told[0]).toHaveProperty("remedy");
    if (ONCE.has(message)) expect(told.length).toBe(1);
    else expect(told.length).toBeGreaterThanOrEqual(2);
    expect(`${ready}`).toBe(`${last === "yes"}`);
  });
});

describe("a sentence with which a start fails", () => {
  const MAIN = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));

  /** Another program may use the default ports. */
  const OWN_PORTS = { METRICS_PORT: "0", HEALTH_PROBE_PORT: "0", DISABLE_WEBHOOK: "true" };

  async function ends(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    const options = {
      timeout: 30_000,
      env: { PATH: process.env["PATH"] ?? "", HOME: folder, ...OWN_PORTS, ...env },
    };
    return new Promise<string>((resolve) => {
      const started = [MAIN, "controller", ...args];
      execFile(process.execPath, started, options, (error, _, said) =>
        resolve(`${error?.code} ${said}`),
      );
    });
  }

  const kubeconfig = async (): Promise<string> => {
    const path = join(folder, "kubeconfig");
    const server = await serving(404);
    const config = {
      "current-context": "c",
      contexts: [{ name: "c", context: { cluster: "k", user: "u" } }],
      clusters: [{ name: "k", cluster: { server } }],
      users: [{ name: "u", user: {} }],
    };
    writeFileSync(path, JSON.stringify(config));
    return path;
  };

  const ENDED: Readonly<Record<string, () => Promise<string>>> = {
    "no cluster to talk to": () => ends(["--provider", "kwok"]),
    "there is no such file; set KUBECONFIG": () =>
      ends(["--provider", "kwok"], { KUBECONFIG: "/nowhere" }),
    "missing the cluster's name": async () => ends([], { KUBECONFIG: await kubeconfig() }),
    "missing the region": async () =>
      ends(["--cluster-name", "c"], { KUBECONFIG: await kubeconfig() }),
    "on all interfaces is in use": async () => {
      const port = String(await portOf(createServer()));
      const flags = ["--provider", "kwok", "--metrics-port", port, "--health-probe-port", "0"];
      return ends([...flags, "--disable-webhook", "true"], { KUBECONFIG: await kubeconfig() });
    },
    "validating cli flags / env vars": () => ends(["--batch-idle-duration", "soon"]),
  };

  it("has a row on the page", () => {
    const rows = rowsOf(SENTENCES).map(({ message }) => message);
    expect(rows.sort()).toEqual(Object.keys(ENDED).sort());
  });

  it.each(rowsOf(SENTENCES))("is printed in one line: $message", async ({ message }) => {
    const said = await (ENDED[message] as () => Promise<string>)();
    expect(said).toMatch(/^1 karpenter: [^\n]*\n$/);
    expect(said).toContain(message);
  });
});
