/**
 * A Debian of a platform in a folder, made by debootstrap, and a root file system with its libraries and the
 * image's Node. It stands in for distroless if no image registry can be reached. Needs debootstrap and root.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { IMAGE_NODE_VERSION } from "../../bench/image-node.ts";
import type { Architecture } from "../release/image.ts";
import { dressRoot } from "./machine-root.ts";
import { machineArchitecture } from "./platform.ts";

const RELEASE = "bookworm";
const NODE = "nodejs/bin/node";
/** A library that Node needs and a minimal Debian lacks. */
const MORE_PACKAGES = "libatomic1";
const LIBRARIES =
  /^(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|nss_dns|nss_files|stdc\+\+|gcc_s|atomic))\.so\.\d+$/;

/** Why no Debian can be made here, in one sentence. Undefined if it can. */
export function whyNoDebian(): string | undefined {
  return spawnSync("debootstrap", ["--version"]).status === 0
    ? undefined
    : "the program debootstrap is missing (Debian: apt-get install debootstrap)";
}

/** Makes a Debian in `folder`. For another platform it is only unpacked: its programs cannot run here. */
export function debian(folder: string, architecture: Architecture): void {
  const isForeign = architecture !== machineArchitecture();
  const args = ["--variant=minbase", `--arch=${architecture}`, `--include=${MORE_PACKAGES}`];
  execFileSync("debootstrap", [...args, ...(isForeign ? ["--foreign"] : []), RELEASE, folder], {
    stdio: "ignore",
  });
  if (!isForeign) return;
  const archives = join(folder, "var/cache/apt/archives");
  for (const name of readdirSync(archives))
    if (name.startsWith(`${MORE_PACKAGES}_`))
      execFileSync("dpkg-deb", ["-x", join(archives, name), folder]);
}

/** Fills the folder `root` with the program `node` and the libraries that it needs, from the Debian in `from`. */
export function librariesRoot(root: string, from: string, node: string): void {
  mkdirSync(join(root, "nodejs/bin"), { recursive: true });
  copyFileSync(node, join(root, NODE));
  for (const place of libraryPlaces(from)) {
    mkdirSync(join(root, place), { recursive: true });
    for (const name of readdirSync(join(from, place)))
      if (LIBRARIES.test(name)) copyFileSync(join(from, place, name), join(root, place, name));
  }
  dressRoot(root);
}

/** Makes a root file system of another platform, with Node from npm. `work` is a temporary folder. */
export function foreignRoot(root: string, work: string, architecture: Architecture): void {
  const from = join(work, "debian");
  debian(from, architecture);
  librariesRoot(root, from, nodeOf(work, architecture));
}

/** The image's Node for a platform, from the npm package of that platform. */
function nodeOf(work: string, architecture: Architecture): string {
  const name = `node-linux-${architecture === "amd64" ? "x64" : architecture}`;
  const args = ["pack", "--silent", "--pack-destination", work, `${name}@${IMAGE_NODE_VERSION}`];
  const file = execFileSync("npm", args, { encoding: "utf8", cwd: work }).trim();
  execFileSync("tar", ["-xzf", join(work, file), "-C", work]);
  return join(work, "package/bin/node");
}

/** Folders with libraries. The loader's folder differs from that of the others. */
function libraryPlaces(root: string): readonly string[] {
  const usr = readdirSync(join(root, "usr/lib")).find((name) => name.endsWith("-linux-gnu"));
  if (usr === undefined) throw new Error("the Debian that was made has no libraries");
  return [join("lib", usr), usr.startsWith("x86_64") ? "lib64" : "lib"];
}
