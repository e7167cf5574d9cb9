/** The page and the help contain everything that the table has, and no text of it breaks the page's tables. */
import { describe, expect, it } from "vitest";
import { controllerCommand } from "../../cli/commands/controller.ts";
import type { OptionDefinition } from "./option-definition.ts";
import { OPTIONS } from "./options.ts";
import { settingsPage } from "./settings-page.ts";

describe("the documentation of settings", () => {
  it("has four cells in each row of the page: a bar within a text is no border", () => {
    const rows = settingsPage()
      .split("\n")
      .filter((line) => line.startsWith("|"));
    expect(rows.length).toBeGreaterThan(Object.keys(OPTIONS).length);
    for (const row of rows) expect(row.match(/(?<!\\)\|/g), row).toHaveLength(5);
  });

  it("names legal values, and values without effect, in the help too", () => {
    const help = new Map(
      controllerCommand().options.map(({ long, description }) => [long, description]),
    );
    for (const { flag, values, notActedOn } of Object.values<OptionDefinition>(OPTIONS)) {
      for (const value of values ?? []) expect(help.get(`--${flag}`)).toContain(value);
      if (notActedOn !== undefined) expect(help.get(`--${flag}`)).toContain(notActedOn);
    }
    expect(help.get("--planner-policy")).toContain("One of cost, greedy.");
  });
});
