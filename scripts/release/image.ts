/**
 * An image as an OCI layout, made without a container daemon: the layers of a base, and one layer with the program.
 * The base is an OCI layout too, such as `skopeo copy docker://… oci:DIR` makes; or folders with a root file system
 * for each platform. https://github.com/opencontainers/image-spec: image-layout.md, manifest.md, config.md.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ArchiveEntry, gzipped, rootEntriesOf, tarOf } from "./tarball.ts";

const LAYER = "application/vnd.oci.image.layer.v1.tar+gzip";
const MANIFEST = "application/vnd.oci.image.manifest.v1+json";
const CONFIG = "application/vnd.oci.image.config.v1+json";
const INDEX = "application/vnd.oci.image.index.v1+json";
/** The media types of an index: OCI's, and Docker's for the same document. */
const INDEXES = [INDEX, "application/vnd.docker.distribution.manifest.list.v2+json"];

const ARCHITECTURES = ["amd64", "arm64"] as const;
export type Architecture = (typeof ARCHITECTURES)[number];

export interface ImageOptions {
  /** Files of the program, below `/app`. */
  readonly program: readonly ArchiveEntry[];
  /**
   * An OCI layout with both platforms, as `DIR`, or as `DIR@sha256:…` for one of several images in it. Or one root
   * file system for each platform.
   */
  readonly base: string | Readonly<Record<Architecture, string>>;
  readonly version: string;
  readonly commit: string;
  /** Time stamp of all files in the image. */
  readonly atMs: number;
  readonly entrypoint: readonly string[];
}

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly platform?: { readonly architecture: string; readonly os: string };
  readonly annotations?: Readonly<Record<string, string>>;
}

interface Config {
  readonly config?: Readonly<Record<string, unknown>> & { readonly Env?: readonly string[] };
  readonly rootfs?: { readonly type: string; readonly diff_ids: readonly string[] };
  readonly history?: readonly unknown[];
}

/** What the base has for one platform. */
interface Base {
  readonly layers: readonly Descriptor[];
  readonly diffIds: readonly string[];
  readonly config: Config;
  /** Reads a blob of a layer. */
  readonly blob: (digest: string) => Buffer;
}

