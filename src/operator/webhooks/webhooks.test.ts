import { request } from "node:https";
import { afterEach, describe, expect, it } from "vitest";
import {
  type Crd,
  CUSTOM_RESOURCE_DEFINITION,
} from "../../apis/core/custom-resource-definition.ts";
import { SECRET } from "../../apis/core/kinds.ts";
import { customResourceDefinitions } from "../../apis/crds/all.ts";
import type { KubeObject } from "../../apis/meta.ts";
import { base64Encode } from "../../base/base64.ts";
import { type Logger, SILENT } from "../../base/log.ts";
import { Random } from "../../base/random.ts";
import { VirtualClock } from "../../base/virtual-clock.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { createKubeClient } from "../../kube/client/kube-client.ts";
import { bareApiServer } from "../../sandbox/testing/bare-api-server.ts";
import { freePort } from "../../testing/free-port.ts";
import { underRights, webhookRights } from "../rights.ts";
import { makeCertificate } from "./certificate.ts";
import { startWebhooks, type Webhooks } from "./webhooks.ts";

const NAMESPACE = "kube-system";
const SECRET_REF = { name: "karpenter-cert", namespace: NAMESPACE };
const DAY_MS = 86_400_000;
const CLAIMS = ["nodepools.karpenter.sh", "nodeclaims.karpenter.sh"];

interface Address {
  readonly url?: string;
  readonly caBundle?: string;
}

/** Sends a review as the API server does: over TLS, and trusting only the CA bundle. */
function post({ url = "", caBundle = "" }: Address, review: unknown): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const ca = Buffer.from(caBundle, "base64").toString("utf8");
    const call = request(url, { method: "POST", ca, agent: false }, (response) => {
      let text = "";
      response.on("data", (chunk) => {
        text += chunk;
      });
      response.on("end", () => resolve(JSON.parse(text)));
    });
    call.on("error", reject);
    call.end(JSON.stringify(review));
  });
}

function v1Only(crd: KubeObject): KubeObject {
  const { spec } = crd as Crd;
  const versions = spec.versions.filter(({ name }) => name === "v1");
  return { ...crd, spec: { ...spec, versions, conversion: undefined } } as KubeObject;
}

const REVIEW = { request: { uid: "u", desiredAPIVersion: "karpenter.sh/v1", objects: [] } };
const isAnswered = (answer: unknown) => JSON.stringify(answer).includes("Success");

const running: Webhooks[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((webhooks) => webhooks.stop()));
});

/**
 * A cluster whose API server calls webhooks over real connections, with real certificates that are valid at the present
 * time.
 */
async function open(crds: readonly KubeObject[] = customResourceDefinitions()) {
  const clock = new VirtualClock(Date.now());
  const server = bareApiServer({
    clock,
    webhooks: (config, review) => post(config as Address, review) as never,
  });
  const transport = server.transport({ name: "tester", groups: ["system:masters"] });
  const client = createKubeClient(transport);
  for (const crd of crds) await client.create(CUSTOM_RESOURCE_DEFINITION, crd as Crd);
  const lines: string[] = [];
  const say = (level: string) => (message: string, fields?: object) => {
    lines.push(`${level} ${message} ${JSON.stringify(fields)}`);
  };
  const log: Logger = { ...SILENT, info: say("info"), warn: say("warn"), error: say("error") };
  const port = await freePort();
  const start = (use: { client?: KubeClient; port?: number; service?: string } = {}): Webhooks => {
    const at = use.port ?? port;
    const service = { name: use.service ?? "", namespace: NAMESPACE, port: at };
    const webhooks = startWebhooks({
      client: use.client ?? createKubeClient(underRights(transport, webhookRights(), NAMESPACE)),
      clock,
      random: new Random("webhooks"),
      log,
      port: at,
      host: "127.0.0.1",
      address: use.service === undefined ? { url: `https://127.0.0.1:${port}` } : { service },
      secret: SECRET_REF,
      admission: { clusterName: "c", acceptMinusOne: true, defaultInstanceProfile: undefined },
    });
    running.push(webhooks);
    return webhooks;
  };
  const until = async (holds: () => boolean | Promise<boolean>): Promise<void> => {
    const deadlineMs = performance.now() + 20_000;
    while (performance.now() < deadlineMs) {
      await clock.settle();
      if (await holds()) return;
    }
    throw new Error(`never came true\n${lines.join("\n")}`);
  };
  const said = (words: string) => () => lines.some((line) => line.includes(words));
  const bundleOf = async (name: string) => {
    const { spec } = await client.get(CUSTOM_RESOURCE_DEFINITION, { name });
    return spec.conversion?.webhook?.clientConfig as Address;
  };
  return { clock, client, lines, start, until, said, bundleOf };
}

