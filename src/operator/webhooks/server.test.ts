/**
 * Tests the webhooks' port against untrusted callers: invalid reviews, large reviews, callers without a certificate.
 */
import { type RequestOptions, request } from "node:https";
import { connect } from "node:tls";
import selfsigned from "selfsigned";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { answerWebhookInSteps } from "../../apis/hub/admission.ts";
import { type Logger, SILENT } from "../../base/log.ts";
import { SystemClock } from "../../base/system-clock.ts";
import type { Listener } from "../../listen/listener.ts";
import { makeCertificate, type ServingCertificate } from "./certificate.ts";
import { serveWebhooks, type WebhookServerOptions } from "./server.ts";

const HOST = "127.0.0.1";
const MIB = 1_024 * 1_024;
const ADMISSION = { clusterName: "c", acceptMinusOne: true, defaultInstanceProfile: undefined };

let certificate: ServingCertificate;
beforeAll(async () => {
  certificate = await makeCertificate([HOST], Date.now());
});

let listener: Listener;
afterEach(() => listener.close());

const answerReal: WebhookServerOptions["answer"] = (path, review) =>
  answerWebhookInSteps(path, review, ADMISSION);

async function serve(clientCaPem?: string, answer = answerReal): Promise<readonly string[]> {
  const lines: string[] = [];
  const say = (message: string, fields?: object) => {
    lines.push(`${message} ${JSON.stringify(fields)}`);
  };
  const log: Logger = { ...SILENT, warn: say, error: say };
  const identity = { ...certificate, clientCaPem };
  const clock = new SystemClock();
  listener = await serveWebhooks({ port: 0, host: HOST, identity, answer, log, clock });
  return lines;
}

