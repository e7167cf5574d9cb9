/** What a support bundle keeps and removes of each object, and how it reports what could not be read. */
import { expect, it } from "vitest";
import type { KubeObject } from "../../apis/meta.ts";
import { KubeError } from "../../kube/errors.ts";
import type { KubeRequest } from "../../kube/transport/transport.ts";
import { collectBundle } from "./collect.ts";
import { scrubbed } from "./scrub.ts";

const PLACE = { namespace: "karpenter" };
const LABELS = { "app.kubernetes.io/name": "karpenter" };

it("a support bundle keeps Karpenter's settings, and removes all other variables, arguments and annotations", () => {
  const env = [
    { name: "METRICS_PORT", value: "9090" },
    { name: "OTEL_EXPORTER_OTLP_HEADERS", value: "x-key=hunter2" },
    { name: "HTTPS_PROXY", value: "http://a:hunter2@proxy" },
  ];
  const args = ["controller", "--auth-token=hunter2", "--password", "hunter2", "--provider", "aws"];
  const containers = [{ name: "controller", env, args, envFrom: [{ prefix: "hunter2" }] }];
  const kubelet = JSON.stringify({ userData: "hunter2", maxPods: 7 });
  const own = {
    metadata: {
      name: "karpenter",
      labels: { "app.kubernetes.io/name": "karpenter" },
      annotations: { "compatibility.karpenter.sh/kubelet": kubelet },
    },
    spec: { template: { spec: { containers } } },
  } as unknown as KubeObject;
  const annotations = {
    "vault.example/template": "hunter2",
    "karpenter.sh/do-not-disrupt": "true",
  };
  const theirs = { metadata: { name: "web", annotations }, spec: { containers } } as KubeObject;
  const text = [own, theirs].map((one) => JSON.stringify(scrubbed(one))).join("\n");
  expect(text).not.toContain("hunter2");
  expect(text).toContain('{"name":"METRICS_PORT","value":"9090"}');
  expect(text).toContain(
    '["controller","--auth-token=<removed>","--password","<removed>","--provider","aws"]',
  );
  expect(text).toContain('\\"maxPods\\":7');
  expect(text).toContain('"karpenter.sh/do-not-disrupt":"true"');
});

it.each([
  ["token=hunter2", "token=<removed>"],
  ["Authorization failed, password: hunter2, user: jane", "password: <removed>, user: jane"],
  ["https://registry.example/v2?access_key=hunter2&tag=1", "access_key=<removed>&tag=1"],
  ['not valid JSON: {"apiKey":"hunter2"', '"apiKey":"<removed>"'],
  ['body: "{\\"apiKey\\":\\"hunter2\\"}"', '\\"apiKey\\":\\"<removed>'],
  ['Secret "web-tls" not found', 'Secret "web-tls" not found'],
  ["secretName: web-tls", "secretName: web-tls"],
])("a support bundle removes what a text names as a secret: %s", (message, kept) => {
  const event = { metadata: { name: "web.1" }, kind: "Event", message } as KubeObject;
  const text = (scrubbed(event) as KubeObject & { message: string }).message;
  expect(text).toContain(kept);
  expect(text).not.toContain("hunter2");
});

it.each([
  ["the begin of a token", "eyJ".repeat(100_000)],
  ["the begin of a PEM block", "-----BEGIN A-----".repeat(5_000)],
])("a support bundle reads a long text that repeats %s", (_what, message) => {
  const event = { metadata: { name: "web.1" }, kind: "Event", message } as KubeObject;
  expect((scrubbed(event) as KubeObject & { message: string }).message).toBe(message);
});

it("a support bundle reads metrics at the port that the chart set, and names what could not be read", async () => {
  const asked: string[] = [];
  const env = [{ name: "METRICS_PORT", value: "9090" }];
  const deployment = {
    metadata: { ...PLACE, name: "karpenter", labels: LABELS },
    spec: { selector: {}, template: { spec: { containers: [{ env }] } } },
  };
  const pod = { metadata: { ...PLACE, name: "karpenter-0" }, spec: { containers: [] } };
  const objects: Readonly<Record<string, object>> = { Deployment: deployment, Pod: pod };
  const fake = {
    list: async ({ kind }: { readonly kind: string }) => ({ items: [objects[kind] ?? []].flat() }),
    raw: async ({ path }: KubeRequest) => {
      asked.push(path);
      if (path === "/version") return { status: 200, headers: {}, body: {} };
      throw new KubeError(403, undefined, `get ${path}`);
    },
  } as unknown as Parameters<typeof collectBundle>[0];
  const { missing } = await collectBundle(fake, { namespace: "karpenter", version: "1.2.3" });
  expect(asked).toContain("/api/v1/namespaces/karpenter/pods/karpenter-0:9090/proxy/metrics");
  expect(missing).toEqual([expect.stringMatching(/^metrics of karpenter-0: /)]);
});