describe("webhooks", () => {
  it("convert and admit over HTTPS with no more than their RBAC rights", async () => {
    const { client, start, until, said } = await open();
    start();
    await until(said("webhooks are served"));
    const pools = (version: string) => ({
      group: "karpenter.sh",
      version,
      kind: "NodePool",
      plural: "nodepools",
      namespaced: false,
    });
    await client.create(pools("v1beta1"), {
      apiVersion: "karpenter.sh/v1beta1",
      kind: "NodePool",
      metadata: { name: "beta" },
      spec: {
        template: { spec: { nodeClassRef: { name: "default" }, requirements: [] } },
        disruption: { consolidationPolicy: "WhenUnderutilized", expireAfter: "48h" },
      },
    } as KubeObject);
    const v1 = await client.get(pools("v1"), { name: "beta" });
    expect(v1).toMatchObject({ spec: { template: { spec: { expireAfter: "48h" } } } });
    const provisioner = {
      apiVersion: "karpenter.sh/v1alpha5",
      kind: "Provisioner",
      metadata: { name: "alpha" },
      spec: { ttlSecondsAfterEmpty: 30 },
    } as KubeObject;
    const provisioners = { ...pools("v1alpha5"), kind: "Provisioner", plural: "provisioners" };
    await expect(client.create(provisioners, provisioner)).rejects.toThrow(
      'admission webhook "validation.webhook.karpenter.sh" denied the request: validation failed: expected exactly one, got neither: spec.provider, spec.providerRef',
    );
  });

  it("are not served where the CRDs have upstream's version v1 only", async () => {
    const crds = customResourceDefinitions().filter(({ metadata }) =>
      CLAIMS.includes(metadata.name),
    );
    const { client, lines, start, until } = await open(crds.map(v1Only));
    const webhooks = start();
    await until(() => webhooks.settled);
    expect(webhooks.port).toBeUndefined();
    expect((await client.list(SECRET)).items).toEqual([]);
    expect(lines).toEqual([]);
  });

  it("are awaited by informers if objects are stored in an older version", async () => {
    const { client, start, until, said } = await open();
    const webhooks = start();
    await until(said("webhooks are served"));
    expect(webhooks.isWaitedFor).toBe(false);
    const name = "nodepools.karpenter.sh";
    const status = { storedVersions: ["v1beta1", "v1"] };
    await client.patch(
      CUSTOM_RESOURCE_DEFINITION,
      { name },
      { type: "merge", body: { status } },
      "status",
    );
    await until(() => webhooks.isWaitedFor);
  });

  it("are served when CRDs are installed later", async () => {
    const { client, start, until, said } = await open([]);
    const webhooks = start();
    await until(() => webhooks.settled);
    for (const crd of customResourceDefinitions())
      await client.create(CUSTOM_RESOURCE_DEFINITION, crd as unknown as Crd);
    await until(said("webhooks are served"));
  });

  it("of two replicas share one certificate, in the empty Secret of the chart", async () => {
    const { client, start, until, lines } = await open();
    await client.create(SECRET, { apiVersion: "v1", kind: "Secret", metadata: SECRET_REF });
    start();
    start({ port: 0 });
    const serving = () => lines.filter((line) => line.includes("webhooks are served")).length;
    await until(() => serving() === 2);
    expect(lines.filter((line) => line.includes("made a certificate")).length).toBe(1);
    const { data = {} } = await client.get(SECRET, SECRET_REF);
    expect(Object.keys(data).sort()).toEqual(["ca-cert.pem", "server-cert.pem", "server-key.pem"]);
  });

  it("renew the certificate in time, with the old authority still in the caBundle", async () => {
    const { client, clock, start, until, said, bundleOf } = await open();
    const old = await makeCertificate(["127.0.0.1"], clock.now() - 6 * DAY_MS + 30_000);
    const data = Object.fromEntries(
      [
        ["server-cert.pem", old.certPem],
        ["server-key.pem", old.keyPem],
        ["ca-cert.pem", old.caPem],
      ].map(([key = "", pem = ""]) => [key, base64Encode(pem)]),
    );
    await client.create(SECRET, { apiVersion: "v1", kind: "Secret", metadata: SECRET_REF, data });
    start();
    await until(said("webhooks are served"));
    expect(said("made a certificate")()).toBe(false);
    const { url = "", caBundle: before = "" } = await bundleOf("nodepools.karpenter.sh");
    await clock.advance(60_000);
    await until(said("it expires soon"));
    await until(async () => (await bundleOf("nodeclaims.karpenter.sh")).caBundle !== before);
    const { caBundle = "" } = await bundleOf("nodepools.karpenter.sh");
    const authorities = Buffer.from(caBundle, "base64").toString("utf8");
    expect(authorities).toContain(old.caPem.trim());
    // Clients that trust only the new authority are answered, too.
    const newest = base64Encode(authorities.replace(old.caPem.trim(), ""));
    await until(() => post({ url, caBundle: newest }, REVIEW).then(isAnswered, () => false));
    await expect(post({ url, caBundle: before }, REVIEW)).rejects.toThrow("certificate");
  });

  it("log a missing RBAC right at once and every minute, and count as settled", async () => {
    const { client, start, until, lines, clock } = await open();
    const refused: KubeClient = {
      ...client,
      update: (kind, object) =>
        kind.kind === "CustomResourceDefinition"
          ? createKubeClient(
              underRights({ send: () => Promise.reject(), close: () => undefined }, [], NAMESPACE),
            ).update(kind, object)
          : client.update(kind, object),
    };
    const webhooks = start({ client: refused });
    await until(() => webhooks.settled);
    await clock.advance(300_000);
    const errors = lines.filter((line) => line.startsWith("error"));
    // One error at the start, and one in each of the five minutes, although the attempt is repeated more often.
    expect(errors).toHaveLength(6);
    expect(new Set(errors).size).toBe(1);
    expect(errors[0]).toContain("a right is missing");
    expect(errors[0]).toContain('cannot update resource \\"customresourcedefinitions\\"');
    expect(errors[0]).toContain("DISABLE_WEBHOOK=true");
  });

  it("register no caBundle if their Service does not exist", async () => {
    const { start, until, said, bundleOf } = await open();
    const webhooks = start({ service: "karpenter" });
    await until(() => webhooks.settled);
    expect(said("kube-system/karpenter does not exist")()).toBe(true);
    expect((await bundleOf("nodepools.karpenter.sh")).caBundle).toBeUndefined();
  });
});
