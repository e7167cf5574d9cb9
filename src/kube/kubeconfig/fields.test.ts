/**
 * Tests each kubeconfig field that client-go supports by the requests that arrive. The test's own servers answer with
 * what they received.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttps } from "node:https";
import { type AddressInfo, connect, createServer as createTcp, type Server } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { generate } from "selfsigned";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SystemClock } from "../../base/system-clock.ts";
import { createHttpTransport } from "../transport/http-transport.ts";
import { clusterAccess, type LoginMachine } from "./kubeconfig.ts";

const folder = mkdtempSync(join(tmpdir(), "kubeconfig-fields-"));
const servers: Server[] = [];
afterAll(() => {
  rmSync(folder, { recursive: true });
  for (const server of servers) server.close();
});

async function portOf(server: Server): Promise<number> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

/** The request as the server received it. */
interface Echo {
  readonly url: string;
  readonly raw: readonly string[];
}

function echo(request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ url: request.url, raw: request.rawHeaders }));
}

let http: number;
let https: number;
let caPem: string;
beforeAll(async () => {
  const made = await generate([{ name: "commonName", value: "api.internal" }], {
    keyType: "ec",
    algorithm: "sha256",
    extensions: [
      { name: "basicConstraints", cA: true },
      { name: "subjectAltName", altNames: [{ type: 2, value: "api.internal" }] },
    ],
  });
  caPem = made.cert;
  http = await portOf(createServer(echo));
  https = await portOf(createHttps({ key: made.private, cert: made.cert }, echo));
});

let written = 0;
function write(cluster: object, user: object, context: object = {}, more: object = {}): string {
  const path = join(folder, `config-${written++}`);
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "k", user: "u", ...context } }],
    clusters: [{ name: "k", cluster }],
    users: [{ name: "u", user }],
    ...more,
  };
  writeFileSync(path, JSON.stringify(config));
  return path;
}

const open = (path: string, machine: LoginMachine = { hasTerminal: false }) =>
  clusterAccess(path, { PATH: process.env["PATH"] }, new SystemClock(), machine);

/** Sends one request with this kubeconfig, and returns what the server received. Rejects if nothing arrives. */
async function sent(path: string, machine?: LoginMachine): Promise<Echo> {
  const transport = createHttpTransport({ ...open(path, machine), userAgent: "test" });
  try {
    const { body } = await transport.send({ method: "GET", path: "/api?x=1" });
    return body as Echo;
  } finally {
    transport.close();
  }
}

/** All values of a header, in the order in which they were sent. */
function valuesOf({ raw }: Echo, name: string): readonly string[] {
  return raw.filter((_, at) => at % 2 === 1 && raw[at - 1]?.toLowerCase() === name);
}

const plain = () => ({ server: `http://127.0.0.1:${http}` });
const secure = () => ({ server: `https://127.0.0.1:${https}` });
const data = (text: string): string => Buffer.from(text).toString("base64");

