import {
  chmodSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SystemClock } from "../../base/system-clock.ts";
import { clusterAccess, loadKubeconfig } from "../../kube/kubeconfig/kubeconfig.ts";
import { type ListenOptions, startListener } from "../../listen/listener.ts";
import { identityIn } from "../../sandbox/apiserver/https/certificates.ts";
import { checkKubeconfig, checkNotTaken, writeKubeconfig } from "./kubeconfig-file.ts";

const OTHERS = `
apiVersion: v1
kind: Config
preferences: {colors: true}
clusters:
- {name: work, cluster: {server: "https://work:6443"}}
users:
- {name: me, user: {token: secret}}
contexts:
- {name: work, context: {cluster: work, user: me}}
current-context: work
`;

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sandbox-kubeconfig-"));
  file = join(folder, "config");
});
afterEach(() => rmSync(folder, { recursive: true }));

const sandboxAt = (port: number) => ({
  url: `https://127.0.0.1:${port}`,
  caPem: "PEM",
  token: `token-${port}`,
});
const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

describe("the sandbox's kubeconfig", () => {
  it("is created if it is missing, and its own entries are replaced the next time", async () => {
    for (const port of [1, 2]) {
      checkKubeconfig(file);
      writeKubeconfig(file, sandboxAt(port));
    }
    const access = clusterAccess(file, {}, new SystemClock());
    expect(access.server).toBe("https://127.0.0.1:2");
    expect(await access.credentials.current()).toEqual({ token: "token-2" });
    expect(loadKubeconfig(file)["clusters"]).toHaveLength(1);
    expect(readdirSync(folder)).toEqual(["config"]);
  });

  it("is merged into a kubeconfig of other clusters", () => {
    writeFileSync(file, OTHERS);
    checkKubeconfig(file);
    writeKubeconfig(file, sandboxAt(1));
    const merged = loadKubeconfig(file);
    expect(merged).toMatchObject({
      preferences: { colors: true },
      clusters: [{ name: "work" }, { name: "karpenter-sandbox" }],
      users: [{ name: "me", user: { token: "secret" } }, { name: "karpenter-sandbox" }],
      contexts: [{ name: "work" }, { name: "karpenter-sandbox" }],
      "current-context": "karpenter-sandbox",
    });
  });

  it("is readable by its owner only, even if the file was readable by others before", () => {
    writeFileSync(file, OTHERS);
    chmodSync(file, 0o644);
    writeKubeconfig(file, sandboxAt(1));
    expect(modeOf(file)).toBe("600");
  });

  it("is written to the target of a symbolic link", () => {
    writeFileSync(join(folder, "real"), OTHERS);
    symlinkSync("real", file);
    writeKubeconfig(file, sandboxAt(1));
    expect(lstatSync(file).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(folder, "real"), "utf8")).toContain("work");
  });

  it.each([
    ["just notes", "is not a kubeconfig: wanted an object of kind Config"],
    ["kind: Deployment", "is not a kubeconfig: wanted an object of kind Config"],
    ["{clusters: {}}", "its clusters are no list"],
    [
      "{clusters: [{name: karpenter-sandbox, cluster: {server: 'https://prod:6443'}}]}",
      "its cluster karpenter-sandbox is not the sandbox: the server is https://prod:6443",
    ],
  ])("does not overwrite a file that contains %j", (text, words) => {
    writeFileSync(file, text);
    for (const act of [() => checkKubeconfig(file), () => writeKubeconfig(file, sandboxAt(1))]) {
      expect(act).toThrow(words);
      expect(act).toThrow("choose another with --kubeconfig");
    }
    expect(readFileSync(file, "utf8")).toBe(text);
  });

  it("does not replace a device file", () => {
    expect(() => checkKubeconfig("/dev/null")).toThrow("it is no regular file");
  });
});

describe("the sandbox's entry in a kubeconfig", () => {
  /** A server with the sandbox's certificate. Its answer counts, whatever the status is. */
  async function running(handle: ListenOptions["handle"]) {
    const { keyPem, certificatePem: certPem } = await identityIn(join(folder, "pki"));
    const tls = { keyPem, certPem };
    return startListener({ name: "other", port: 0, host: "127.0.0.1", tls, handle });
  }

  it("is not taken from another sandbox that answers, and is free once it has ended", async () => {
    const other = await running(async ({ response }) => {
      response.writeHead(403).end();
    });
    writeKubeconfig(file, sandboxAt(other.port));
    await expect(checkNotTaken(file, 0)).rejects.toThrow(
      `the kubeconfig ${file} belongs to a sandbox that runs at https://127.0.0.1:${other.port}: stop it, or choose another file with --kubeconfig`,
    );
    await checkNotTaken(file, other.port);
    await other.close();
    await checkNotTaken(file, 0);
  });

  it("is free if the server does not answer within a second", async () => {
    const stuck = await running(() => new Promise(() => undefined));
    writeKubeconfig(file, sandboxAt(stuck.port));
    await checkNotTaken(file, 0);
    await stuck.close();
  });

  it("is free if the file is missing, is of other clusters, or its address cannot be read", async () => {
    await checkNotTaken(file, 0);
    writeFileSync(file, OTHERS);
    await checkNotTaken(file, 0);
    const server = "https://127.0.0.1:port";
    writeFileSync(file, `{clusters: [{name: karpenter-sandbox, cluster: {server: '${server}'}}]}`);
    await checkNotTaken(file, 0);
  });
});

describe("the sandbox's certificates and token", () => {
  it("are readable by their owner only, even if the files were readable by others before", async () => {
    const pki = join(folder, "pki");
    const first = await identityIn(pki);
    expect(modeOf(pki)).toBe("700");
    for (const name of readdirSync(pki)) chmodSync(join(pki, name), 0o644);
    expect(await identityIn(pki)).toEqual({ ...first, token: first.token.trim() });
    for (const name of readdirSync(pki)) expect(modeOf(join(pki, name))).toBe("600");
  });

  it("do not overwrite files of somebody else", async () => {
    writeFileSync(join(folder, "ca.crt"), "of somebody else");
    await expect(identityIn(folder)).rejects.toThrow(
      /has ca\.crt and lacks the rest of ca\.crt, server\.crt, server\.key, token/,
    );
    expect(readFileSync(join(folder, "ca.crt"), "utf8")).toBe("of somebody else");
  });
});
