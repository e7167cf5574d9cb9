import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { VirtualClock } from "../../base/virtual-clock.ts";
import { createHttpTransport } from "../transport/http-transport.ts";
import { clusterAccess } from "./kubeconfig.ts";

const folder = mkdtempSync(join(tmpdir(), "kubeconfig-"));
afterAll(() => rmSync(folder, { recursive: true }));

const clock = new VirtualClock();
const open = (path: string | undefined, env: Record<string, string> = {}, by = clock) =>
  clusterAccess(path, { PATH: process.env["PATH"], ...env }, by, { hasTerminal: false });

function kubeconfig(cluster: object, user: object = { token: "t" }, name = "config"): string {
  const path = join(folder, name);
  const config = {
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "k", user: "u" } }],
    clusters: [{ name: "k", cluster }],
    users: [{ name: "u", user }],
  };
  writeFileSync(path, JSON.stringify(config));
  return path;
}

/** A plugin that counts its runs and returns `token-1`, `token-2`, …. */
function plugin(status: string, apiVersion = "client.authentication.k8s.io/v1") {
  const runs = join(folder, `runs-${Math.trunc(clock.now())}-${status.length}`);
  writeFileSync(runs, "");
  const script = `
    const fs = require("fs");
    fs.appendFileSync(process.argv[1], "x");
    const run = fs.readFileSync(process.argv[1], "utf8").length;
    const info = JSON.parse(process.env.KUBERNETES_EXEC_INFO);
    const status = ${status};
    process.stdout.write(JSON.stringify({ apiVersion: info.apiVersion, kind: "ExecCredential", status }));`;
  return { apiVersion, command: process.execPath, args: ["-e", script, runs] };
}

function jwt(expMs: number): string {
  const payload = Buffer.from(JSON.stringify({ exp: Math.trunc(expMs / 1_000) }));
  return `e30.${payload.toString("base64url")}.x`;
}