function post(path: string, body: string, options: RequestOptions = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const to = { host: HOST, port: listener.port, path, method: "POST", agent: false };
    const outgoing = request({ ...to, ca: certificate.caPem, ...options }, (incoming) => {
      let text = "";
      incoming.on("data", (chunk) => {
        text += String(chunk);
      });
      incoming.on("end", () => resolve(`${incoming.statusCode} ${text.slice(0, 150)}`));
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

const nested = (depth: number): string =>
  `{"request":{"uid":${"[".repeat(depth)}${"]".repeat(depth)}}}`;
const REVIEW = '{"request":{"uid":"x"}}';

describe("the webhook server", () => {
  it("refuses reviews nested deeper than 100 levels, and continues", async () => {
    await serve();
    for (const path of ["/validate/karpenter.sh", "/conversion/karpenter.sh"])
      for (const depth of [5_000, 200_000])
        expect(await post(path, nested(depth))).toBe(
          "400 not a review: JSON text is nested deeper than the limit of 100 levels\n",
        );
    expect(await post("/validate/karpenter.sh", REVIEW)).toMatch(/^200 .*"uid":"x","allowed":true/);
  });

  it("answers malformed reviews, and continues", async () => {
    const lines = await serve();
    for (const body of [
      "",
      "{",
      "null",
      "[]",
      '{"request":{"uid":{},"object":{"kind":"Provisioner","spec":null}}}',
    ])
      expect(await post("/validate/karpenter.sh", body)).toMatch(/^(200|400|500) /);
    expect(await post("/elsewhere", REVIEW)).toBe("404 no webhook at this path\n");
    expect(await post("/validate/karpenter.sh", REVIEW)).toMatch(/^200 /);
    expect(lines.join("\n").length).toBeLessThan(5_000);
  });

  it("converts 4,000 objects in one review, and refuses an admission review of that size", async () => {
    await serve();
    const claim = (name: number) => ({
      apiVersion: "karpenter.sh/v1beta1",
      kind: "NodeClaim",
      metadata: { name: `claim-${name}`, annotations: { some: "x".repeat(2_500) } },
      spec: { requirements: [], nodeClassRef: { name: "default" } },
    });
    const objects = Array.from({ length: 4_000 }, (_, name) => claim(name));
    const request = { uid: "u", desiredAPIVersion: "karpenter.sh/v1", objects };
    const review = JSON.stringify({ request });
    expect(review.length).toBeGreaterThan(10 * MIB);
    expect(await post("/conversion/karpenter.sh", review)).toMatch(/^200 .*Success/);
    expect(await post("/validate/karpenter.sh", review)).toBe(
      `413 Request entity too large: limit is ${7 * MIB}\n`,
    );
  });

  it("answers large reviews one after the other, and small ones meanwhile", async () => {
    const seen: string[] = [];
    await serve(undefined, function* (path) {
      seen.push(`begins ${path}`);
      // The work waits for the small review, so it must let the event loop run.
      const untilMs = performance.now() + 5_000;
      while (path !== "/small" && !seen.includes("ends /small") && performance.now() < untilMs)
        yield;
      seen.push(`ends ${path}`);
      return { path };
    });
    const large = `{"padding":"${"x".repeat(100_000)}"}`;
    const first = post("/large/1", large);
    await expect.poll(() => seen).toContain("begins /large/1");
    const second = post("/large/2", large);
    await post("/small", REVIEW);
    expect(await first).toBe('200 {"path":"/large/1"}');
    expect(await second).toBe('200 {"path":"/large/2"}');
    expect(seen).toEqual([
      "begins /large/1",
      "begins /small",
      "ends /small",
      "ends /large/1",
      "begins /large/2",
      "ends /large/2",
    ]);
  });

  it("keeps unfinished bodies of at most 32 MiB for one address, and answers 429 to more", async () => {
    const lines = await serve();
    const body = Buffer.alloc(6 * MIB, 32);
    const begin = `POST /validate/karpenter.sh HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length + 1}\r\n\r\n`;
    const refused: string[] = [];
    const sockets = Array.from({ length: 12 }, () => {
      const socket = connect({ host: HOST, port: listener.port, rejectUnauthorized: false });
      socket.on("secureConnect", () => socket.write(begin));
      socket.on("secureConnect", () => socket.write(body));
      socket.on("data", (chunk) => refused.push(String(chunk).slice(9, 12)));
      socket.on("error", () => undefined);
      return socket;
    });
    // All 12 connections wait for the last byte of their bodies. One address may have 32 MiB of unfinished bodies,
    // which is five of 6 MiB.
    await expect.poll(() => refused.length).toBeGreaterThanOrEqual(7);
    expect(new Set(refused)).toEqual(new Set(["429"]));
    for (const socket of sockets) socket.destroy();
    expect(lines.join("\n").length).toBeLessThan(5_000);
  });

  it("accepts admission reviews only with a client certificate of the configured authority", async () => {
    const authority = await selfsigned.generate([{ name: "commonName", value: "clients" }], {
      extensions: [{ name: "basicConstraints", cA: true, critical: true }],
    });
    const clientOf = async (ca?: { key: string; cert: string }) => {
      const made = await selfsigned.generate([{ name: "commonName", value: "kube-apiserver" }], {
        ...(ca === undefined ? {} : { ca }),
        extensions: [{ name: "extKeyUsage", clientAuth: true }],
      });
      return { key: made.private, cert: made.cert };
    };
    await serve(authority.cert);
    const path = "/validate/karpenter.sh";
    expect(await post(path, REVIEW)).toMatch(/^403 a client certificate/);
    expect(await post(path, REVIEW, await clientOf())).toMatch(/^403 /);
    const known = await clientOf({ key: authority.private, cert: authority.cert });
    expect(await post(path, REVIEW, known)).toMatch(/^200 /);
    // The request has no client certificate, because kube-apiserver cannot be configured to send one to a conversion
    // webhook.
    const conversion = '{"request":{"uid":"u","desiredAPIVersion":"karpenter.sh/v1","objects":[]}}';
    expect(await post("/conversion/karpenter.sh", conversion)).toMatch(/^200 /);
    listener.use({ ...certificate, clientCaPem: authority.cert });
    expect(await post(path, REVIEW)).toMatch(/^403 /);
    expect(await post(path, REVIEW, known)).toMatch(/^200 /);
  });
});