describe("a cluster of a kubeconfig", () => {
  it("is refused if its certificate is not trusted, or names another host", async () => {
    await expect(sent(write(secure(), {}))).rejects.toMatchObject({
      cause: { code: "DEPTH_ZERO_SELF_SIGNED_CERT" },
    });
    const known = { ...secure(), "certificate-authority-data": data(caPem) };
    await expect(sent(write(known, {}))).rejects.toMatchObject({
      cause: { code: "ERR_TLS_CERT_ALTNAME_INVALID" },
    });
  });

  it("with insecure-skip-tls-verify is used without a trusted certificate, with one warning", async () => {
    const path = write({ ...secure(), "insecure-skip-tls-verify": true }, {});
    expect((await sent(path)).url).toBe("/api?x=1");
    expect(open(path).warnings).toEqual([expect.stringMatching(/not checked.*give certificate/)]);
    expect(open(write(secure(), {})).warnings).toBeUndefined();
  });

  it("with certificate-authority-data and tls-server-name is verified with both", async () => {
    const cluster = { ...secure(), "tls-server-name": "api.internal" };
    const path = write({ ...cluster, "certificate-authority-data": data(caPem) }, {});
    expect((await sent(path)).url).toBe("/api?x=1");
    await expect(sent(write(cluster, {}))).rejects.toThrow();
  });

  it("with certificate-authority is verified with that file, relative to the kubeconfig's folder", async () => {
    writeFileSync(join(folder, "ca.pem"), caPem);
    const cluster = { ...secure(), "tls-server-name": "api.internal" };
    const path = write({ ...cluster, "certificate-authority": "ca.pem" }, {});
    expect((await sent(path)).url).toBe("/api?x=1");
    expect(() => open(write({ ...cluster, "certificate-authority": "no.pem" }, {}))).toThrow(
      "cannot read certificate-authority no.pem: ENOENT",
    );
  });

  it("may have a server with a path, or without a scheme", async () => {
    const { server } = plain();
    expect((await sent(write({ server: `${server}/k8s/clusters/c-1/` }, {}))).url).toBe(
      "/k8s/clusters/c-1/api?x=1",
    );
    expect((await sent(write({ server: server.replace("http://", "") }, {}))).url).toBe("/api?x=1");
    const tls = { server: "api:6443", "insecure-skip-tls-verify": true };
    expect(open(write(tls, {})).server).toBe("https://api:6443");
  });

  it.each(["http", "socks5"] as const)("is reached over a proxy-url of %s", async (scheme) => {
    const asked: string[] = [];
    const port = await portOf(scheme === "http" ? connectProxy(asked) : socksProxy(asked));
    const cluster = {
      ...secure(),
      "tls-server-name": "api.internal",
      "certificate-authority-data": data(caPem),
      "proxy-url": `${scheme}://127.0.0.1:${port}`,
    };
    expect((await sent(write(cluster, { token: "t" }))).url).toBe("/api?x=1");
    expect(asked).toEqual([`127.0.0.1:${https}`]);
    // The proxy's certificate must not be accepted for the server.
    await expect(sent(write({ ...cluster, "tls-server-name": "other" }, {}))).rejects.toThrow();
  });

  it("gets no accept-encoding header, with or without disable-compression", async () => {
    for (const flag of [true, false]) {
      const echoed = await sent(write({ ...plain(), "disable-compression": flag }, {}));
      expect(valuesOf(echoed, "accept-encoding")).toEqual([]);
    }
  });

  it("may have namespace, extensions and preferences, which are ignored", async () => {
    const extensions = [{ name: "minikube.sigs.k8s.io", extension: { version: "1" } }];
    const context = { namespace: "team", extensions };
    const more = { preferences: { colors: true }, extensions };
    const path = write({ ...plain(), extensions }, { token: "t", extensions }, context, more);
    expect(valuesOf(await sent(path), "authorization")).toEqual(["Bearer t"]);
  });
});

describe("a user of a kubeconfig", () => {
  it("with token sends it as the bearer token", async () => {
    expect(valuesOf(await sent(write(plain(), { token: "t" })), "authorization")).toEqual([
      "Bearer t",
    ]);
  });

  it("with tokenFile sends the file's content, and `token` while the file does not exist", async () => {
    const path = write(plain(), { token: "first", tokenFile: "later" });
    expect(valuesOf(await sent(path), "authorization")).toEqual(["Bearer first"]);
    writeFileSync(join(folder, "later"), "of the file\n");
    expect(valuesOf(await sent(path), "authorization")).toEqual(["Bearer of the file"]);
  });

  it("with username and password sends basic authorization", async () => {
    const echoed = await sent(write(plain(), { username: "bob", password: "s:e" }));
    expect(valuesOf(echoed, "authorization")).toEqual([`Basic ${data("bob:s:e")}`]);
  });

  it("with client-certificate and client-key, as files or data, uses them as client certificate", async () => {
    writeFileSync(join(folder, "c.pem"), "CERT");
    writeFileSync(join(folder, "k.pem"), "KEY");
    const pairs = [
      { "client-certificate": "c.pem", "client-key": "k.pem" },
      { "client-certificate-data": data("CERT"), "client-key-data": data("KEY") },
      { "client-certificate": "c.pem", "client-key-data": data("KEY") },
    ];
    for (const user of pairs)
      expect(await open(write(secure(), user)).credentials.current()).toEqual({
        clientCertificate: { certPem: "CERT", keyPem: "KEY" },
      });
  });

  it("with as, as-uid, as-groups and as-user-extra sends impersonation headers", async () => {
    const echoed = await sent(
      write(plain(), {
        token: "t",
        as: "jürgen",
        "as-uid": "7",
        "as-groups": ["a", "b,c"],
        "as-user-extra": { "example.com/team": ["x", "y"] },
      }),
    );
    expect(valuesOf(echoed, "impersonate-user")).toEqual([
      Buffer.from("jürgen").toString("latin1"),
    ]);
    expect(valuesOf(echoed, "impersonate-uid")).toEqual(["7"]);
    // A comma does not separate groups: each group has its own header.
    expect(valuesOf(echoed, "impersonate-group")).toEqual(["a", "b,c"]);
    expect(valuesOf(echoed, "impersonate-extra-example.com%2fteam")).toEqual(["x", "y"]);
  });

  it.each([
    ["Never", true, false],
    ["IfAvailable", true, true],
    ["IfAvailable", false, false],
    ["Always", true, true],
  ] as const)(
    "with an exec plugin of interactiveMode %s, terminal: %s, tells it interactive: %s",
    async (interactiveMode, hasTerminal, asks) => {
      const { interactive } = await execInfo({ interactiveMode }, plain(), { hasTerminal });
      expect(interactive).toBe(asks);
    },
  );

  it("with an exec plugin and provideClusterInfo passes the cluster's fields to it", async () => {
    const cluster = {
      server: "https://told",
      "tls-server-name": "api",
      "insecure-skip-tls-verify": true,
      "proxy-url": "http://proxy:3128",
      "disable-compression": true,
      extensions: [{ name: "client.authentication.k8s.io/exec", extension: { audience: "a" } }],
    };
    const info = await execInfo({ provideClusterInfo: true }, cluster);
    const { extensions, ...fields } = cluster;
    expect(info.cluster).toEqual({ ...fields, config: { audience: "a" } });
    expect((await execInfo({ provideClusterInfo: false }, cluster)).cluster).toBeUndefined();
  });
});