describe("a kubeconfig", () => {
  it("gives the server, its certificate authority, TLS server name and impersonated user", async () => {
    const ca = Buffer.from("PEM").toString("base64");
    const cluster = { server: "https://x:1", "certificate-authority-data": ca };
    const { credentials, ...access } = open(
      kubeconfig({ ...cluster, "tls-server-name": "api" }, { token: "t", as: "bob" }),
    );
    expect(access).toEqual({
      server: "https://x:1",
      caPem: "PEM",
      tlsServerName: "api",
      headers: { "impersonate-user": "bob" },
    });
    expect(await credentials.current()).toEqual({ token: "t" });
  });

  it.each([
    [{}, {}, "has no server"],
    [{ server: "ftp://x" }, {}, "use https:// and a host"],
    [
      {
        server: "https://x",
        "insecure-skip-tls-verify": true,
        "certificate-authority-data": "UA==",
      },
      {},
      "has a certificate-authority and sets insecure-skip-tls-verify; remove one of them",
    ],
    [{ server: "https://x", "proxy-url": "ftp://p" }, {}, "use http://, https:// or socks5://"],
    [{ server: "https://x" }, { "auth-provider": { name: "gcp" } }, "gke-gcloud-auth-plugin"],
    [{ server: "https://x" }, { "auth-provider": { name: "azure" } }, "install kubelogin"],
    [{ server: "https://x" }, { "auth-provider": { name: "other" } }, "use an exec plugin"],
    [
      { server: "https://x" },
      { exec: { command: "a" }, "auth-provider": { name: "oidc" } },
      "remove the auth-provider",
    ],
    [{ server: "https://x" }, { token: "t", username: "a" }, "a token and a password"],
    [{ server: "https://x" }, { "client-certificate-data": "UA==" }, "add client-key"],
    [{ server: "https://x" }, { "as-groups": ["a"] }, "without as; add as: NAME"],
    [{ server: "https://x" }, { as: "a", "as-groups": "a" }, "as-groups that is no list of texts"],
    [{ server: "https://x" }, { as: "a", "as-user-extra": [] }, "no map of lists"],
    [{ server: "https://x" }, { as: "a\nb" }, "has a control character in as"],
    [
      { server: "https://x" },
      { exec: { command: "aws", apiVersion: "client.authentication.k8s.io/v1alpha1" } },
      "use client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1",
    ],
    [
      { server: "https://x" },
      {
        exec: {
          command: "aws",
          apiVersion: "client.authentication.k8s.io/v1",
          interactiveMode: "Always",
        },
      },
      "wants a terminal (interactiveMode: Always), and standard input is none",
    ],
    [
      { server: "https://x" },
      {
        exec: {
          command: "aws",
          apiVersion: "client.authentication.k8s.io/v1",
          interactiveMode: "Sometimes",
        },
      },
      'interactiveMode "Sometimes"; use Never, IfAvailable or Always',
    ],
  ])("is refused with a remedy: %j %j", (cluster, user, words) => {
    expect(() => open(kubeconfig(cluster, user))).toThrow(words);
  });

  it("may be several files: the first entry of a name counts", async () => {
    const first = join(folder, "first");
    writeFileSync(first, JSON.stringify({ users: [{ name: "u", user: { token: "first" } }] }));
    const second = kubeconfig({ server: "https://second" });
    const paths = [first, join(folder, "absent"), second].join(delimiter);
    const { server, credentials } = open(paths);
    expect(server).toBe("https://second");
    expect(await credentials.current()).toEqual({ token: "first" });
  });

  it.each([
    [
      "a: [1,",
      "is not a kubeconfig: not valid YAML: line 1, column 7: unexpected end of the stream",
    ],
    ["kind: Service", "is not a kubeconfig: wanted an object of kind Config"],
    ["- a", "is not a kubeconfig: wanted an object of kind Config"],
    ["", "there is no current-context; choose one: kubectl config use-context NAME"],
    [
      "{current-context: c, contexts: c}",
      'contexts has no entry named "c"; set KUBECONFIG to the one of your cluster',
    ],
    [
      "{current-context: c, contexts: [{name: a}, {name: b}]}",
      'contexts has no entry named "c"; choose one of a, b: kubectl config use-context NAME',
    ],
    [
      "{current-context: c, contexts: [{name: c, context: {cluster: x, user: u}}]}",
      'clusters has no entry named "x"; add it, or choose another context',
    ],
  ])("that holds %j is refused", (content, words) => {
    const path = join(folder, "broken");
    writeFileSync(path, content);
    expect(() => open(path)).toThrow(words);
  });

  it("that does not exist is refused, with the advice to set KUBECONFIG", () => {
    const path = join(folder, "nowhere");
    expect(() => open(path)).toThrow(`${path}: there is no such file; set KUBECONFIG`);
  });

  it("that is neither given nor in HOME is refused, with the advice to set KUBECONFIG", () => {
    expect(() => open(undefined)).toThrow("set KUBECONFIG");
    expect(() => open(undefined, { HOME: join(folder, "nobody") })).toThrow("set KUBECONFIG");
  });

  it("has its token file read again after a minute, and keeps the last token if the file is missing", async () => {
    const token = join(folder, "token");
    const cert = join(folder, "cert");
    writeFileSync(token, "one\n");
    writeFileSync(cert, "CERT");
    const path = kubeconfig(
      { server: "https://x" },
      {
        tokenFile: "token",
        "client-certificate": "cert",
        "client-key-data": Buffer.from("KEY").toString("base64"),
      },
    );
    const { credentials } = open(path);
    const clientCertificate = { certPem: "CERT", keyPem: "KEY" };
    const first = await credentials.current();
    expect(first).toEqual({ token: "one", clientCertificate });
    writeFileSync(token, "two\n");
    expect(await credentials.current()).toBe(first);
    await clock.advance(61_000);
    expect(await credentials.current()).toEqual({ token: "two", clientCertificate });
    // A file that is missing while it is replaced must not stop the client.
    rmSync(token);
    await clock.advance(61_000);
    expect(await credentials.current()).toEqual({ token: "two", clientCertificate });
  });

  it("has its token file read again after a minute, even if the clock is set back by an hour", async () => {
    const own = new VirtualClock();
    const tokenFile = join(folder, "token-set-back");
    writeFileSync(tokenFile, "one");
    const { credentials } = open(kubeconfig({ server: "https://x" }, { tokenFile }), {}, own);
    expect(await credentials.current()).toEqual({ token: "one" });
    writeFileSync(tokenFile, "two");
    own.setBack(3_600_000);
    expect(await credentials.current()).toEqual({ token: "one" });
    await own.advance(61_000);
    expect(await credentials.current()).toEqual({ token: "two" });
  });
});

describe("a client inside a pod", () => {
  it("uses the service account's token and CA unless KUBECONFIG is set", async () => {
    const env = { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "6443" };
    const within = (paths?: string) => clusterAccess(paths, env, clock, { serviceAccount: folder });
    expect(() => within()).toThrow("no cluster to talk to");
    writeFileSync(join(folder, "token"), "of the pod\n");
    writeFileSync(join(folder, "ca.crt"), "AUTHORITY");
    const { server, caPem, credentials } = within();
    expect({ server, caPem }).toEqual({ server: "https://[fd00::1]:6443", caPem: "AUTHORITY" });
    expect(await credentials.current()).toEqual({ token: "of the pod" });
    writeFileSync(join(folder, "token"), "renewed");
    await clock.advance(61_000);
    expect(await credentials.current()).toEqual({ token: "renewed" });
    expect(within(kubeconfig({ server: "https://file:1" })).server).toBe("https://file:1");
    rmSync(join(folder, "token"));
  });
});

