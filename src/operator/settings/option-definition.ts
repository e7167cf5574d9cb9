/** What a setting of the controller is, and functions that define one in the table (options.ts). */

/** The definition of one setting. */
export interface OptionDefinition {
  readonly flag: string;
  readonly env: string;
  /** The type of the value. `bytes`: a number of bytes, or a quantity such as 512Mi. */
  readonly type: "string" | "boolean" | "integer" | "number" | "duration" | "bytes";
  /** The text that is parsed if the setting is not given. */
  readonly default: string;
  readonly help: string;
  /** Where the setting comes from: Karpenter's core, its AWS provider, or karpenter-ts only. */
  readonly scope: "core" | "aws" | "ours";
  readonly values?: readonly string[];
  /**
   * The smallest valid value: a number, or milliseconds for durations. For bytes, zero and less are valid too and mean
   * no limit.
   */
  readonly min?: number;
  /** Upstream's message for a value below `min`. Absent: the usual message. */
  readonly belowMin?: string;
  /** The largest valid value of a number. */
  readonly max?: number;
  /** The value names an object. An empty text is no name, so it counts as not given. */
  readonly isName?: boolean;
  /** Why the setting has no effect, which is logged if the setting is changed. Absent: it has an effect. */
  readonly notActedOn?: string;
}

type Extra = Partial<
  Pick<OptionDefinition, "values" | "min" | "belowMin" | "max" | "isName" | "notActedOn">
>;

/** Defines a setting of Karpenter's core. Its environment variable is named after the flag. */
export function core<T extends OptionDefinition["type"]>(
  flag: string,
  type: T,
  fallback: string,
  help: string,
  extra: Extra = {},
) {
  return {
    flag,
    env: toEnv(flag),
    type,
    default: fallback,
    help,
    scope: "core" as const,
    ...extra,
  };
}

/** Defines a setting of Karpenter's AWS provider. */
export function aws<T extends OptionDefinition["type"]>(
  flag: string,
  type: T,
  fallback: string,
  help: string,
  extra: Extra = {},
) {
  return { flag, env: toEnv(flag), type, default: fallback, help, scope: "aws" as const, ...extra };
}

/** Defines a setting that only karpenter-ts has. */
export function ours<T extends OptionDefinition["type"]>(
  flag: string,
  env: string,
  type: T,
  fallback: string,
  help: string,
  extra: Extra = {},
) {
  return { flag, env, type, default: fallback, help, scope: "ours" as const, ...extra };
}

function toEnv(flag: string): string {
  return flag.toUpperCase().replaceAll("-", "_");
}
