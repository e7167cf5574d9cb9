import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { clusterAccess } from "./kubeconfig.ts";

const folder = mkdtempSync(join(tmpdir(), "kubeconfig-"));
afterAll(() => rmSync(folder, { recursive: true }));

function kubeconfig(cluster: object, user: object = { token: "t" }): string {
  const path = join(folder, "config");
  const config = {
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "k", user: "u" } }],
    clusters: [{ name: "k", cluster }],
    users: [{ name: "u", user }],
  };
  writeFileSync(path, JSON.stringify(config));
  return path;
}

describe("a kubeconfig", () => {
  it("names the server, its authority and who asks", () => {
    const ca = Buffer.from("PEM").toString("base64");
    const path = kubeconfig({ server: "https://x:1", "certificate-authority-data": ca });
    expect(clusterAccess(path, {})).toEqual({ server: "https://x:1", caPem: "PEM", token: "t" });
  });

  it.each([
    [{}, {}, "has no server"],
    [
      { server: "https://x", "insecure-skip-tls-verify": true },
      {},
      "certificate-authority-data instead",
    ],
    [{ server: "https://x" }, { exec: { command: "aws" } }, "logs in with a plugin"],
  ])("is refused with a remedy: %j %j", (cluster, user, words) => {
    expect(() => clusterAccess(kubeconfig(cluster, user), {})).toThrow(words);
  });
});
