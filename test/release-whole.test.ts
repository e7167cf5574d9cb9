/**
 * The whole release, made twice, gives the same bytes, and each file has the content that its name says. Takes
 * minutes: `npm run test:release`. Its parts are tested in release.test.ts.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { helmBinary } from "./cluster/binaries.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const VERSION = "99.0.0";
const IMAGE = "registry.example/karpenter";

describe.skipIf(process.env["RELEASE"] !== "whole")("the files of a whole release", () => {
  let folder: string;
  let helm: string;
  const out = (name: string): string => join(folder, name);
  const run = (program: string, ...args: readonly string[]): string =>
    execFileSync(program, args, { cwd: ROOT, encoding: "utf8", maxBuffer: 1 << 28 });
  const release = (name: string): string =>
    run(
      "npm",
      ...["run", "--silent", "release", "--", "--version", VERSION, "--dry-run"],
      ...["--out", out(name), "--helm", helm, "--image-repository", IMAGE],
      ...["amd64", "arm64"].flatMap((one) => [`--root-${one}`, out(`root-${one}`)]),
    );

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "release-"));
    helm = await helmBinary();
    for (const one of ["amd64", "arm64"]) {
      mkdirSync(join(out(`root-${one}`), "etc"), { recursive: true });
      writeFileSync(join(out(`root-${one}`), "etc/arch"), one);
    }
    release("first");
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("contain all that is published, with checksums", () => {
    expect(readdirSync(out("first")).sort()).toEqual(
      [
        "SHA256SUMS",
        "karpenter-completion.bash",
        "karpenter-completion.fish",
        "karpenter-completion.zsh",
        `karpenter-${VERSION}.cdx.json`,
        `karpenter-${VERSION}.spdx.json`,
        `karpenter-${VERSION}.tgz`,
        `karpenter-bundle-${VERSION}.tar.gz`,
        `karpenter-crd-${VERSION}.tgz`,
        `karpenter-crds-${VERSION}.yaml`,
        `karpenter-image-${VERSION}.oci.tar`,
        `karpenter-kwok-${VERSION}.yaml`,
        `karpenter-ts-${VERSION}.tgz`,
        "provenance.intoto.json",
      ].sort(),
    );
    for (const line of readFileSync(join(out("first"), "SHA256SUMS"), "utf8")
      .trim()
      .split("\n")) {
      const [sum, name = ""] = line.split("  ");
      const content = readFileSync(join(out("first"), name));
      expect(createHash("sha256").update(content).digest("hex"), name).toBe(sum);
    }
  });

  it("contain an npm package without the bundle, which is a separate file", () => {
    const names = run("tar", "-tzf", join(out("first"), `karpenter-ts-${VERSION}.tgz`));
    expect(names).toContain("package/dist/cli/main.js");
    expect(names).not.toContain("package/dist/bundle");
  });

  it("contain a program that prints its version", () => {
    const into = out("bundle");
    mkdirSync(into);
    run("tar", "-xzf", join(out("first"), `karpenter-bundle-${VERSION}.tar.gz`), "-C", into);
    expect(run("node", join(into, "karpenter.mjs"), "--version").trim()).toBe(VERSION);
  });

  it.each(["karpenter", "karpenter-crd"])("contain a chart %s as helm packs it", (name) => {
    const file = join(out("first"), `${name}-${VERSION}.tgz`);
    const theirs = out(`helm-${name}`);
    run(helm, "package", join(ROOT, "deploy/charts", name), "--destination", theirs);
    const [packed = ""] = readdirSync(theirs);
    const filesIn = (archive: string) =>
      run("tar", "-tzf", archive)
        .trim()
        .split("\n")
        .filter((one) => !one.endsWith("/"))
        .sort();
    expect(filesIn(file)).toEqual(filesIn(join(theirs, packed)));
    const onAws = name === "karpenter" ? ["--set", "settings.clusterName=demo"] : [];
    run(helm, "lint", file, "--strict", ...onAws);
    const text = run(helm, "template", "karpenter", file, "--kube-version", "1.34.0", ...onAws);
    expect(text.includes(`image: ${IMAGE}@sha256:`)).toBe(name === "karpenter");
    expect(run(helm, "show", "chart", file)).toContain(`version: ${VERSION}`);
  });

  it("are the same bytes when built again", () => {
    release("second");
    const names = readdirSync(out("first"));
    expect(readdirSync(out("second"))).toEqual(names);
    const differing = names.filter(
      (name) =>
        !readFileSync(join(out("first"), name)).equals(readFileSync(join(out("second"), name))),
    );
    expect(differing).toEqual([]);
  });
});
