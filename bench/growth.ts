/**
 * `npm run bench -- growth [--runs N]`: how planning time grows with the number of pods, instance types, existing
 * nodes and NodePools. One number grows at a time. Each point runs in a new process. docs/growth.svg shows the
 * result. The figure is CPU time of the planning thread, the smallest of the runs. If the system does not report
 * that time, it is CPU time of all threads.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { prepareOurs, runOurs } from "./ours-program.ts";
import type { Workload } from "./workload.ts";
import { upstreamMix } from "./workloads.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));

/** A number that grows: its values, and the workload for a value. The pods are upstream's mix of all kinds. */
interface Axis {
  readonly name: string;
  readonly sizes: readonly number[];
  readonly make: (size: number) => Workload;
}

const AXES: readonly Axis[] = [
  { name: "pods", sizes: [1_000, 4_000, 16_000, 64_000], make: (size) => upstreamMix("growth", size) },
  { name: "instance types", sizes: [100, 400, 1_600], make: (size) => upstreamMix("growth", 4_000, size) },
  { name: "nodes", sizes: [500, 2_000, 8_000], make: (size) => ({ ...upstreamMix("growth", 4_000), fullNodes: size }) },
  { name: "NodePools", sizes: [1, 4, 16, 64], make: (size) => withPools(upstreamMix("growth", 4_000), size) },
];

export async function growth(args: readonly string[]): Promise<void> {
  const runs = Number(args[args.indexOf("--runs") + 1]) || 3;
  const folder = mkdtempSync(join(tmpdir(), "karpenter-growth-"));
  try {
    const program = await prepareOurs(join(folder, "ours"), (line) => process.stdout.write(`${line}\n`));
    const lines = AXES.map(({ name, sizes, make }) => {
      const points = sizes.map((size) => {
        const file = join(folder, "workload.json");
        writeFileSync(file, JSON.stringify(make(size)));
        const times = Array.from({ length: runs }, () => runOurs(program, file)).map((one) => one.threadMs ?? one.cpuMs);
        const ms = Math.min(...times);
        process.stdout.write(`${name} ${size}: ${ms.toFixed(0)} ms\n`);
        return { size, ms };
      });
      return { name, points };
    });
    writeFileSync(join(ROOT, "docs/growth.svg"), drawn(lines));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** NodePools with taints that the pods do not tolerate, except the one with the lowest weight. */
function withPools(workload: Workload, count: number): Workload {
  const [first] = workload.nodePools as [Workload["nodePools"][number]];
  const nodePools = Array.from({ length: count }, (_, index) => {
    const { template } = first.spec;
    const taints = index === 0 ? [] : [{ key: "team", value: `${index}`, effect: "NoSchedule" as const }];
    const spec = { ...first.spec, weight: index + 1, template: { ...template, spec: { ...template.spec, taints } } };
    return { ...first, metadata: { name: `pool-${index}` }, spec } as typeof first;
  });
  return { ...workload, nodePools };
}

interface Line {
  readonly name: string;
  readonly points: readonly { readonly size: number; readonly ms: number }[];
}

const WIDTH = 260;
const HEIGHT = 200;

/** One panel for each line, with logarithmic axes. Dashed: linear growth. */
function drawn(lines: readonly Line[]): string {
  const panels = lines.map((line, at) => `<g transform="translate(${at * (WIDTH + 50) + 50} 40)">${panel(line)}</g>`);
  const width = lines.length * (WIDTH + 50) + 20;
  const style = "text{font:11px sans-serif;fill:#444}.l{fill:none;stroke:#2563eb;stroke-width:2}.p{stroke:#999;stroke-dasharray:4 4}.f{fill:none;stroke:#ccc}";
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${HEIGHT + 90}"><style>${style}</style><rect width="100%" height="100%" fill="#fff"/>${panels.join("")}</svg>\n`;
}

function panel({ name, points }: Line): string {
  const sizes = points.map(({ size }) => Math.log(size));
  const [from, to] = [Math.min(...sizes), Math.max(...sizes)];
  const [least, most] = [Math.log(10), Math.log(10_000)];
  const x = (size: number) => (((Math.log(size) - from) / (to - from)) * WIDTH).toFixed(1);
  const y = (ms: number) => (HEIGHT - ((Math.log(ms) - least) / (most - least)) * HEIGHT).toFixed(1);
  const [first, last] = [points[0], points.at(-1)] as [Line["points"][number], Line["points"][number]];
  const inProportion = (first.ms * last.size) / first.size;
  const clip = `<clipPath id="${name.replace(" ", "-")}"><rect width="${WIDTH}" height="${HEIGHT}"/></clipPath>`;
  const path = points.map(({ size, ms }, at) => `${at === 0 ? "M" : "L"}${x(size)} ${y(ms)}`).join("");
  const labels = points.map(({ size, ms }) => `<text x="${x(size)}" y="${HEIGHT + 16}" text-anchor="middle">${size.toLocaleString("en")}</text><text x="${x(size)}" y="${Number(y(ms)) - 8}" text-anchor="middle">${ms.toFixed(0)}</text>`);
  return (
    `${clip}<rect class="f" width="${WIDTH}" height="${HEIGHT}"/>` +
    `<line class="p" clip-path="url(#${name.replace(" ", "-")})" x1="0" y1="${y(first.ms)}" x2="${WIDTH}" y2="${y(inProportion)}"/>` +
    `<path class="l" d="${path}"/>${labels.join("")}<text x="0" y="-12">ms by number of ${name}</text>`
  );
}
