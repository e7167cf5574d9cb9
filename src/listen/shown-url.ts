/** URLs of strangers in log lines: short, and without characters that a terminal would obey. */

const LONGEST = 200;
const CONTROL = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** At most 200 characters of the URL; control characters become `\u` escapes. */
export function shownUrl(url = ""): string {
  const cut = url.length > LONGEST ? `${url.slice(0, LONGEST)}…` : url;
  return cut.replace(
    CONTROL,
    (char) => `\\u${(char.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`,
  );
}
