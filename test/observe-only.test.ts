/**
 * `--observe-only` beside a working Karpenter. The observer's decisions appear in events and metrics, and it
 * changes nothing in the API server or the cloud. Every request of the observer is recorded, so a write that was
 * sent and refused fails the test too.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EVENT, type Event } from "../src/apis/core/kinds.ts";
import type { Pod } from "../src/apis/core/pod.ts";
import { NODE_CLAIM } from "../src/apis/karpenter/nodeclaim.ts";
import { Random } from "../src/base/random.ts";
import { awsProviderOf } from "../src/cli/controller/providers.ts";
import type { KubeRequest, Transport } from "../src/kube/transport/transport.ts";
import { createOperator, type Operator } from "../src/operator/create-operator.ts";
import { createLogger } from "../src/operator/logging/logger.ts";
import { observing } from "../src/operator/observe-only.ts";
import { parseOptions } from "../src/operator/settings/parse-options.ts";
import type { AwsApi } from "../src/providers/aws/api/aws-api.ts";
import { awsPoolManifest } from "../src/testing/manifests.ts";
import { isUsual, openWorld, type TestWorld } from "./world.ts";

const OBJECTS = awsPoolManifest({
  disruption: "{consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 30s}",
});

const web = (replicas: number) =>
  JSON.stringify({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web" },
    spec: {
      replicas,
      selector: { matchLabels: { app: "web" } },
      template: {
        metadata: { labels: { app: "web" } },
        spec: {
          containers: [{ name: "app", image: "pause", resources: { requests: { cpu: "1" } } }],
        },
      },
    },
  });

describe("a controller in observer mode", () => {
  let world: TestWorld;
  let observer: Operator;
  const requests: KubeRequest[] = [];
  const calls: string[] = [];

  const events = async () => {
    const { items } = await world.client.list<Event>(EVENT);
    return items.filter(({ source, reportingComponent }) =>
      [source?.component, reportingComponent].includes("karpenter-observe-only"),
    );
  };
  const pods = () => world.list<Pod>("Pod", "v1", "app=web");
  const claims = async () => (await world.client.list(NODE_CLAIM)).items;

  beforeAll(async () => {
    // The working Karpenter has its disruption paused, so that only the observer wants to disrupt its nodes.
    world = await openWorld({ sells: isUsual, flags: { "pause-disruption": "true" } });
    const { transport, aws } = world.box.sandbox;
    const recording: Transport = {
      close: () => undefined,
      send: (request) => {
        requests.push(request);
        return transport.send(request);
      },
    };
    const options = parseOptions(
      {
        "cluster-name": "karpenter-demo",
        "interruption-queue": "karpenter-demo",
        "observe-only": "true",
      },
      {},
    );
    observer = createOperator({
      clock: world.clock,
      random: new Random("observer"),
      transport: recording,
      log: createLogger({
        clock: world.clock,
        level: "error",
        encoding: "console",
        commit: "0000000",
        write: () => undefined,
      }),
      options,
      createProvider: (doors) =>
        awsProviderOf(doors, recorded(aws.api, calls), options, "us-west-2"),
      version: "0.0.0",
      commit: "0000000",
      namespace: "karpenter",
      identity: "observer",
    });
    await observer.start();
    await world.apply(OBJECTS);
    await world.apply(web(3));
    await world.until("three pods run", async () => (await pods()).length === 3);
    await world.until("they have a node", async () => (await claims()).length > 0);
    await world.advance(120_000);
  });
  afterAll(async () => {
    const stopping = observer?.stop();
    await world?.advance(2_000);
    await stopping;
    await world?.close();
  });

  it("reports for which pods it would create a claim, while the working controller is stopped", async () => {
    await world.box.operator.stop();
    const before = (await claims()).map(({ metadata }) => metadata.name);
    await world.apply(web(60));
    await world.until("the observer plans", async () =>
      (await events()).some(({ reason }) => reason === "Nominated"),
    );
    await world.advance(60_000);
    const told = (await events()).filter(({ reason }) => reason === "Nominated");
    expect(told.map(({ message }) => message).join("\n")).toMatch(
      /^Observe only: Pod would be scheduled on a new node of default, such as \S+ in us-west-2[a-z]$/m,
    );
    expect(await observer.metrics.render()).toMatch(
      /karpenter_observed_decisions_total\{[^}]*decision="create"[^}]*\} [1-9]/,
    );
    expect((await claims()).map(({ metadata }) => metadata.name)).toEqual(before);
    await world.box.restart();
  });

  it("reports which nodes it would disrupt, and disrupts none", async () => {
    await world.until("the working one makes room", async () => {
      const all = await pods();
      return all.length === 60 && all.every(({ spec }) => spec.nodeName !== undefined);
    });
    await world.advance(60_000);
    const before = (await claims()).map(({ metadata }) => metadata.name);
    await world.apply(web(0));
    await world.until(
      "the observer wants the empty nodes away",
      async () =>
        (await events()).some(({ message = "" }) => message.includes("for reason Empty: delete")),
      600_000,
    );
    const told = (await events()).filter(({ reason }) => reason === "DisruptionTerminating");
    expect(told.map(({ message }) => message)).toContainEqual(
      expect.stringMatching(/^Observe only: Would be disrupted for reason Empty: delete: \[ip-/),
    );
    await world.advance(60_000);
    expect((await claims()).map(({ metadata }) => metadata.name)).toEqual(before);
  });

  it("writes only events, acquires no lease, and sends AWS only read requests", () => {
    const written = requests.filter(({ method }) => method !== "GET");
    expect(written.length).toBeGreaterThan(0);
    expect(
      written.filter(({ path }) => !/\/namespaces\/[^/]+\/events(\/[^/]+)?$/.test(path)),
    ).toEqual([]);
    expect(requests.filter(({ path }) => path.includes("/leases"))).toEqual([]);
    expect(calls.length).toBeGreaterThan(0);
    expect([...new Set(calls)].filter((name) => !/\.(describe|get|list)/.test(name))).toEqual([]);
  });
});

describe("the filter of an observer's requests to the API server", () => {
  const send = async (method: KubeRequest["method"], path: string) => {
    let sent = 0;
    const wall = observing({
      close: () => undefined,
      send: async () => {
        sent++;
        return { status: 200, headers: {} };
      },
    });
    const { status } = await wall.send({ method, path });
    return [status, sent];
  };

  it.each([
    ["GET", "/api/v1/pods?watch=1"],
    ["POST", "/api/v1/namespaces/default/events"],
    ["PATCH", "/api/v1/namespaces/default/events/web.1"],
    ["POST", "/apis/events.k8s.io/v1/namespaces/default/events"],
  ] as const)("lets %s %s pass", async (method, path) => {
    expect(await send(method, path)).toEqual([200, 1]);
  });

  it.each([
    ["POST", "/apis/karpenter.sh/v1/nodeclaims"],
    ["PATCH", "/api/v1/nodes/events"],
    ["PUT", "/apis/coordination.k8s.io/v1/namespaces/karpenter/leases/events"],
    ["DELETE", "/api/v1/namespaces/default/events/web.1"],
    ["POST", "/api/v1/namespaces/events/pods/events/eviction"],
    ["PATCH", "/api/v1/namespaces/default/events/web.1/status"],
  ] as const)("blocks %s %s", async (method, path) => {
    expect(await send(method, path)).toEqual([403, 0]);
  });
});

/** The API of AWS; the name of each call is added to `calls`. */
function recorded(api: AwsApi, calls: string[]): AwsApi {
  const services = Object.entries(api).map(([name, service]) => [
    name,
    new Proxy(service as object, {
      get: (target, call) => {
        const value: unknown = Reflect.get(target, call);
        if (typeof value !== "function") return value;
        return (...args: unknown[]) => {
          calls.push(`${name}.${String(call)}`);
          return value.apply(target, args) as unknown;
        };
      },
    }),
  ]);
  return Object.fromEntries(services) as AwsApi;
}
