/** The texts about settings on the reference page and in `--help`, generated from the table of settings. */
import type { OptionDefinition } from "./option-definition.ts";
import { OPTIONS } from "./options.ts";

const SCOPES = [
  ["core", "Core"],
  ["aws", "AWS provider"],
  ["ours", "karpenter-ts only"],
] as const;

/** The page `docs/reference/settings.md` as Markdown. */
export function settingsPage(): string {
  const parts = [
    "# Settings",
    "",
    "Generated from `src/operator/settings/options.ts` by `npm run generate`. A flag wins over its environment variable, which",
    "wins over the preset, which wins over the default. Booleans are `true` or `false`. Durations are written as in Go (`10s`, `1m30s`). With a bad value the",
    "controller does not start; it names all bad values. A setting that is not acted on is logged once when you set it.",
  ];
  for (const [scope, title] of SCOPES) {
    const rows = Object.values<OptionDefinition>(OPTIONS).filter(
      (option) => option.scope === scope,
    );
    parts.push(
      "",
      `## ${title}`,
      "",
      "| flag | variable | default | meaning |",
      "|---|---|---|---|",
      ...rows.map(rowOf),
    );
  }
  return `${parts.join("\n")}\n`;
}

function rowOf(option: OptionDefinition): string {
  const { flag, env, default: fallback } = option;
  const meaning = meaningOf(
    option,
    (word) => `\`${word}\``,
    (text) => `*${text}*`,
  );
  const cells = [`\`--${flag}\``, `\`${env}\``, fallback === "" ? "" : `\`${fallback}\``, meaning];
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

/** What a setting means, its valid values, and what has no effect. `code` and `stress` add markup to words. */
export function meaningOf(
  { help, values, notActedOn }: OptionDefinition,
  code = (word: string) => word,
  stress = (text: string) => text,
): string {
  const legal =
    values === undefined ? "" : ` One of ${values.map((one) => code(one || '""')).join(", ")}.`;
  const gap = notActedOn === undefined ? "" : ` ${stress(`Not acted on: ${notActedOn}.`)}`;
  return `${help}${legal}${gap}`;
}
