/** The syntax of label keys and values, and why a text is invalid. */

const NAME = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** Why a text is not a label key (`domain/name`). Undefined: it is one. */
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

/** Why a text is not a label value. Undefined: it is one. */
export function labelValueProblem(value: string): string | undefined {
  if (value === "" || (value.length <= 63 && NAME.test(value))) return undefined;
  return "a label value is empty or at most 63 letters, digits, '-', '_' or '.', with a letter or digit at both ends";
}
