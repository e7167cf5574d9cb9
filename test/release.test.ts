/**
 * Parts of a release have the same bytes each time, and name their version. The whole release: npm run release --
 * --dry-run.
 */
import { spawnSync } from "node:child_process";
import { createHash, createVerify, generateKeyPairSync } from "node:crypto";
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { extract, type Header } from "tar-stream";
import { describe, expect, it } from "vitest";
import { missingPrograms } from "../scripts/release/artefacts.ts";
import { parseNote, versionProblem, withRelease } from "../scripts/release/changelog.ts";
import { chartEntries } from "../scripts/release/chart-package.ts";
import { type ImageOptions, writeImage } from "../scripts/release/image.ts";
import { provenanceOf, signatureOf, steadyBill, sumsOf } from "../scripts/release/statements.ts";
import { type ArchiveEntry, gzipped, rootEntriesOf, tarOf } from "../scripts/release/tarball.ts";
import { temporaryFolders } from "../src/testing/temporary-folder.ts";

const AT_MS = Date.UTC(2026, 0, 5);
const folder = temporaryFolders("release-");
const entry = (path: string, text: string, isExecutable = false): ArchiveEntry => ({
  path,
  content: Buffer.from(text),
  isExecutable,
});

describe("archives of a release", () => {
  it("are the same bytes, whatever the order of files and the day", async () => {
    const [a, b] = [entry("bin/x", "1", true), entry("lib/a/b", "2")];
    const one = gzipped(await tarOf([a, b], AT_MS));
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(gzipped(await tarOf([b, a], AT_MS)).equals(one)).toBe(true);
    const names = gunzipSync(one).toString("latin1");
    for (const name of ["bin/", "bin/x", "lib/", "lib/a/", "lib/a/b"])
      expect(names).toContain(name);
  });
});

function optionsWith(base: ImageOptions["base"]): ImageOptions {
  return {
    base,
    program: [entry("karpenter.mjs", "run()")],
    version: "1.2.3",
    commit: "c0ffee",
    atMs: AT_MS,
    entrypoint: ["/nodejs/bin/node", "/app/karpenter.mjs"],
  };
}

function scratchBase(): Readonly<Record<"amd64" | "arm64", string>> {
  const roots = { amd64: folder(), arm64: folder() };
  for (const [name, root] of Object.entries(roots)) {
    mkdirSync(join(root, "etc"));
    writeFileSync(join(root, "etc/arch"), name);
  }
  return roots;
}

async function headersOf(tar: Buffer): Promise<readonly Header[]> {
  const found: Header[] = [];
  const reader = extract();
  reader.end(tar);
  for await (const one of reader) {
    found.push(one.header);
    one.resume();
  }
  return found;
}

interface Described {
  readonly digest: string;
  readonly size: number;
}

/** Checks that all blobs of an index exist, with the stated size and digest. */
function checked(
  layout: string,
): readonly { readonly architecture: string; readonly layers: readonly Described[] }[] {
  const blob = ({ digest, size }: Described): Buffer => {
    const content = readFileSync(join(layout, "blobs", digest.replace(":", "/")));
    const sum = createHash("sha256").update(content).digest("hex");
    expect([digest, size]).toEqual([`sha256:${sum}`, content.length]);
    return content;
  };
  const json = (described: Described) => JSON.parse(blob(described).toString("utf8"));
  const top = JSON.parse(readFileSync(join(layout, "index.json"), "utf8"));
  return json(top.manifests[0]).manifests.map(
    (described: Described & { platform: { architecture: string } }) => {
      const { config, layers } = json(described) as {
        config: Described;
        layers: readonly Described[];
      };
      const { rootfs, architecture, config: run } = json(config);
      expect(architecture).toBe(described.platform.architecture);
      expect(run).toMatchObject({ User: "65532:65532", WorkingDir: "/app", Cmd: ["controller"] });
      const diffIds = layers.map((layer) => {
        const sum = createHash("sha256")
          .update(gunzipSync(blob(layer)))
          .digest("hex");
        return `sha256:${sum}`;
      });
      expect(rootfs.diff_ids).toEqual(diffIds);
      return { architecture, layers };
    },
  );
}

