/** A chart in the form of `helm package`, with the release's version and the image that the release pushes. */
import { parseDocument } from "yaml";
import { type ArchiveEntry, entriesOf } from "./tarball.ts";

export interface ChartRelease {
  readonly version: string;
  /** The repository from which the image is pulled. Undefined: the user must name it at installation. */
  readonly imageRepository?: string;
  readonly imageDigest?: string;
}

/** The chart's files below a folder of the chart's name. `folder`: the chart's source. */
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
