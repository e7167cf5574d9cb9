/** Escapes text in markup. Names, reasons and notes may contain anything, and none of it may become markup. */
import { printable } from "../../base/printable.ts";

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Escapes text for elements and quoted attributes of HTML and SVG. Control characters become visible escapes. */
export function xmlText(text: string): string {
  return printable(text).replace(/[&<>"']/g, (char) => ENTITIES[char] as string);
}

/** Escapes text for Markdown on GitHub and GitLab: no character makes a link, a table cell, HTML or a mention. */
export function markdownText(text: string): string {
  return printable(text)
    .replace(/[&<>]/g, (char) => ENTITIES[char] as string)
    .replace(/[\\`*_{}[\]()#+!|~]/g, (char) => `\\${char}`)
    .replace(/@/g, "@\u2060");
}