describe("the image of a release", () => {
  it("is a complete OCI layout for both platforms, the same each time", async () => {
    const base = scratchBase();
    const [first, second] = [folder(), folder()];
    const digest = await writeImage(first, optionsWith(base));
    expect(await writeImage(second, optionsWith(base))).toBe(digest);
    const [amd64, arm64] = checked(first);
    expect([amd64?.architecture, arm64?.architecture]).toEqual(["amd64", "arm64"]);
    expect(amd64?.layers.at(-1)).toEqual(arm64?.layers.at(-1));
    expect(amd64?.layers[0]).not.toEqual(arm64?.layers[0]);
    const names = (layout: string) => readdirSync(layout, { recursive: true }).sort();
    expect(names(second)).toEqual(names(first));
  });

  it("is checked for its program, and the error names the root file system without it", () => {
    const base = scratchBase();
    mkdirSync(join(base.amd64, "nodejs/bin"), { recursive: true });
    writeFileSync(join(base.amd64, "nodejs/bin/node"), "");
    expect(missingPrograms(base, ["/nodejs/bin/node", "--flag"])).toEqual([
      `the image for arm64 will not start: ${base.arm64} has no /nodejs/bin/node`,
    ]);
    expect(missingPrograms("layout", ["/nodejs/bin/node"])).toEqual([]);
  });

  it("can be built on the layers of another layout", async () => {
    const under = folder();
    await writeImage(under, optionsWith(scratchBase()));
    const out = folder();
    await writeImage(out, optionsWith(under));
    for (const { layers } of checked(out)) expect(layers).toHaveLength(3);
  });

  it("can be built on one image of a layout, chosen by digest", async () => {
    const under = folder();
    const digest = await writeImage(under, optionsWith(scratchBase()));
    const out = folder();
    await writeImage(out, optionsWith(`${under}@${digest}`));
    for (const { layers } of checked(out)) expect(layers).toHaveLength(3);
    const other = `${under}@sha256:${"0".repeat(64)}`;
    await expect(writeImage(folder(), optionsWith(other))).rejects.toThrow("is missing");
  });

  it("keeps the links and empty folders of a root file system", async () => {
    const root = folder();
    mkdirSync(join(root, "usr/lib"), { recursive: true });
    writeFileSync(join(root, "usr/lib/libc.so"), "c");
    symlinkSync("usr/lib", join(root, "lib"));
    mkdirSync(join(root, "tmp"));
    chmodSync(join(root, "tmp"), 0o1777);
    const found = await headersOf(await tarOf(rootEntriesOf(root), AT_MS));
    expect(found.map(({ name, type }) => `${type} ${name}`)).toEqual([
      "symlink lib",
      "directory tmp/",
      "directory usr/",
      "directory usr/lib/",
      "file usr/lib/libc.so",
    ]);
    expect(found[0]?.linkname).toBe("usr/lib");
    expect(found[1]?.mode).toBe(0o1777);
  });

  it("is refused on an incomplete base, and the error names what is missing", async () => {
    await expect(writeImage(folder(), optionsWith(folder()))).rejects.toThrow("no OCI layout");
    const damaged = folder();
    await writeImage(damaged, optionsWith(scratchBase()));
    const blobs = join(damaged, "blobs/sha256");
    for (const name of readdirSync(blobs)) writeFileSync(join(blobs, name), "{}");
    await expect(writeImage(folder(), optionsWith(damaged))).rejects.toThrow("is damaged");
  });
});

describe("the charts of a release", () => {
  it("get the version, and the image with its digest", () => {
    const chart = folder();
    writeFileSync(
      join(chart, "Chart.yaml"),
      "name: karpenter\nversion: 0.1.0\nappVersion: 0.1.0\n",
    );
    writeFileSync(
      join(chart, "values.yaml"),
      'controller:\n  image:\n    # -- Where.\n    repository: ""\n    digest: ""\n',
    );
    const files = chartEntries(chart, "karpenter", {
      version: "1.2.3",
      imageRepository: "registry.example/karpenter",
      imageDigest: "sha256:00",
    });
    const text = Object.fromEntries(files.map((one) => [one.path, one.content.toString("utf8")]));
    expect(text["karpenter/Chart.yaml"]).toBe(
      "name: karpenter\nversion: 1.2.3\nappVersion: 1.2.3\n",
    );
    expect(text["karpenter/values.yaml"]).toContain(
      '# -- Where.\n    repository: "registry.example/karpenter"',
    );
    expect(text["karpenter/values.yaml"]).toContain("sha256:00");
  });
});

