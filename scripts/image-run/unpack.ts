/**
 * Unpacks an image of `npm run release` into a root file system, as a container runtime does: the layers of a
 * platform one over the other, each checked against its digest. Needs the program tar.
 * https://github.com/opencontainers/image-spec: image-layout.md, layer.md (whiteouts).
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { machineArchitecture } from "./platform.ts";

/** What an image says about the process to start. */
export interface ImageConfig {
  readonly architecture: string;
  readonly config: {
    readonly Env?: readonly string[];
    readonly Entrypoint?: readonly string[];
    readonly Cmd?: readonly string[];
    readonly WorkingDir?: string;
    readonly User?: string;
  };
  readonly rootfs: { readonly diff_ids: readonly string[] };
}

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly platform?: { readonly architecture: string; readonly os: string };
}

const WHITEOUT = /^(?:\.\/)?(.*\/)?\.wh\.([^/]+)$/;
const OPAQUE = ".wh..opq";

/**
 * Unpacks a platform's layers into `folder/root` and returns the image's configuration. `image`: an OCI layout, or
 * an archive of one.
 */
export function unpackImage(
  image: string,
  folder: string,
  architecture = machineArchitecture(),
): ImageConfig {
  const layout = layoutOf(image, folder);
  const blob = (digest: string): Buffer => {
    const content = readFileSync(join(layout, "blobs", digest.replace(":", "/")));
    mustBe(digestOf(content), digest, `${image}: the blob`);
    return content;
  };
  const json = <T>(digest: string): T => JSON.parse(blob(digest).toString("utf8")) as T;
  const find = (descriptors: readonly Descriptor[]): Descriptor | undefined => {
    for (const one of descriptors) {
      if (one.platform?.architecture === architecture && one.platform.os === "linux") return one;
      if (!one.mediaType.includes("index")) continue;
      const found = find(json<{ manifests: readonly Descriptor[] }>(one.digest).manifests);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  const top = JSON.parse(readFileSync(join(layout, "index.json"), "utf8"));
  const found = find(top.manifests);
  if (found === undefined) throw new Error(`${image} has no image for linux/${architecture}`);
  const { config, layers } = json<{ config: Descriptor; layers: readonly Descriptor[] }>(
    found.digest,
  );
  const read = json<ImageConfig>(config.digest);
  const root = join(folder, "root");
  mkdirSync(root);
  for (const [at, { digest }] of layers.entries()) {
    const tar = gunzipSync(blob(digest));
    mustBe(digestOf(tar), read.rootfs.diff_ids[at], `${image}: layer ${at + 1}, unpacked,`);
    applyLayer(tar, root);
  }
  return read;
}

/** Unpacks one layer over the layers below. A whiteout removes what these had at its path. */
export function applyLayer(tar: Buffer, root: string): void {
  const names = execFileSync("tar", ["-t"], { input: tar, encoding: "utf8", maxBuffer: 1 << 28 });
  for (const name of names.split("\n")) {
    const [, parent = "", hidden] = WHITEOUT.exec(name) ?? [];
    if (hidden === undefined) continue;
    const place = join(root, parent);
    const gone = name.endsWith(OPAQUE) ? (existsSync(place) ? readdirSync(place) : []) : [hidden];
    for (const one of gone) rmSync(join(place, one), { recursive: true, force: true });
  }
  // Keeps the layer's owners and modes, whatever this process' umask is.
  const args = ["-x", "-p", "--numeric-owner", "--exclude=.wh.*", "-C", root];
  execFileSync("tar", args, { input: tar });
}

function layoutOf(image: string, folder: string): string {
  if (!existsSync(image)) throw new Error(`${image} is not there: npm run release makes it`);
  if (!image.endsWith(".tar")) return image;
  const layout = join(folder, "layout");
  mkdirSync(layout, { recursive: true });
  execFileSync("tar", ["-xf", image, "-C", layout]);
  return layout;
}

function mustBe(is: string, wanted: string | undefined, what: string): void {
  if (is !== wanted) throw new Error(`${what} is ${is}, and not ${wanted ?? "named"}`);
}

function digestOf(content: Buffer): string {
  return `sha256:${createHash("sha256").update(content).digest("hex")}`;
}
