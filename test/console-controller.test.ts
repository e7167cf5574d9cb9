/**
 * The console of a running controller: which users the API server admits, and what the console sees with the
 * chart's rights.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { SILENT } from "../src/base/log.ts";
import { Random } from "../src/base/random.ts";
import { liveSource } from "../src/cli/console/live-source.ts";
import { reviewBy } from "../src/cli/console/review.ts";
import { createKubeClient } from "../src/kube/client/kube-client.ts";
import { consoleRights, rightsOf, underRights } from "../src/operator/rights.ts";
import { ROOT } from "./tidy/sources.ts";
import { isUsual, openWorld, type TestWorld } from "./world.ts";

let world: TestWorld | undefined;
afterEach(async () => {
  await world?.close();
  world = undefined;
});

/** The controller's connection to the API server, with `controller.console.enabled` in the chart. */
function asController({ box }: TestWorld, asked: string[] = []) {
  const rights = [...rightsOf("aws"), ...consoleRights()];
  const transport = underRights(box.sandbox.transport, rights, "karpenter");
  return {
    ...transport,
    send: (request: Parameters<typeof transport.send>[0]) => {
      asked.push(`${request.method} ${request.path.split("?")[0]}`);
      return transport.send(request);
    },
  };
}

async function tokenOf({ client }: TestWorld, name: string): Promise<string> {
  const path = `/api/v1/namespaces/default/serviceaccounts/${name}/token`;
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
  const answer = await client.raw({ method: "POST", path, body });
  return (answer.body as { status: { token: string } }).status.token;
}

const PEOPLE = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: viewer, namespace: default}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: stranger, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: karpenter-console-viewer}
rules: [{nonResourceURLs: ["/console"], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: viewer}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: karpenter-console-viewer}
subjects: [{kind: ServiceAccount, name: viewer, namespace: default}]
`;

it("the console admits a token only if the API server knows it and its user may get /console", async () => {
  world = await openWorld({ sells: isUsual });
  await world.apply(PEOPLE);
  const asked: string[] = [];
  const review = reviewBy(createKubeClient(asController(world, asked)));
  const viewer = await tokenOf(world, "viewer");
  const stranger = await tokenOf(world, "stranger");
  expect(await world.during(review(viewer, "/console"))).toBe(true);
  expect(await world.during(review(stranger, "/console"))).toBe(false);
  expect(await world.during(review("no token at all", "/console"))).toBe(false);
  expect(await world.during(review(viewer, "/debug/pprof/profile"))).toBe(false);
  expect([...new Set(asked)]).toEqual([
    "POST /apis/authentication.k8s.io/v1/tokenreviews",
    "POST /apis/authorization.k8s.io/v1/subjectaccessreviews",
  ]);
});

it("the console shows the fleet with the controller's rights, writes nothing, and names what it may not read", async () => {
  world = await openWorld({ isAsked: true, sells: isUsual });
  for (const file of ["v1/nodepool.yaml", "inflate.yaml"])
    await world.apply(readFileSync(join(ROOT, "examples", file), "utf8"));
  await world.scale("inflate", 3);
  await world.advance(120_000);
  const asked: string[] = [];
  const { clock } = world;
  const source = liveSource({
    name: "test",
    mode: "cluster",
    transport: asController(world, asked),
    clock,
    random: new Random(1),
    log: SILENT,
    nowMs: () => clock.now(),
  });
  const close = source.open();
  try {
    const scene = await world.during(source.scene());
    const { nodes } = await world.during(scene.fleet());
    expect(nodes.filter(({ priceMicroUsdPerHour = 0 }) => priceMicroUsdPerHour > 0)).not.toEqual(
      [],
    );
    expect(scene.events.some(({ source: by }) => by?.component === "karpenter")).toBe(true);
    expect(scene.notes.filter((note) => note.includes("forbidden"))).toMatchInlineSnapshot(`
      [
        "left out, as reading them is forbidden: priorityclasses",
      ]
    `);
    expect(asked.filter((one) => !one.startsWith("GET "))).toEqual([]);
  } finally {
    close();
  }
});
