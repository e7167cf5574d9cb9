/** The frame of HTML pages that commands write. A page loads nothing, and runs only its own script. */
import { createHash } from "node:crypto";
import { xmlText } from "./escape.ts";

interface Page {
  readonly title: string;
  readonly style: string;
  readonly script?: string;
  /** The body of the page as lines of markup. */
  readonly body: readonly string[];
}

/** A complete HTML page with a title. */
export function htmlPage({ title, style, script, body }: Page): string {
  const hash = createHash("sha256")
    .update(script ?? "")
    .digest("base64");
  const scripts = script === undefined ? "" : `; script-src 'sha256-${hash}'`;
  return [
    "<!doctype html>",
    '<html lang="en">',
    "<head>",
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'${scripts}">`,
    `<title>${xmlText(title)}</title>`,
    `<style>${style}</style>`,
    "</head>",
    "<body>",
    `<h1>${xmlText(title)}</h1>`,
    ...body,
    ...(script === undefined ? [] : [`<script>${script}</script>`]),
    "</body>",
    "</html>",
    "",
  ].join("\n");
}
