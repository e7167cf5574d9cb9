/**
 * Checks of the chart without helm: every value is used, every use has a value, the program reads each variable
 * that the chart sets, and the image recipe copies what the bundle needs. `npm run test:cluster` checks it with
 * the real helm.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { IMAGE_NODE_VERSION } from "../bench/image-node.ts";
import { BUNDLE_DATA } from "../scripts/bundle/data.ts";
import { variablesOf } from "../scripts/chart/chart-files.ts";
import { OLDER_VALUES } from "../scripts/chart/older-values.ts";
import { chartValues } from "../scripts/chart/values.ts";
import { imageFlags } from "../scripts/image-flags.ts";
import { customResourceDefinitions } from "../src/apis/crds/all.ts";
import type { OptionDefinition } from "../src/operator/settings/option-definition.ts";
import { OPTIONS } from "../src/operator/settings/options.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const CHART = join(ROOT, "deploy/charts/karpenter");
const read = (file: string): string => readFileSync(join(ROOT, file), "utf8");

const values = chartValues(read("deploy/charts/karpenter/values.yaml"));
const templates = readdirSync(join(CHART, "templates")).map((file) => ({
  file,
  text: read(`deploy/charts/karpenter/templates/${file}`),
}));
const everything = templates.map(({ text }) => text).join("\n");

/** Variables that the chart sets and that are no settings of Karpenter. */
const OTHER_VARIABLES = ["KUBERNETES_MIN_VERSION", "NODE_OPTIONS", "SYSTEM_NAMESPACE"];

/** `.Values.a.b`, `$settings.b` and `$values.b` in the templates. */
function usesOf(text: string): readonly string[] {
  const uses = [...text.matchAll(/(\.Values|\$settings|\$values)\.([A-Za-z][\w.]*)/g)];
  return uses.map(([, root, path]) => {
    if (root === "$settings") return `settings.${path}`;
    return (path ?? "").replace(/^settings$/, "settings.");
  });
}

describe("the Helm chart", () => {
  it("describes every value, and uses it", () => {
    const uses = usesOf(everything);
    const generic = /^(settings\.featureGates|controller\.securityContext)\./;
    const unused = values
      .map(({ name }) => name)
      .filter((name) => !generic.test(name))
      .filter((name) => !uses.some((use) => use === name || name.startsWith(`${use}.`)))
      // The template reads the image's values through a variable.
      .filter((name) => !everything.includes(`$image.${name.split(".").at(-1)}`));
    expect(unused).toEqual([]);
  });

  it("uses no value that it does not describe", () => {
    const known = values.map(({ name }) => name);
    const resolved = ["notes", ...OLDER_VALUES.filter(({ now }) => now === "").map(({ to }) => to)];
    const older = OLDER_VALUES.map(({ name }) => name);
    const unknown = usesOf(everything).filter(
      (use) =>
        ![...known, ...older].some((name) => name === use || name.startsWith(`${use}.`)) &&
        !known.some((name) => use.startsWith(`${name}.`)) &&
        !resolved.includes(use) &&
        !/^settings\.$/.test(use),
    );
    expect([...new Set(unknown)]).toEqual([]);
  });

  it("names no unpublished image, and the guides' commands set one", () => {
    const repository = values.find(({ name }) => name === "controller.image.repository");
    expect(repository?.default).toBe("");
    expect(everything).toContain('fail "controller.image.repository is empty:');
    const guides = ["install", "migrate"].map((name) => read(`docs/guide/${name}.md`)).join("\n");
    const lines = guides.replaceAll("\\\n", " ").split("\n");
    const commands = lines.filter((line) => /^helm .*charts\/karpenter /.test(line));
    expect(commands.length).toBeGreaterThan(4);
    expect(commands.filter((one) => !one.includes("controller.image.repository="))).toEqual([]);
  });

  it("adopts every kind that it installs, as the guide's command says", () => {
    const [, pattern = "none"] = /kubectl get crds -o name \| grep -E '([^']+)'/.exec(
      read("docs/guide/install.md"),
    ) as RegExpExecArray;
    const names = customResourceDefinitions().map(({ metadata }) => metadata.name);
    expect(names.filter((name) => !new RegExp(pattern).test(name))).toEqual([]);
  });

  it("sets only variables that the program reads", () => {
    const read = Object.values<OptionDefinition>(OPTIONS).map(({ env }) => env);
    const set = [...variablesOf(everything)];
    expect(set.length).toBeGreaterThan(30);
    expect(set.filter((name) => !read.includes(name) && !OTHER_VARIABLES.includes(name))).toEqual(
      [],
    );
  });

  it("has the program's defaults", () => {
    const settings = new Map(values.map(({ name, default: fallback }) => [name, String(fallback)]));
    const same: Readonly<Record<string, keyof typeof OPTIONS>> = {
      "settings.batchMaxDuration": "batchMaxDuration",
      "settings.batchIdleDuration": "batchIdleDuration",
      "settings.preferencePolicy": "preferencePolicy",
      "settings.minValuesPolicy": "minValuesPolicy",
      "settings.vmMemoryOverheadPercent": "vmMemoryOverheadPercent",
      "settings.reservedENIs": "reservedEnis",
      "settings.amiRefreshInterval": "amiRefreshInterval",
      "settings.subnetRefreshInterval": "subnetRefreshInterval",
      "settings.securityGroupRefreshInterval": "securityGroupRefreshInterval",
      "controller.metrics.port": "metricsPort",
      "controller.healthProbe.port": "healthProbePort",
      "webhook.port": "webhookPort",
      "settings.planner.policy": "plannerPolicy",
      "settings.planner.effort": "plannerEffort",
      "settings.planner.minSaving": "plannerMinSaving",
      "settings.planner.nodeCost": "plannerNodeCost",
      "settings.planner.minPods": "plannerMinPods",
      "settings.pauseDisruption": "pauseDisruption",
      "settings.schedulerConfig": "schedulerConfig",
      "settings.expirationRespectsBudgets": "expirationRespectsBudgets",
      "settings.consolidation.repack": "consolidationRepack",
      "settings.consolidation.split": "consolidationSplit",
      "settings.preset": "preset",
      "settings.observeOnly": "observeOnly",
      "settings.consolidation.minSavings": "consolidationMinSavings",
      "settings.consolidation.maxPayback": "consolidationMaxPayback",
      "settings.initializationTimeout": "initializationTimeout",
      "settings.surgeTimeout": "surgeTimeout",
      "settings.surgeNamespaces": "surgeNamespaces",
      "settings.expirationSpread": "expirationSpread",
      "settings.consolidation.replacementRest": "consolidationReplacementRest",
      "settings.consolidation.maxPodMoves": "consolidationMaxPodMoves",
      "settings.actOnRebalanceRecommendations": "actOnRebalance",
    };
    for (const [name, option] of Object.entries(same))
      expect({ name, default: settings.get(name) }).toEqual({
        name,
        default: OPTIONS[option].default,
      });
    // The third item of each list in the template is the default.
    const listed = [...everything.matchAll(/\(list "([A-Z_]+)" .* "([^"]*)"\)$/gm)];
    expect(listed.length).toBeGreaterThan(20);
    for (const [, env, fallback] of listed) {
      const option = Object.values<OptionDefinition>(OPTIONS).find((one) => one.env === env);
      expect({ env, default: fallback }).toEqual({ env, default: option?.default });
    }
    const gates = values
      .filter(({ name }) => name.startsWith("settings.featureGates."))
      .map(({ name, default: on }) => {
        const key = name.slice("settings.featureGates.".length);
        return `${key[0]?.toUpperCase()}${key.slice(1)}=${String(on)}`;
      });
    expect(gates.sort()).toEqual(OPTIONS.featureGates.default.split(",").sort());
  });

  it("warns once of an older value, and names its successor", () => {
    const names = OLDER_VALUES.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.filter((name) => values.some((value) => value.name === name))).toEqual([]);
    const targets = OLDER_VALUES.filter(({ now }) => now === undefined).flatMap(
      ({ to }) => to ?? [],
    );
    expect(targets.filter((to) => !values.some(({ name }) => name === to))).toEqual([]);
  });

  it("accepts the values of seed S4 (s4-03)", () => {
    const given = parse(read("test/fixtures/seeds/s4-03-helm-values.yaml"));
    const schema = JSON.parse(read("deploy/charts/karpenter/values.schema.json"));
    const unknown: string[] = [];
    const look = (
      value: unknown,
      at: { properties?: Record<string, never> },
      path: string,
    ): void => {
      if (at.properties === undefined || typeof value !== "object" || value === null) return;
      for (const [key, inner] of Object.entries(value)) {
        const next = at.properties[key];
        if (next === undefined) unknown.push(`${path}${key}`);
        else look(inner, next, `${path}${key}.`);
      }
    };
    look(given, schema, "");
    expect(unknown).toEqual([]);
  });
});

