/** A chart as `helm package` lays it out, with the version, and with the image that the release pushes. */
import { parseDocument } from "yaml";
import { type ArchiveEntry, entriesOf } from "./tarball.ts";

export interface ChartRelease {
  readonly version: string;
  /** Where the image will be pulled from; undefined: whoever installs says it. */
  readonly imageRepository?: string;
  readonly imageDigest?: string;
}

/** Files below the chart's own name. `folder`: the chart. */
export function chartEntries(
  folder: string,
  name: string,
  release: ChartRelease,
): readonly ArchiveEntry[] {
  return entriesOf(folder, name).map((one) => {
    if (one.path === `${name}/Chart.yaml`)
      return { ...one, content: withVersion(one.content, release) };
    if (one.path === `${name}/values.yaml`)
      return { ...one, content: withImage(one.content, release) };
    return one;
  });
}

function withVersion(content: Buffer, { version }: ChartRelease): Buffer {
  const chart = parseDocument(content.toString("utf8"));
  chart.set("version", version);
  chart.set("appVersion", version);
  return Buffer.from(chart.toString({ lineWidth: 0 }));
}

function withImage(content: Buffer, { imageRepository, imageDigest }: ChartRelease): Buffer {
  const text = content.toString("utf8");
  const values = parseDocument(text);
  // The chart of CRDs has no image.
  if (imageRepository === undefined || !values.hasIn(["controller", "image"])) return content;
  values.setIn(["controller", "image", "repository"], imageRepository);
  if (imageDigest !== undefined) values.setIn(["controller", "image", "digest"], imageDigest);
  return Buffer.from(values.toString({ lineWidth: 0 }));
}
