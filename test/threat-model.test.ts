/** The threat model's list of what a stolen token can do equals the table of rights. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { consoleRights, rightsOf, webhookRights } from "../src/operator/rights.ts";

const READ: ReadonlySet<string> = new Set(["get", "list", "watch"]);
const GATES = ["PodDeletionCostManagement"] as const;
const PAGE = readFileSync(new URL("../docs/explanation/threat-model.md", import.meta.url), "utf8");

/** `verb resource.group` of every right to write, of both providers, with all optional features on. */
function granted(): readonly string[] {
  const surges = { isOn: true, namespaces: ["*"] };
  const rights = [
    ...rightsOf("aws", surges, GATES),
    ...rightsOf("kwok", surges, GATES),
    ...webhookRights(),
    ...consoleRights(),
  ];
  const all = rights.flatMap(({ group, resources, verbs }) =>
    verbs
      .filter((verb) => !READ.has(verb))
      .flatMap((verb) =>
        resources.map((one) => `${verb} ${one}${group === "" ? "" : `.${group}`}`),
      ),
  );
  return [...new Set(all)].sort();
}

it("a stolen token has exactly the rights that the threat model lists", () => {
  const [, section = ""] = PAGE.split("## What a stolen controller token can do");
  const rows = [...section.matchAll(/^\| ((?:`[^`]+` ?)+)\| ([\w, ]+) \| .+ \|$/gm)];
  const told = rows.flatMap(([, resources = "", verbs = ""]) =>
    [...resources.matchAll(/`([^`]+)`/g)].flatMap(([, one]) =>
      verbs.split(", ").map((verb) => `${verb} ${one}`),
    ),
  );
  expect(told.length).toBeGreaterThan(30);
  expect(told.sort()).toEqual(granted());
});
