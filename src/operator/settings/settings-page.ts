/** What is said of settings, on the reference page and in `--help`, from the table: what is written by hand goes stale. */
import { OPTIONS, type OptionDefinition } from "./options.ts";

const SCOPES = [
  ["core", "Core"],
  ["aws", "AWS provider"],
  ["ours", "Our own"],
] as const;

/** Markdown of `docs/reference/settings.md`. */
export function settingsPage(): string {
  const parts = [
    "# Settings",
    "",
    "Generated from `src/operator/settings/options.ts` by `npm run generate`. A flag beats its environment variable, which beats",
    "the default. Booleans take `true` or `false`, durations are Go's (`10s`, `1m30s`). Bad values are all named at once,",
    "and start-up is refused. A setting marked below as not acted on is logged once when it is given.",
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

/** What a setting means, what may be given, and what is not built of it; `code` and `stress` mark words up. */
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