describe("several kubeconfigs", () => {
  it("are merged: the first entry of a name counts, paths are relative to each file's own folder", async () => {
    const [a, b] = ["a", "b"].map((name) => join(folder, name)) as [string, string];
    mkdirSync(a);
    mkdirSync(b);
    writeFileSync(
      join(a, "config"),
      JSON.stringify({
        clusters: [{ name: "k", cluster: { ...plain() } }],
        contexts: [{ name: "c", context: { cluster: "k", user: "u" } }],
      }),
    );
    const users = [{ name: "u", user: { tokenFile: "token" } }];
    const contexts = [{ name: "c", context: { cluster: "other", user: "other" } }];
    writeFileSync(join(b, "config"), JSON.stringify({ users, contexts, "current-context": "c" }));
    writeFileSync(join(b, "last"), JSON.stringify({ "current-context": "nobody's" }));
    writeFileSync(join(b, "token"), "beside the second");
    const paths = [join(a, "config"), join(folder, "absent"), join(b, "config"), join(b, "last")];
    const echoed = await sent(paths.join(delimiter));
    expect(valuesOf(echoed, "authorization")).toEqual(["Bearer beside the second"]);
  });

  it("of which one has two entries of one name are refused", () => {
    const users = ["a", "b"].map((token) => ({ name: "u", user: { token } }));
    expect(() => open(write(plain(), {}, {}, { users }))).toThrow(
      'users has two entries named "u"; remove one of them',
    );
  });
});

/** The `spec` that a plugin receives. */
async function execInfo(
  exec: object,
  cluster: object,
  machine?: LoginMachine,
): Promise<{ readonly interactive: boolean; readonly cluster?: unknown }> {
  const script = `process.stdout.write(JSON.stringify({
    apiVersion: "client.authentication.k8s.io/v1",
    kind: "ExecCredential",
    status: { token: Buffer.from(process.env.KUBERNETES_EXEC_INFO).toString("base64") },
  }))`;
  const user = {
    exec: {
      apiVersion: "client.authentication.k8s.io/v1",
      command: process.execPath,
      args: ["-e", script],
      ...exec,
    },
  };
  const { token = "" } = await open(write(cluster, user), machine).credentials.current();
  return JSON.parse(Buffer.from(token, "base64").toString()).spec;
}

/** A proxy that answers CONNECT. `asked`: gets the target of each request. */
function connectProxy(asked: string[]): Server {
  const server = createServer();
  server.on("connect", (request, client) => {
    asked.push(request.url ?? "");
    const target = connect(Number(request.url?.split(":")[1]), "127.0.0.1", () => {
      client.write("HTTP/1.1 200 OK\r\n\r\n");
      target.pipe(client).pipe(target);
    });
    client.on("error", () => target.destroy());
    target.on("error", () => client.destroy());
  });
  return server;
}

/** A SOCKS 5 proxy without a login, for IPv4 and names (RFC 1928). `asked`: gets the target of each request. */
function socksProxy(asked: string[]): Server {
  return createTcp((client) => {
    client.once("data", () => {
      client.write(Buffer.from([5, 0]));
      client.once("data", (wanted) => {
        const isName = wanted[3] === 3;
        const end = isName ? 5 + (wanted[4] as number) : 8;
        const host = isName ? wanted.toString("ascii", 5, end) : wanted.subarray(4, 8).join(".");
        const port = wanted.readUInt16BE(end);
        asked.push(`${host}:${port}`);
        const target = connect(port, "127.0.0.1", () => {
          client.write(Buffer.from([5, 0, 0, 1, 127, 0, 0, 1, 0, 0]));
          target.pipe(client).pipe(target);
        });
        client.on("error", () => target.destroy());
        target.on("error", () => client.destroy());
      });
    });
  });
}