describe("the container image", () => {
  const recipe = read("deploy/image/Containerfile");

  it("copies only files that exist and that its ignore file admits", () => {
    const copied = [...recipe.matchAll(/^COPY (?!--)(.*)$/gm)].flatMap(([, line = ""]) =>
      line.split(" ").slice(0, -1),
    );
    const allowed = read("deploy/image/Containerfile.dockerignore").split("\n");
    for (const path of copied) {
      expect(existsSync(join(ROOT, path)), path).toBe(true);
      expect(allowed).toContain(`!${path}`);
    }
    for (const path of [...BUNDLE_DATA, "LICENSE"]) expect(copied).toContain(path);
  });

  it("starts as the image that the guide builds from a release's bundle", () => {
    const entry = /^ENTRYPOINT .*$/m.exec(recipe)?.[0] ?? "none";
    expect(read("docs/guide/install.md")).toContain(`\n${entry}\n`);
  });

  it("runs as the user of the chart, on Node 26, without node_modules", () => {
    const deployment = templates.find(({ file }) => file === "deployment.yaml")?.text ?? "";
    const [, user, group] = /^USER (\d+):(\d+)$/m.exec(recipe) ?? [];
    expect(deployment).toContain(`runAsUser: ${user}`);
    expect(deployment).toContain(`runAsGroup: ${group}`);
    const last = recipe.slice(recipe.lastIndexOf("FROM "));
    expect(recipe).toMatch(/RUN_IMAGE=\S*nodejs26\S*:nonroot/);
    expect(last).not.toContain("node_modules");
    expect(last).toContain("COPY --from=build --chown=0:0 /bundle");
  });

  it("has the Node.js version and flags with which the benches run our controller", () => {
    expect(recipe).toContain(`library/node:${IMAGE_NODE_VERSION.split(".")[0]}-`);
    expect(imageFlags().join(" ")).toMatch(/^--\S+=\d+( --\S+=\d+)*$/);
  });

  it("has a code cache made by its own Node.js with its own flags", () => {
    expect(recipe).toContain("COPY --from=run /nodejs/bin/node /usr/local/bin/node-of-run");
    expect(recipe).toContain("--code-cache /usr/local/bin/node-of-run");
    // The Node flags are read from this file.
    expect(recipe).toContain("COPY deploy/image/Containerfile deploy/image/");
    const entry = /^ENTRYPOINT \["(\S+)",/m.exec(recipe)?.[1];
    expect(entry).toBe("/nodejs/bin/node");
  });
});
