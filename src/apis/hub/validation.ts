/** Problems of fields, and the text in which v1alpha5's webhooks report them. */
import { counted } from "../../base/counted.ts";
import { asText } from "../../base/json.ts";

/** The most problems in one text. An object of some megabytes may have 100,000. */
const MOST_PROBLEMS = 100;
/** The most characters of one problem's message, of its paths and of its details. They may quote long values. */
const MOST_CHARACTERS = 2_000;

/**
 * A problem of one or more fields. Printed as `message: path, path`, with details on a second line. upstream:
 * knative.dev/pkg/apis FieldError
 */
export interface FieldProblem {
  readonly message: string;
  readonly paths: readonly string[];
  readonly details: string | undefined;
}

/** A problem of one field. `path`: names with dots, such as `spec.limits`. */
export function problem(message: string, path: string, details?: string): FieldProblem {
  return { message, paths: [path], details };
}

/** The problem that required fields are not set. upstream: apis.ErrMissingField of Knative. */
export function missing(...paths: readonly string[]): FieldProblem {
  return { message: "missing field(s)", paths, details: undefined };
}

/** The problem that a field has a value that is not allowed. upstream: apis.ErrInvalidValue of Knative. */
export function invalidValue(value: unknown, path: string, details?: string): FieldProblem {
  return problem(`invalid value: ${asText(value)}`, path, details);
}

/** The problem that a map has a key that is not allowed. upstream: apis.ErrInvalidKeyName of Knative. */
export function invalidKey(key: string, path: string, details?: string): FieldProblem {
  return problem(`invalid key name "${key}"`, path, details);
}

/**
 * The problem that not exactly one of these fields is set. upstream: apis.ErrMultipleOneOf and ErrMissingOneOf of
 * Knative.
 */
export function exactlyOne(got: "both" | "neither", ...paths: readonly string[]): FieldProblem {
  return { message: `expected exactly one, got ${got}`, paths, details: undefined };
}

/** The problem that a number is not between `low` and `high`. upstream: apis.ErrOutOfBoundsValue of Knative. */
export function outOfBounds(value: number, low: number, high: number, path: string): FieldProblem {
  return problem(`expected ${low} <= ${value} <= ${high}`, path);
}

/**
 * The problems as text, one line for each, in the given order. Details are on the line below. Long values are cut, and
 * after 100 problems the text says how many more there are.
 */
export function problemsText(problems: readonly FieldProblem[]): string {
  const lines = problems.slice(0, MOST_PROBLEMS).map(({ message, paths, details }) => {
    const line = `${cut(message)}: ${cut(paths.toSorted().join(", "))}`;
    return details === undefined ? line : `${line}\n${cut(details)}`;
  });
  const more = problems.length - lines.length;
  return (more > 0 ? [...lines, `and ${counted(more, "more problem")}`] : lines).join("\n");
}

/** The text, cut if it is too long for a message. */
export function cut(text: string): string {
  return text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}…` : text;
}
