/**
 * The krew manifest, filled in as in a release, follows krew's rules for a plug-in (krew's
 * internal/index/validation/validate.go).
 */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { parse } from "yaml";

const TEXT = readFileSync(new URL("../deploy/krew/karpenter.yaml", import.meta.url), "utf8");
const { version, bin } = JSON.parse(
  readFileSync(new URL("../package.json", import.meta.url), "utf8"),
) as { version: string; bin: Record<string, string> };
const FILLED: Readonly<Record<string, string>> = {
  REPOSITORY: "https://example.com/karpenter-ts",
  VERSION: version,
  SHA256: "0".repeat(64),
};
const filled = TEXT.replace(/\$\{(\w+)\}/g, (whole, name: string) => FILLED[name] ?? whole);
const plugin = parse(filled);

it("the krew manifest has no placeholder that a release cannot fill", () => {
  expect(filled).not.toContain("$");
  for (const name of Object.keys(FILLED)) expect(TEXT).toContain(`\${${name}}`);
});

it("the krew manifest names the plug-in, its version and its purpose, as krew requires", () => {
  expect(Object.keys(plugin)).toEqual(["apiVersion", "kind", "metadata", "spec"]);
  expect([plugin.apiVersion, plugin.kind]).toEqual([
    "krew.googlecontainertools.github.com/v1alpha2",
    "Plugin",
  ]);
  expect(plugin.metadata).toEqual({ name: "karpenter" });
  expect(bin).toHaveProperty(`kubectl-${plugin.metadata.name}`);
  const { spec } = plugin;
  expect(Object.keys(spec).sort()).toEqual(
    "caveats description homepage platforms shortDescription version".split(" "),
  );
  expect(spec.version).toMatch(/^v\d+\.\d+\.\d+(?:-[0-9a-z.-]+)?$/);
  expect(spec.homepage).toMatch(/^https:\/\//);
  expect(spec.shortDescription).toMatch(/^[^\n]{1,50}$/);
  const { engines } = JSON.parse(
    readFileSync(new URL("../package.json", import.meta.url), "utf8"),
  ) as { engines: { node: string } };
  expect(spec.caveats).toContain(`Node.js ${engines.node.replace(">=", "")} or newer`);
});

it("the krew manifest has one archive for each system, with a program that the bundle contains", () => {
  const { platforms } = plugin.spec;
  expect(platforms).toHaveLength(1);
  const [{ selector, uri, sha256, files, bin: program }] = platforms;
  expect(selector.matchExpressions).toEqual([
    { key: "os", operator: "In", values: ["linux", "darwin"] },
  ]);
  expect(uri).toMatch(/^https:\/\/.*\.tar\.gz$/);
  // The release makes a file of this name.
  const page = readFileSync(new URL("../docs/guide/release.md", import.meta.url), "utf8");
  const name = uri.split("/").at(-1).replace(version, "VERSION");
  expect(page).toContain(`| \`${name}\` |`);
  expect(sha256).toMatch(/^[0-9a-f]{64}$/);
  expect(files).toEqual([{ from: "*", to: "." }]);
  // `test/e2e/bundle.test.ts` runs this program.
  const bundle = readFileSync(new URL("../scripts/bundle.ts", import.meta.url), "utf8");
  expect(bundle).toContain(`"${program.replace(".mjs", "")}": "src/cli/`);
});
