/** One word of a command line that a person copies into a POSIX shell. */

/** The text as one word: in single quotes where a character could mean something to the shell. */
export function shellWord(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