describe("a credential plugin of a kubeconfig", () => {
  it.each(["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"])(
    "of %s runs once, and again when its credential has expired or was refused",
    async (apiVersion) => {
      const expires = new Date(clock.now() + 600_000).toISOString();
      const exec = plugin(
        `{ token: "token-" + run, expirationTimestamp: "${expires}" }`,
        apiVersion,
      );
      const { credentials } = open(kubeconfig({ server: "https://x" }, { exec }));
      const [first, same] = await Promise.all([credentials.current(), credentials.current()]);
      expect(first).toEqual({ token: "token-1" });
      expect(same).toBe(first);
      credentials.refused(first);
      expect(await credentials.current()).toEqual({ token: "token-2" });
      await clock.advance(600_000);
      expect(await credentials.current()).toEqual({ token: "token-3" });
    },
  );

  it("gets the cluster if provideClusterInfo is set, and may return a client certificate", async () => {
    const exec = {
      ...plugin(
        "{ clientCertificateData: info.spec.cluster.server, clientKeyData: process.env.EXTRA }",
      ),
      provideClusterInfo: true,
      env: [{ name: "EXTRA", value: "extra" }],
    };
    const { credentials } = open(kubeconfig({ server: "https://told" }, { exec }));
    expect(await credentials.current()).toEqual({
      clientCertificate: { certPem: "https://told", keyPem: "extra" },
    });
  });

  it.each([
    [{ command: "no-such-plugin", installHint: "Install it." }, "no such program; Install it."],
    [{ command: process.execPath, args: ["-e", "process.exit(3)"] }, "it ended with 3"],
    [{ command: process.execPath, args: ["-e", "process.stdout.write('hello')"] }, "no JSON"],
    [plugin("{}"), "neither a token nor a certificate"],
  ])("that fails has an error that says why: %#", async (exec, words) => {
    const entry = { apiVersion: "client.authentication.k8s.io/v1", ...exec };
    const { credentials } = open(kubeconfig({ server: "https://x" }, { exec: entry }));
    await expect(credentials.current()).rejects.toThrow(words);
    // A second call right after the first gets the same error.
    const again = credentials.current();
    await expect(again).rejects.toThrow(words);
  });

  it("that fails runs again a second later, even if the clock is set back by an hour", async () => {
    const own = new VirtualClock();
    const exec = plugin('run === 1 ? {} : { token: "token-" + run }');
    const { credentials } = open(kubeconfig({ server: "https://x" }, { exec }), {}, own);
    await expect(credentials.current()).rejects.toThrow("neither a token");
    own.setBack(3_600_000);
    await expect(credentials.current()).rejects.toThrow("neither a token");
    await own.advance(1_000);
    expect(await credentials.current()).toEqual({ token: "token-2" });
  });
});

/** A server that answers with what it received, and refuses one bearer token. */
async function serve(
  answer: (path: string, authorization: string, body: string) => [number, unknown],
) {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => {
      body += chunk;
    });
    request.on("end", () => {
      const [status, value] = answer(request.url ?? "", request.headers.authorization ?? "", body);
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(value));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, close: () => server.close() };
}

describe("credentials of a kubeconfig", () => {
  it("are renewed, and the request is repeated, when the server refuses a token", async () => {
    const api = await serve((_, authorization) =>
      authorization === "Bearer token-1" ? [401, {}] : [200, { authorization }],
    );
    const exec = plugin('{ token: "token-" + run }');
    const transport = createHttpTransport({
      ...open(kubeconfig({ server: api.url }, { exec })),
      userAgent: "test",
    });
    const answer = await transport.send({ method: "GET", path: "/api" });
    expect(answer).toMatchObject({ status: 200, body: { authorization: "Bearer token-2" } });
    transport.close();
    api.close();
  });

  it("of OIDC are the id-token until it expires, then a token refreshed from the issuer", async () => {
    const fresh = jwt(clock.now() + 7_200_000);
    const forms: string[] = [];
    const issuer = await serve((path, _, body) => {
      if (path.includes("openid-configuration"))
        return [200, { token_endpoint: `${issuer.url}/t` }];
      forms.push(body);
      return [200, { id_token: fresh, refresh_token: "r2" }];
    });
    const first = jwt(clock.now() + 3_600_000);
    const config = {
      "idp-issuer-url": issuer.url,
      "client-id": "kubernetes",
      "id-token": first,
      "refresh-token": "r1",
    };
    const user = { "auth-provider": { name: "oidc", config } };
    const { credentials } = open(kubeconfig({ server: "https://x" }, user));
    expect(await credentials.current()).toEqual({ token: first });
    await clock.advance(3_600_000);
    expect(await credentials.current()).toEqual({ token: fresh });
    expect(forms).toEqual(["grant_type=refresh_token&refresh_token=r1&client_id=kubernetes"]);
    issuer.close();
  });
});
