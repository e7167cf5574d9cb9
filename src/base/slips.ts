/** Finds a similar name, for "did you mean" in error messages. */

/** Number of missing, additional, wrong or swapped letters between two words (Damerau-Levenshtein distance). */
function slips(a: string, b: string): number {
  let [before, last]: [number[], number[]] = [
    [],
    Array.from({ length: b.length + 1 }, (_, j) => j),
  ];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      let least = Math.min(
        (last[j] as number) + 1,
        (row[j - 1] as number) + 1,
        (last[j - 1] as number) + (isSame ? 0 : 1),
      );
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, (before[j - 2] as number) + 1);
      row.push(least);
    }
    [before, last] = [last, row];
  }
  return last[b.length] as number;
}

/**
 * The known name that was probably meant. Upper and lower case are the same. At most one letter in five may be wrong;
 * in short words one in three, up to two letters. Undefined: no name is similar enough. Of equally similar names the
 * alphabetically first one is returned.
 */
export function meantName(written: string, known: Iterable<string>): string | undefined {
  const word = written.toLowerCase();
  const few = Math.min(2, Math.floor(word.length / LETTERS_OF_FEW));
  const most = Math.max(few, Math.floor(word.length / LETTERS_PER_SLIP));
  let meant: string | undefined;
  let least = most + 1;
  for (const name of [...known].sort()) {
    if (Math.abs(name.length - word.length) >= least) continue;
    const away = slips(word, name.toLowerCase());
    if (away < least) [meant, least] = [name, away];
  }
  return meant;
}

/** Letters for each wrong letter in a short word. A word of two letters may have none, a word of five only one. */
const LETTERS_OF_FEW = 3;
const LETTERS_PER_SLIP = 5;
