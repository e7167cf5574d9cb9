/**
 * The setting SURGE_NAMESPACES: namespaces whose Deployments may be rolled out to move pods without downtime. A
 * comma-separated list; `*` means all.
 */

const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** What is wrong with the text. Undefined: it is valid. */
export function surgeNamespacesProblem(text: string): string | undefined {
  const wrong = surgeNamespaces(text).find((name) => name !== "*" && !LABEL.test(name));
  return wrong === undefined
    ? undefined
    : `${JSON.stringify(wrong)} is no namespace; give names by comma, or * for all`;
}

/** The namespaces in a valid text. */
export function surgeNamespaces(text: string): readonly string[] {
  const names = text.split(",").map((name) => name.trim());
  return names.filter((name) => name !== "");
}
