/** Makes the files of a release from an exported commit. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { imageEntry } from "../image-flags.ts";
import { chartEntries } from "./chart-package.ts";
import { type Architecture, writeImage } from "./image.ts";
import { type Artefact, steadyBill } from "./statements.ts";
import { entriesOf, gzipped, tarOf } from "./tarball.ts";

export interface Built {
  /** Folder of the exported commit, with the new version in its files. */
  readonly source: string;
  readonly version: string;
  readonly commit: string;
  readonly atMs: number;
  /** The program helm. If it is missing, the manifest for kwok is not rendered. */
  readonly helm: string;
  readonly image: {
    /** The base of the image. Absent: no image is made. */
    readonly base?: string | Readonly<Record<Architecture, string>>;
    readonly repository?: string;
  };
  readonly say: (line: string) => void;
}

/** Given to helm as the cluster's version, which the chart checks. helm's own default is an old version. */
const KUBERNETES = "1.34.0";
const SHELLS = ["bash", "zsh", "fish"] as const;
const CHARTS = ["karpenter", "karpenter-crd"] as const;

/** The files, sorted by name. Prints a line for each file that cannot be made here. */
export async function artefactsOf(built: Built): Promise<readonly Artefact[]> {
  const { source, version, commit, atMs, say } = built;
  const run = (file: string, ...args: readonly string[]): string =>
    execFileSync(file, args, {
      cwd: source,
      encoding: "utf8",
      maxBuffer: 1 << 28,
      env: { ...process.env, COMMIT: commit },
      stdio: ["ignore", "pipe", "inherit"],
    });
  say("building the programs");
  run("npm", "run", "--silent", "build");
  say("bundling them");
  const bundle = join(source, "dist/bundle");
  run("npm", "run", "--silent", "bundle");
  const image = await imageOf(built, bundle);
  const archive = async (
    name: string,
    entries: Parameters<typeof tarOf>[0],
  ): Promise<Artefact> => ({
    name,
    content: gzipped(await tarOf(entries, atMs)),
  });
  const chart = {
    version,
    ...(built.image.repository === undefined ? {} : { imageRepository: built.image.repository }),
    ...(image === undefined ? {} : { imageDigest: image.digest }),
  };
  say("packing the archives, and listing what is in them");
  const made = [
    packed(built, run),
    await archive(`karpenter-bundle-${version}.tar.gz`, entriesOf(bundle)),
    ...(await Promise.all(
      CHARTS.map((name) =>
        archive(
          `${name}-${version}.tgz`,
          chartEntries(join(source, "deploy/charts", name), name, chart),
        ),
      ),
    )),
    { name: `karpenter-crds-${version}.yaml`, content: crdsOf(source) },
    ...kwokManifest(built, image?.digest),
    ...SHELLS.map((shell) => ({
      name: `karpenter-completion.${shell}`,
      content: Buffer.from(run("node", "bin/karpenter.js", "completion", shell)),
    })),
    ...bills(built, run),
    ...(image === undefined ? [] : [image.artefact]),
  ];
  return made.sort((a, b) => (a.name < b.name ? -1 : 1));
}

type Run = (file: string, ...args: readonly string[]) => string;

/** The npm package. Its archive has no file times. */
function packed({ source }: Built, run: Run): Artefact {
  const folder = join(source, "dist/npm");
  mkdirSync(folder, { recursive: true });
  run("npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", folder);
  const [name] = readdirSync(folder);
  if (name === undefined) throw new Error("npm pack made nothing");
  return { name, content: readFileSync(join(folder, name)) };
}

function crdsOf(source: string): Buffer {
  const folder = join(source, "deploy/crds");
  const files = readdirSync(folder).sort();
  return Buffer.from(files.map((file) => readFileSync(join(folder, file), "utf8")).join("---\n"));
}

/** The manifest for `kubectl apply` without helm: the controller with the kwok provider. */
function kwokManifest(
  { source, version, helm, image: { repository }, say }: Built,
  digest = "",
): readonly Artefact[] {
  if (repository === undefined) {
    say("no manifest for kwok: it names the image; give --image-repository");
    return [];
  }
  const args = ["template", "karpenter", join(source, "deploy/charts/karpenter")];
  const image = [`repository=${repository}`, `digest=${digest}`];
  const sets = ["provider=kwok", ...image.map((one) => `controller.image.${one}`)];
  try {
    const text = execFileSync(
      helm,
      [
        ...args,
        ...["--namespace", "karpenter", "--include-crds", "--kube-version", KUBERNETES],
        ...sets.flatMap((one) => ["--set", one]),
      ],
      { encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"] },
    );
    const namespace = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: karpenter\n";
    return [{ name: `karpenter-kwok-${version}.yaml`, content: Buffer.from(namespace + text) }];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    say("no manifest for kwok: helm is missing; give --helm PATH");
    return [];
  }
}

function bills(built: Built, run: Run): readonly Artefact[] {
  const { version } = built;
  return (["cyclonedx", "spdx"] as const).map((format) => ({
    name: `karpenter-${version}.${format === "cyclonedx" ? "cdx" : "spdx"}.json`,
    content: Buffer.from(
      steadyBill(
        run("npm", "sbom", "--package-lock-only", "--omit=dev", "--sbom-format", format),
        built,
      ),
    ),
  }));
}

/** A sentence for each root file system without the program that the image starts. OCI layouts are not checked. */
export function missingPrograms(
  base: string | Readonly<Record<Architecture, string>>,
  [program = ""]: readonly string[],
): readonly string[] {
  if (typeof base === "string") return [];
  return Object.entries(base)
    .filter(([, root]) => !existsSync(join(root, program)))
    .map(([name, root]) => `the image for ${name} will not start: ${root} has no ${program}`);
}

async function imageOf(
  { image: { base }, source, version, commit, atMs, say }: Built,
  bundle: string,
): Promise<{ readonly digest: string; readonly artefact: Artefact } | undefined> {
  if (base === undefined) {
    say("no image: give --base OCI-LAYOUT, or --root-amd64 DIR and --root-arm64 DIR");
    return undefined;
  }
  const layout = mkdtempSync(join(tmpdir(), "image-"));
  try {
    const entrypoint = imageEntry(readFileSync(join(source, "deploy/image/Containerfile"), "utf8"));
    for (const line of missingPrograms(base, entrypoint)) say(line);
    const program = entriesOf(bundle);
    const digest = await writeImage(layout, { program, base, version, commit, atMs, entrypoint });
    const content = await tarOf(entriesOf(layout), atMs);
    return { digest, artefact: { name: `karpenter-image-${version}.oci.tar`, content } };
  } finally {
    rmSync(layout, { recursive: true });
  }
}
