/**
 * How kubectl reads YAML scalars without quotes: as YAML 1.1, but without times and base-60 numbers. `yes` is a
 * boolean, `010` is 8, `1e3` is a number, `22:22` and `2024-01-01` are text. Unknown tags are ignored: `!vault x` is
 * the text `x`. upstream: sigs.k8s.io/yaml, goyaml.v2/resolve.go
 */
import {
  boolYaml11Tag,
  defineMappingTag,
  defineScalarTag,
  defineSequenceTag,
  mapTag,
  mergeTag,
  NOT_RESOLVED,
  nullYaml11Tag,
  Schema,
  seqTag,
  strTag,
} from "js-yaml";

import { numberOfInt64 } from "../base/int64.ts";

const SIGNS_AND_DIGITS = ["-", "+", ..."0123456789"];
const NEVER_WRITTEN = () => false;

/**
 * Patterns of integers in each base, without a sign, and the prefix of the base in JavaScript. Each pattern takes at
 * most one step for each character.
 */
const INTEGERS: readonly (readonly [RegExp, number, string])[] = [
  [/^0b[01_]+$/, 2, "0b"],
  [/^0[0-7_]+$/, 8, "0o"],
  [/^0x[0-9a-fA-F_]+$/, 16, "0x"],
  [/^[0-9][0-9_]*$/, 10, ""],
];
const FLOAT = /^[-+]?(?:[0-9][0-9_]*)?(?:\.[0-9_]*(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)$/;

const intTag = defineScalarTag<number>("tag:yaml.org,2002:int", {
  implicit: true,
  implicitFirstChars: SIGNS_AND_DIGITS,
  resolve: (text) => {
    const unsigned = /^[-+]/.test(text) ? text.slice(1) : text;
    const found = INTEGERS.find(([pattern]) => pattern.test(unsigned));
    if (found === undefined) return NOT_RESOLVED;
    const [, base, prefix] = found;
    const digits = unsigned.slice(base === 2 || base === 16 ? 2 : 0).replaceAll("_", "");
    const sign = text[0] === "-" ? -1 : 1;
    const size = Number.parseInt(digits, base);
    if (size === 2 ** 63) return numberOfInt64(BigInt(sign) * BigInt(`${prefix}${digits}`));
    return finite(size * sign);
  },
  identify: NEVER_WRITTEN,
});

const floatTag = defineScalarTag<number>("tag:yaml.org,2002:float", {
  implicit: true,
  implicitFirstChars: [...SIGNS_AND_DIGITS, "."],
  resolve: (text) => {
    if (/^[-+]?\.(?:inf|Inf|INF)$/.test(text))
      return text[0] === "-" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
    if (/^\.(?:nan|NaN|NAN)$/.test(text)) return Number.NaN;
    return FLOAT.test(text) ? finite(Number.parseFloat(text.replaceAll("_", ""))) : NOT_RESOLVED;
  },
  identify: NEVER_WRITTEN,
});

/** Numbers that are NaN or infinite are read as text. */
function finite(value: number): number | typeof NOT_RESOLVED {
  return Number.isFinite(value) ? value : NOT_RESOLVED;
}

/** Matches any tag: the parser compares the beginning of the tag's name with this text. */
const ANY = "";

/** Scalars as kubectl reads them: YAML 1.1, where `yes` is true. */
export const KUBE_SCHEMA = new Schema([
  strTag,
  seqTag,
  mapTag,
  nullYaml11Tag,
  boolYaml11Tag,
  intTag,
  floatTag,
  mergeTag,
  defineScalarTag(ANY, {
    matchByTagPrefix: true,
    resolve: (text) => text,
    identify: NEVER_WRITTEN,
  }),
  defineSequenceTag(ANY, { ...seqTag, matchByTagPrefix: true, identify: NEVER_WRITTEN }),
  defineMappingTag(ANY, { ...mapTag, matchByTagPrefix: true, identify: NEVER_WRITTEN }),
]);
