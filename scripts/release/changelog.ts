/** Makes a release's changelog from change notes. A note has one sentence or a few, for users. */

/** A file of `.changeset`: a front matter that names the kind of change, then text. */
export interface ChangeNote {
  readonly file: string;
  readonly kind: "major" | "minor" | "patch";
  readonly text: string;
}

const HEADINGS = {
  major: "Changed, act on it",
  minor: "Added and changed",
  patch: "Fixed",
} as const;

/** Reads a change note. Throws an Error that names the file and what it lacks. */
export function parseNote(file: string, text: string): ChangeNote {
  const found = /^---\n"karpenter-ts": (major|minor|patch)\n---\n+([\s\S]+)$/.exec(text);
  if (found === null)
    throw new Error(
      `${file}: wanted a front matter "karpenter-ts": major, minor or patch, and a text`,
    );
  return { file, kind: found[1] as ChangeNote["kind"], text: (found[2] ?? "").trim() };
}

/** The changelog with a new version below "Unreleased". `date`: YYYY-MM-DD. */
export function withRelease(
  changelog: string,
  { version, date, notes }: { version: string; date: string; notes: readonly ChangeNote[] },
): string {
  const parts = (Object.keys(HEADINGS) as ChangeNote["kind"][]).flatMap((kind) => {
    const lines = notes
      .filter((one) => one.kind === kind)
      .map(({ text }) => `- ${text.replace(/\s*\n\s*/g, " ")}`)
      .sort();
    return lines.length === 0 ? [] : [`### ${HEADINGS[kind]}\n\n${lines.join("\n")}`];
  });
  const section = `## [${version}] - ${date}\n\n${parts.join("\n\n")}\n`;
  const [head, ...rest] = changelog.split(/^## \[Unreleased\]\n/m);
  if (rest.length !== 1) throw new Error("CHANGELOG.md: wanted one heading ## [Unreleased]");
  return `${head}## [Unreleased]\n\n${section}\n${(rest[0] ?? "").trimStart()}`;
}

/** Why the version is not allowed; undefined if it is. `released`: the versions in the changelog. */
export function versionProblem(
  version: string,
  released: readonly string[],
  notes: readonly Pick<ChangeNote, "kind">[],
): string | undefined {
  const wanted = parts(version);
  if (wanted === undefined) return `--version ${version}: wanted three numbers, such as 0.2.0`;
  const last = released.map(parts).find((one) => one !== undefined);
  if (last === undefined) return undefined;
  if (released.includes(version))
    return `--version ${version} is released already: give one above ${last.join(".")}`;
  if (compare(wanted, last) < 0)
    return `--version ${version} is lower than the last, ${last.join(".")}`;
  const isSameMajor = wanted[0] === last[0] && (wanted[0] > 0 || wanted[1] === last[1]);
  if (isSameMajor && notes.some(({ kind }) => kind === "major"))
    return `--version ${version}: a change note says "major": raise the ${wanted[0] === 0 ? "second" : "first"} number`;
  if (wanted[1] === last[1] && wanted[0] === last[0] && notes.some(({ kind }) => kind === "minor"))
    return `--version ${version}: a change note says "minor": raise the second number`;
  return undefined;
}

type Numbers = readonly [number, number, number];

function parts(version: string): Numbers | undefined {
  const found = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/.exec(version);
  return found === null ? undefined : [Number(found[1]), Number(found[2]), Number(found[3])];
}

function compare(a: Numbers, b: Numbers): number {
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
}
