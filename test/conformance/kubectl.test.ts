/**
 * kubectl prints the same about the sandbox as about a real control plane, line by line of long sessions. Plain
 * `npm test` uses the newest kubectl and skips some lines that only read. `npm run test:kubectl` runs all lines
 * with each kubectl. Known differences are listed in docs/reference/differences.md and must still differ.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findKubectls } from "../e2e/kubectl-client.ts";
import { readTranscripts } from "./kubectl/recording.ts";
import { SCRIPTS, type ScriptName, SKIPPED, transcript, withoutChance } from "./kubectl/run.ts";
import { serveSandbox } from "./kubectl/sandbox.ts";

const installed = await findKubectls();
const every = process.env["EVERY_KUBECTL"] !== undefined;
const names: readonly ScriptName[] = every
  ? ["kubectl", "kubectl-rarer", "kubectl-disruption"]
  : ["kubectl"];
const asked = names.flatMap((name) => {
  const { said } = readTranscripts(name);
  const known = installed.filter(({ version }) => said[version] !== undefined);
  const chosen = every ? known : known.slice(0, 1);
  return chosen.map(({ path, version }) => ({ name, path, version, wanted: said[version] ?? [] }));
});
/** Of the lines that only read, plain `npm test` runs every third line of the script. */
const LOOKS_AT_EACH = 3;
if (asked.length === 0) {
  process.stderr.write(
    "test/conformance: no kubectl 1.27-1.33 on PATH nor in KUBECTL_DIRS, skipping its transcripts\n",
  );
}

/** Lines of the script that are known to differ. */
const known = new Set(
  [
    ...readFileSync(
      new URL("../../docs/reference/differences.md", import.meta.url),
      "utf8",
    ).matchAll(/^\| `kubectl (.*?)` \|/gm),
  ].map(([, line = ""]) => line.replaceAll("\\|", "|")),
);

describe.skipIf(asked.length === 0)(
  "kubectl's output for the sandbox, compared with that for a real cluster",
  () => {
    it.each(asked)("is the same: $version, $name", async ({ name, path, version, wanted }) => {
      const script = SCRIPTS[name];
      const folder = mkdtempSync(join(tmpdir(), "karpenter-kubectl-"));
      const sandbox = await serveSandbox(folder, {
        customKinds: name === "kubectl-disruption",
      });
      const namespace = `demo${version.replace(".", "")}`;
      try {
        const { kubeconfig } = sandbox;
        const texts = await transcript(
          { kubectl: path, kubeconfig, folder, namespace },
          {
            settleMs: 0,
            skips: (at) => !every && at % LOOKS_AT_EACH !== 0,
            isRight: (at, text) => known.has(script[at] ?? "") || text === wanted[at],
          },
          script,
        );
        texts.forEach((text, at) => {
          const line = script[at] ?? "";
          if (text === SKIPPED) return;
          const told = expect.soft(text, `kubectl ${line}`);
          if (known.has(line)) told.not.toBe(wanted[at]);
          else told.toBe(wanted[at]);
        });
      } finally {
        await sandbox.close();
        rmSync(folder, { recursive: true });
      }
    });

    it("differs only in lines of the listed kinds", () => {
      expect([...known].filter((line) => !Object.values(SCRIPTS).flat().includes(line))).toEqual(
        [],
      );
    });
  },
);

it("the comparison of kubectl's output ignores the order of lines only where that is listed", () => {
  const [one, other] = ["a=1\nb={}\n\n", "b={}\n\na=1\n"];
  const list = "annotate pod alone --list";
  expect(withoutChance(one, list)).toBe(withoutChance(other, list));
  expect(withoutChance(one, list)).not.toBe(withoutChance("a=2\nb={}\n\n", list));
  expect(withoutChance(one, "get pods")).not.toBe(withoutChance(other, "get pods"));
});

it("the comparison of kubectl's output ignores ages, in whatever column", () => {
  const event = (age: string): string => `LAST SEEN TYPE\n${age} Warning FailedScheduling\n`;
  expect(withoutChance(event("326d"), "get events")).toBe(
    withoutChance(event("325d"), "get events"),
  );
  const name = "NAME AGE\n4d-old 2d3h\n";
  expect(withoutChance(name, "get pods")).toBe("NAME AGE\n4d-old AGE\n");
});
