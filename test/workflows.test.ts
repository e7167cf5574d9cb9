/**
 * The workflows for GitHub do only what a contributor can run here: each step runs a script of package.json or a
 * named tool, with no more rights than it needs. actionlint checks them too: `npm run test:workflows`.
 */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";

const FOLDER = fileURLToPath(new URL("../.github/workflows/", import.meta.url));
const { scripts } = JSON.parse(
  readFileSync(new URL("../package.json", import.meta.url), "utf8"),
) as { scripts: Readonly<Record<string, string>> };

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}

interface Workflow {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly jobs: Readonly<
    Record<
      string,
      {
        readonly "timeout-minutes"?: number;
        readonly permissions?: unknown;
        readonly strategy?: { readonly matrix: { readonly script?: readonly string[] } };
        readonly steps: readonly Step[];
      }
    >
  >;
}

const workflows = readdirSync(FOLDER)
  .sort()
  .map((file) => ({ file, text: readFileSync(`${FOLDER}${file}`, "utf8") }))
  .map(({ file, text }) => ({ file, text, workflow: parse(text) as Workflow }));
/** Further commands that the workflows may run. */
const OTHERS =
  /^(npm ci --ignore-scripts|skopeo copy --all \S+ oci:dist\/base|sudo apt-get install --yes [\w -]+|rm -f "\$RUNNER_TEMP\/sign-key\.pem")$/;

describe("the workflows of GitHub Actions", () => {
  it("exist for changes, nights and releases", () => {
    expect(workflows.map(({ file }) => file)).toEqual(["ci.yaml", "nightly.yaml", "release.yaml"]);
  });

  it("run a release's image on both platforms before they keep its files", () => {
    const release = workflows.find(({ file }) => file === "release.yaml");
    const steps = Object.values(release?.workflow.jobs ?? {}).flatMap((job) => job.steps);
    const at = (text: string) =>
      steps.findIndex(({ run = "", uses = "" }) => `${run}${uses}`.includes(text));
    const run = steps[at("image:run")]?.run;
    expect(run).toContain("for platform in linux/amd64 linux/arm64;");
    expect(run).not.toContain("--where-possible");
    expect(at("npm run --silent release")).toBeLessThan(at("image:run"));
    expect(at("image:run")).toBeLessThan(at("actions/upload-artifact@"));
  });

  describe.each(workflows)("$file", ({ text, workflow }) => {
    const jobs = Object.values(workflow.jobs);
    const steps = jobs.flatMap((job) => job.steps);

    it("runs scripts that exist", () => {
      const runs = steps.flatMap(({ run }) => (run === undefined ? [] : [run.trim()]));
      expect(runs.length).toBeGreaterThan(2);
      const named = [...text.matchAll(/npm (?:run (?:--silent )?([\w:-]+)|(test)\b)/g)].map(
        ([, run, test]) => run ?? test ?? "",
      );
      const drawn = jobs.flatMap(({ strategy }) => strategy?.matrix.script ?? []);
      expect([...named, ...drawn].filter((name) => !(name in scripts))).toEqual([]);
      const strange = runs.filter((run) => !OTHERS.test(run) && !/\bnpm (run|test)\b/.test(run));
      expect(strange).toEqual([]);
    });

    it("pins others' actions by digest, with the version in a comment", () => {
      const uses = [...text.matchAll(/uses: (.*)$/gm)].map(([, one = ""]) => one);
      expect(uses.length).toBeGreaterThan(1);
      const loose = uses.filter(
        (one) => !/^actions\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(one),
      );
      expect(loose).toEqual([]);
    });

    it("may only read the checkout, and keeps no credentials in it", () => {
      expect(workflow.permissions).toEqual({ contents: "read" });
      expect(jobs.filter((job) => job.permissions !== undefined)).toEqual([]);
      const checkouts = steps.filter(({ uses }) => uses?.startsWith("actions/checkout@"));
      expect(checkouts.length).toBe(jobs.length);
      for (const one of checkouts) expect(one.with).toEqual({ "persist-credentials": false });
    });

    it("has a timeout for each job, and passes no expression to a shell", () => {
      for (const job of jobs) expect(job["timeout-minutes"]).toBeGreaterThan(0);
      expect(steps.filter(({ run }) => run?.includes("${{"))).toEqual([]);
    });
  });
});
