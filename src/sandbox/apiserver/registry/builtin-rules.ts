/** Which rules belong to which built-in kind, by `group/Kind`. A kind that is not listed has none. */
import type { KindRules } from "./kind-rules.ts";

export const BUILTIN_RULES: Readonly<Record<string, KindRules>> = {};
