/** docs/reference/presets.md: its prose, and the table of operator/settings/presets.ts. */
import type { OptionDefinition } from "../src/operator/settings/option-definition.ts";
import { OPTIONS } from "../src/operator/settings/options.ts";
import { PRESET_ROWS } from "../src/operator/settings/presets.ts";

/** The Markdown of docs/reference/presets.md. */
export function presetsPage(): string {
  const rows = PRESET_ROWS.map((row) => {
    const { flag, default: balanced }: OptionDefinition = OPTIONS[row.setting];
    const values = [row.upstreamCompatible, balanced, row.frugal ?? balanced];
    return `| \`--${flag}\` | ${row.does} | ${row.saves} | ${row.risk} | ${values.map((one) => `\`${one}\``).join(" | ")} |`;
  });
  return [
    "# Presets",
    "",
    "Generated from `src/operator/settings/presets.ts` by `npm run generate`.",
    "",
    "karpenter-ts does things that Karpenter in Go does not. `--preset` (chart: `settings.preset`) sets all of them at once:",
    "",
    "- `upstream-compatible`: all of them off. Choose it while you move here ([migrate](../guide/migrate.md)).",
    "- `balanced`: the defaults.",
    "- `frugal`: saves more money and disrupts more.",
    "",
    "A setting that you give by flag, variable or ConfigMap wins over the preset. The chart leaves a value that equals the",
    "default to the program, and so to the preset. To give such a value against a preset, use `controller.env`.",
    "",
    "| setting | what it does | what it saves | risk | upstream-compatible | balanced | frugal |",
    "|---|---|---|---|---|---|---|",
    ...rows,
    "",
    "## What no preset sets",
    "",
    "- Feature gates: their defaults are upstream's.",
    "- `--disruption-budgets`, `--surge-namespaces` and `--pause-disruption`: they do nothing until you set them.",
    "- The proofs before a machine ends ([safety](../explanation/safety.md)): they are always on.",
    "- Sticky placement ([design 003](../designs/003-sticky-placement.md)): a pending pod keeps the node that was planned for it.",
    "",
  ].join("\n");
}
