/** Width and colours of the terminal to which text goes. A pipe or a file has neither. */
import { Option } from "commander";
import pc from "picocolors";
import { joined, type Printed, paintedLine, printedLines } from "../../base/printable.ts";
import { terminal } from "./output.ts";

/** When text is coloured; `auto`: on a terminal only. */
export type ColourWhen = "auto" | "always" | "never";

/** A function that colours text. Without colours it returns the text unchanged. */
export type Paint = ReturnType<typeof pc.createColors>;

/** How text for people is laid out. */
export interface Screen {
  /** Characters a line of a table may have. */
  readonly columns: number;
  readonly paint: Paint;
  /** Longer lines are broken at a space. Absent: no line is broken, as in a file. */
  readonly wrapAt?: number;
  /** Whether tables show all columns, whatever their width, and lines stay whole. Default: false. */
  readonly wide?: boolean;
}

/** A line of text, painted if it has a colour. */
export type Line = string | { readonly text: string; readonly paint: (text: string) => string };

/** A line with a colour, which is ignored if colours are off. */
export function painted(text: string, paint: (text: string) => string): Line {
  return { text, paint };
}

/** The lines, safe for a terminal and coloured. With `wrapAt` long lines are continued on the next line. */
export function printedScreen(
  lines: readonly Line[],
  { wrapAt }: Pick<Screen, "wrapAt"> = {},
): Printed {
  return joined(
    lines.flatMap((line) => {
      const text = typeof line === "string" ? line : line.text;
      const parts = wrapAt === undefined ? [text] : broken(text, wrapAt);
      return parts.map((part) =>
        typeof line === "string" ? printedLines([part]) : paintedLine(part, line.paint),
      );
    }),
  );
}

/** Where {@link printedScreen} breaks lines: at the terminal's width, or in a file at the width of tables. */
export function wrapped({ wide, wrapAt, columns }: Screen): Pick<Screen, "wrapAt"> {
  return wide === true ? {} : { wrapAt: wrapAt ?? columns };
}

/** Breaks before words that do not fit. Continued lines are indented by two more. A longer word stays whole. */
function broken(text: string, columns: number): readonly string[] {
  const indent = /^ */.exec(text)?.[0] ?? "";
  const lines: string[] = [];
  let line = indent;
  for (const word of text.slice(indent.length).split(" ")) {
    const isFirst = line.trim() === "";
    if (!isFirst && line.length + 1 + word.length > columns) {
      lines.push(line);
      line = `${indent}  ${word}`;
    } else line = isFirst ? `${line}${word}` : `${line} ${word}`;
  }
  return [...lines, line];
}

/** Width of tables without a terminal, and the maximum on a wide terminal. */
const MOST_COLUMNS = 100;
/** Below this width the terminal breaks the lines itself. */
const LEAST_COLUMNS = 60;

/** Text without colours, as for a file. */
export const PLAIN_SCREEN: Screen = { columns: MOST_COLUMNS, paint: pc.createColors(false) };

/** The part of a stream that a screen is made from. */
type Output = Pick<NodeJS.WriteStream, "isTTY"> & { readonly columns?: number };

/**
 * The screen for a stream. `env`: NO_COLOR and TERM are obeyed (https://no-color.org), but `--color` has priority.
 * Exported for tests.
 */
export function screenOf(
  output: Output,
  env: Readonly<Record<string, string | undefined>>,
  when: ColourWhen = "auto",
): Screen {
  return {
    columns: Math.min(MOST_COLUMNS, Math.max(LEAST_COLUMNS, columnsOf(output) ?? MOST_COLUMNS)),
    ...(columnsOf(output) === undefined ? {} : { wrapAt: columnsOf(output) as number }),
    paint: pc.createColors(hasColours(output, env, when)),
  };
}

/** Whether text to this stream is coloured. Exported for tests. */
export function hasColours(
  output: Output,
  env: Readonly<Record<string, string | undefined>>,
  when: ColourWhen = "auto",
): boolean {
  if (when !== "auto") return when === "always";
  return output.isTTY === true && !env["NO_COLOR"] && env["TERM"] !== "dumb";
}

/** Width of the terminal; undefined if the stream is not a terminal, or reports no width. */
function columnsOf({ isTTY, columns }: Output): number | undefined {
  return isTTY === true && columns !== undefined && columns > 0 ? columns : undefined;
}

/** How text is laid out on standard output. */
export function stdoutScreen(when?: ColourWhen): Screen {
  return screenOf(terminal().output, process.env, when);
}

/** Width of the terminal on standard output; undefined if it is not a terminal. */
export function stdoutColumns(): number | undefined {
  return columnsOf(terminal().output);
}

/** The option `--color auto|always|never`. */
export function colourOption(): Option {
  return new Option("--color <when>", "whether text is coloured; auto: on a terminal")
    .choices(["auto", "always", "never"])
    .default("auto");
}
