/** Problems of fields and their text, in the form that alpha's webhooks answer with. */
import { asText } from "../../base/json.ts";

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
  return problem(`invalid value: ${asText(value)}`, path, details);
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
