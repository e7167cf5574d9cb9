/**
 * The versions of the documentation site: one folder for each, a list of them, and a first page that redirects to
 * the newest.
 */

const VERSION = /^\d+\.\d+\.\d+$/;

/** Names of folders that are versions, newest first. */
export function versionsIn(names: readonly string[]): readonly string[] {
  const parts = (version: string) => version.split(".").map(Number);
  return names
    .filter((name) => VERSION.test(name))
    .sort((a, b) => {
      const [[a1 = 0, a2 = 0, a3 = 0], [b1 = 0, b2 = 0, b3 = 0]] = [parts(a), parts(b)];
      return b1 - a1 || b2 - a2 || b3 - a3;
    });
}

/** Versions of tags such as `v0.1.0`, newest first. */
export function taggedVersions(tags: readonly string[]): readonly string[] {
  return versionsIn(tags.filter((tag) => tag.startsWith("v")).map((tag) => tag.slice(1)));
}

/**
 * The page above all versions, which redirects to the newest. The address is relative, so that it works below any
 * path.
 */
export function firstPage(newest: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url=./${newest}/">
<title>Karpenter in TypeScript</title>
<p><a href="./${newest}/">Documentation of version ${newest}</a></p>
</html>
`;
}
