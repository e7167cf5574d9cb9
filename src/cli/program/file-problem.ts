/** Why a file cannot be read or written, in words instead of the operating system's codes. */

const WORDS: Readonly<Record<string, string>> = {
  ENOENT: "no such file",
  ENOTDIR: "no such file: a part of its path is no folder",
  EACCES: "no permission",
  EPERM: "no permission",
  EISDIR: "it is a folder, not a file",
  EMFILE: "too many files are open",
  ELOOP: "its links lead in a circle",
};

/** Why a file could not be read or written, in words. */
export function fileProblem(error: unknown): string {
  const { code = "", message } = error as NodeJS.ErrnoException;
  return WORDS[code] ?? `cannot be read: ${message}`;
}
