/** Problems of fields and their text, in the form that alpha's webhooks answer with. */

/** `message: path, path`, and a second line of details. upstream: knative.dev/pkg/apis FieldError */
export interface FieldProblem {
  readonly message: string;
  readonly paths: readonly string[];
  readonly details: string | undefined;
}

export function problem(message: string, path: string, details?: string): FieldProblem {
  return { message, paths: [path], details };
}

export function missing(...paths: readonly string[]): FieldProblem {
  return { message: "missing field(s)", paths, details: undefined };
}

export function invalidValue(value: unknown, path: string, details?: string): FieldProblem {
  return problem(`invalid value: ${String(value)}`, path, details);
}

export function invalidKey(key: string, path: string, details?: string): FieldProblem {
  return problem(`invalid key name "${key}"`, path, details);
}

export function exactlyOne(got: "both" | "neither", ...paths: readonly string[]): FieldProblem {
  return { message: `expected exactly one, got ${got}`, paths, details: undefined };
}

export function outOfBounds(value: number, low: number, high: number, path: string): FieldProblem {
  return problem(`expected ${low} <= ${value} <= ${high}`, path);
}

/** One line a problem; details on the line below theirs. Order as found. */
export function problemsText(problems: readonly FieldProblem[]): string {
  return problems
    .map(({ message, paths, details }) => {
      const line = `${message}: ${paths.toSorted().join(", ")}`;
      return details === undefined ? line : `${line}\n${details}`;
    })
    .join("\n");
}

const NAME = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** Why a text is no label key (`domain/name`); undefined when it is one. */
export function qualifiedNameProblem(key: string): string | undefined {
  const parts = key.split("/");
  const name = parts.at(-1) as string;
  const domain = parts.length === 2 ? parts[0] : undefined;
  if (parts.length > 2) return "a qualified name has at most one '/'";
  if (name.length === 0 || name.length > 63 || !NAME.test(name))
    return "the name part must be 1 to 63 letters, digits, '-', '_' or '.', with a letter or digit at both ends";
  if (domain !== undefined && (domain.length > 253 || !SUBDOMAIN.test(domain)))
    return "the prefix part must be a DNS subdomain of lower case letters, digits, '-' and '.'";
  return undefined;
}

/** Why a text is no label value; undefined when it is one. */
export function labelValueProblem(value: string): string | undefined {
  if (value === "" || (value.length <= 63 && NAME.test(value))) return undefined;
  return "a label value is empty or at most 63 letters, digits, '-', '_' or '.', with a letter or digit at both ends";
}