describe("the changelog", () => {
  const note = (kind: string, text: string) =>
    parseNote("n.md", `---\n"karpenter-ts": ${kind}\n---\n\n${text}\n`);

  it("gets the release notes by kind, below the section Unreleased", () => {
    const notes = [
      note("patch", "B is\nmended."),
      note("minor", "A is new."),
      note("patch", "A is mended."),
    ];
    const text = withRelease("# Changelog\n\n## [Unreleased]\n\n## [0.1.0] - 2026-01-01\n", {
      version: "0.2.0",
      date: "2026-02-01",
      notes,
    });
    expect(text).toBe(
      "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-02-01\n\n### Added and changed\n\n- A is new.\n\n### Fixed\n\n- A is mended.\n- B is mended.\n\n## [0.1.0] - 2026-01-01\n",
    );
  });

  it("refuses a change note without a kind", () => {
    expect(() => parseNote("n.md", "A is new.")).toThrow("n.md: wanted a front matter");
  });

  it("is not written after an unknown flag: the release script says which, and prints its manual", () => {
    const { status, stderr } = spawnSync(
      process.execPath,
      ["--import", "tsx", "scripts/release.ts", "--bogus"],
      { encoding: "utf8" },
    );
    expect(status).toBe(2);
    expect(stderr).toMatch(/^Unknown option '--bogus'/);
    expect(stderr).toContain("docs/guide/release.md lists the flags");
    expect(stderr).not.toContain("    at ");
  });

  it.each([
    ["1.2", [], "wanted three numbers"],
    ["0.1.0", [], "is released already: give one above 0.1.0"],
    ["0.0.9", [], "is lower than the last, 0.1.0"],
    ["0.1.1", ["minor"], "raise the second number"],
    ["0.1.1", ["major"], "raise the second number"],
    ["0.1.1", ["patch"], undefined],
    ["0.2.0", ["minor", "major"], undefined],
    ["1.0.0", ["major"], undefined],
  ] as const)(
    "refuses version %s after 0.1.0 with notes %j, and names the fault",
    (version, kinds, problem) => {
      const notes = kinds.map((kind) => ({ kind }));
      const found = versionProblem(version, ["0.1.0"], notes);
      if (problem === undefined) expect(found).toBeUndefined();
      else expect(found).toContain(problem);
    },
  );
});

describe("signed statements of a release", () => {
  const files = [{ name: "a.txt", content: Buffer.from("a") }];
  const origin = { version: "1.2.3", commit: "c0ffee", atMs: AT_MS };
  const maker = { id: "https://b.example", programs: {}, lockFile: Buffer.from("a") };
  const SUM = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb";

  it("name each file with its checksum", () => {
    expect(sumsOf(files)).toBe(`${SUM}  a.txt\n`);
    const provenance = JSON.parse(provenanceOf(files, origin, maker));
    expect(provenance.subject).toEqual([{ name: "a.txt", digest: { sha256: SUM } }]);
    const { predicate } = provenance;
    expect(predicate.runDetails.builder.id).toBe("https://b.example");
    expect(predicate.buildDefinition.resolvedDependencies).toEqual([
      { name: "source", digest: { gitCommit: "c0ffee" } },
      { name: "package-lock.json", digest: { sha256: SUM } },
    ]);
  });

  it("of npm contain nothing that differs from run to run", () => {
    const bill = (serial: string) =>
      steadyBill(
        JSON.stringify({
          serialNumber: serial,
          metadata: { timestamp: serial, component: { name: serial } },
          creationInfo: { created: serial },
          documentNamespace: serial,
        }),
        origin,
      );
    expect(bill("x")).toBe(bill("y"));
    expect(JSON.parse(bill("x")).serialNumber).toMatch(/^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8/);
  });

  it("are signed as cosign signs a blob", () => {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const pem = privateKey.export({ type: "pkcs8", format: "pem" }) as string;
    const signature = signatureOf(Buffer.from("a"), pem);
    expect(createVerify("sha256").update("a").verify(publicKey, signature.trim(), "base64")).toBe(
      true,
    );
    const other = generateKeyPairSync("ed25519").privateKey.export({
      type: "pkcs8",
      format: "pem",
    });
    expect(() => signatureOf(Buffer.from("a"), other as string)).toThrow("P-256");
  });
});