/** Writes the layout into `out`, and returns the digest of its index, by which a registry names the image. */
export async function writeImage(out: string, options: ImageOptions): Promise<string> {
  const blobs = join(out, "blobs/sha256");
  mkdirSync(blobs, { recursive: true });
  const store = (content: Buffer): Pick<Descriptor, "digest" | "size"> => {
    const digest = digestOf(content);
    writeFileSync(join(blobs, digest.slice("sha256:".length)), content);
    return { digest, size: content.length };
  };
  const storeJson = (value: unknown) => store(Buffer.from(JSON.stringify(value)));
  const tar = await tarOf(
    options.program.map((one) => ({ ...one, path: `app/${one.path}` })),
    options.atMs,
  );
  const app: Descriptor = { mediaType: LAYER, ...store(gzipped(tar)) };
  const manifests: Descriptor[] = [];
  for (const architecture of ARCHITECTURES) {
    const base = await baseFor(architecture, options);
    for (const { digest } of base.layers) store(base.blob(digest));
    const config = configOf({ architecture, appDiffId: digestOf(tar) }, base, options);
    const manifest = {
      schemaVersion: 2,
      mediaType: MANIFEST,
      config: { mediaType: CONFIG, ...storeJson(config) },
      layers: [...base.layers.map(plain), app],
      annotations: annotationsOf(options),
    };
    const platform = { architecture, os: "linux" };
    manifests.push({ mediaType: MANIFEST, ...storeJson(manifest), platform });
  }
  const index = {
    schemaVersion: 2,
    mediaType: INDEX,
    manifests,
    annotations: annotationsOf(options),
  };
  const stored = storeJson(index);
  const named = { "org.opencontainers.image.ref.name": options.version };
  const top = {
    schemaVersion: 2,
    mediaType: INDEX,
    manifests: [{ mediaType: INDEX, ...stored, annotations: named }],
  };
  writeFileSync(join(out, "index.json"), JSON.stringify(top));
  writeFileSync(join(out, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
  return stored.digest;
}

function configOf(
  { architecture, appDiffId }: { readonly architecture: Architecture; readonly appDiffId: string },
  { config, diffIds }: Base,
  { version, atMs, entrypoint, commit }: ImageOptions,
): object {
  const created = new Date(atMs).toISOString();
  return {
    created,
    architecture,
    os: "linux",
    config: {
      ...config.config,
      Env: [...(config.config?.Env ?? []), "NODE_ENV=production"],
      Entrypoint: entrypoint,
      Cmd: ["controller"],
      WorkingDir: "/app",
      User: "65532:65532",
      ExposedPorts: { "8080/tcp": {}, "8081/tcp": {}, "8443/tcp": {} },
      Labels: annotationsOf({ version, commit, atMs }),
    },
    rootfs: { type: "layers", diff_ids: [...diffIds, appDiffId] },
    history: [
      ...(config.history ?? diffIds.map(() => ({ created, created_by: "base" }))),
      { created, created_by: "karpenter-ts: npm run release" },
    ],
  };
}

function annotationsOf({
  version,
  commit,
  atMs,
}: Pick<ImageOptions, "version" | "commit" | "atMs">): Readonly<Record<string, string>> {
  return {
    "org.opencontainers.image.created": new Date(atMs).toISOString(),
    "org.opencontainers.image.description": "Just-in-time nodes for Kubernetes, in TypeScript",
    "org.opencontainers.image.licenses": "Apache-2.0",
    "org.opencontainers.image.revision": commit,
    "org.opencontainers.image.title": "karpenter-ts",
    "org.opencontainers.image.version": version,
  };
}

async function baseFor(architecture: Architecture, { base, atMs }: ImageOptions): Promise<Base> {
  if (typeof base === "string") return baseOfLayout(base, architecture);
  const tar = await tarOf(rootEntriesOf(base[architecture]), atMs);
  const layer = gzipped(tar);
  return {
    layers: [{ mediaType: LAYER, digest: digestOf(layer), size: layer.length }],
    diffIds: [digestOf(tar)],
    config: {},
    blob: () => layer,
  };
}

/** Reads the base from an OCI layout. Throws an Error that names what the layout lacks. */
function baseOfLayout(layout: string, architecture: Architecture): Base {
  const [, folder = layout, wanted] = /^(.*)@(sha256:[0-9a-f]{64})$/.exec(layout) ?? [];
  const blob = (digest: string): Buffer => {
    const file = join(folder, "blobs", digest.replace(":", "/"));
    if (!existsSync(file)) throw new Error(`${folder}: the blob ${digest} is missing`);
    const content = readFileSync(file);
    if (digestOf(content) !== digest) throw new Error(`${folder}: the blob ${digest} is damaged`);
    return content;
  };
  const json = (digest: string): unknown => JSON.parse(blob(digest).toString("utf8"));
  const find = (descriptors: readonly Descriptor[]): Descriptor | undefined => {
    for (const one of descriptors) {
      if (INDEXES.includes(one.mediaType)) {
        const found = find((json(one.digest) as { manifests: readonly Descriptor[] }).manifests);
        if (found !== undefined) return found;
      } else if (one.platform?.architecture === architecture && one.platform.os === "linux")
        return one;
    }
    return undefined;
  };
  const top = join(folder, "index.json");
  if (!existsSync(top)) throw new Error(`${folder} is no OCI layout: it has no index.json`);
  const { manifests } = JSON.parse(readFileSync(top, "utf8")) as {
    manifests: readonly Descriptor[];
  };
  const among =
    wanted === undefined
      ? manifests
      : ((json(wanted) as { manifests?: readonly Descriptor[] }).manifests ?? []);
  const found = find(among);
  if (found === undefined) throw new Error(`${layout} has no image for linux/${architecture}`);
  const manifest = json(found.digest) as { config: Descriptor; layers: readonly Descriptor[] };
  const config = json(manifest.config.digest) as Config;
  return { layers: manifest.layers, diffIds: config.rootfs?.diff_ids ?? [], config, blob };
}

function plain({ mediaType, digest, size }: Descriptor): Descriptor {
  return {
    mediaType: mediaType.replace(
      "vnd.docker.image.rootfs.diff.tar.gzip",
      "vnd.oci.image.layer.v1.tar+gzip",
    ),
    digest,
    size,
  };
}

function digestOf(content: Buffer): string {
  return `sha256:${createHash("sha256").update(content).digest("hex")}`;
}
