/** Pods of public benchmarks, as groups of equal pods, for the workloads of speed and cost. */
import { readFileSync } from "node:fs";
import type { PodGroup } from "./workload.ts";

/** CPU in milli and memory in Mi of the pods of upstream's wideDeployments. */
const WIDE_CPU = [
  240, 450, 650, 900, 1400, 1900, 2400, 2800, 3300, 3700, 2300, 900, 1300, 2800, 1800, 1850, 3300, 3800, 225, 450, 700,
  900, 1300, 1800, 2400, 2800, 3400, 3800, 3300, 2800,
];
const WIDE_MEMORY = [
  300, 400, 700, 1024, 2048, 4096, 8192, 4096, 16384, 10240, 65536, 30720, 32768, 32768, 30720, 20480, 30720, 300, 500,
  750, 1024, 2048, 4096, 8192, 16384, 32768, 28672, 65536, 13312, 24576,
];

/** Ten thousand pods of upstream's thirty shapes. */
export function wide(): PodGroup[] {
  return WIDE_CPU.map((cpu, index) => group(`wide-${index}`, index < 10 ? 334 : 333, cpu, WIDE_MEMORY[index] as number));
}

/** `count` equal pods. */
export function group(name: string, count: number, cpuMilli: number, memoryMi: number, gpus = 0): PodGroup {
  const amounts = { cpu: `${cpuMilli}m`, memory: `${memoryMi}Mi`, ...(gpus > 0 ? { "nvidia.com/gpu": String(gpus) } : {}) };
  const resources = { requests: amounts, ...(gpus > 0 ? { limits: { "nvidia.com/gpu": String(gpus) } } : {}) };
  const containers = [{ name: "main", image: "pause", resources }];
  return { name, count, template: { metadata: { labels: { app: name } }, spec: { containers } } } as PodGroup;
}

/** The pods of a trace: Alibaba cluster-trace-gpu-v2023, openb_pod_list. */
export function openbPods(path: string): PodGroup[] {
  return [...alike(readOpenb(path))].map(([{ cpuMilli, memoryMi, gpus }, { length }], index) =>
    group(`openb-${index}`, length, cpuMilli, memoryMi, gpus),
  );
}

/** A pod of the trace. It was created and deleted at these seconds after the start of the trace. */
export interface TracedPod {
  readonly cpuMilli: number;
  readonly memoryMi: number;
  readonly gpus: number;
  readonly fromS: number;
  readonly untilS: number;
}

/** The pods in the order of the file. Throws if a column is missing. */
export function readOpenb(path: string): TracedPod[] {
  const [head = "", ...lines] = readFileSync(path, "utf8").trim().split("\n");
  const columns = head.split(",");
  const column = (...names: readonly string[]) => {
    const at = names.map((name) => columns.indexOf(name)).find((one) => one >= 0);
    if (at === undefined) throw new Error(`${path}: no column ${names[0]}`);
    return at;
  };
  const [cpu, memory, gpu] = [column("cpu_milli"), column("memory_mib"), column("num_gpu")];
  const [from, until] = [column("creation_time", "creation_s"), column("deletion_time", "deletion_s")];
  return lines.map((line) => {
    const cells = line.split(",").map(Number);
    const at = (index: number) => cells[index] ?? 0;
    return { cpuMilli: at(cpu), memoryMi: at(memory), gpus: at(gpu), fromS: at(from), untilS: at(until) };
  });
}

/** Groups of pods with equal requests. The key is the first pod of the group. */
export function alike(pods: readonly TracedPod[]): ReadonlyMap<TracedPod, readonly TracedPod[]> {
  const firsts = new Map<string, TracedPod>();
  const lists = new Map<TracedPod, TracedPod[]>();
  for (const pod of pods) {
    const key = [pod.cpuMilli, pod.memoryMi, pod.gpus].join();
    const first = firsts.get(key) ?? pod;
    firsts.set(key, first);
    const list = lists.get(first);
    if (list === undefined) lists.set(first, [pod]);
    else list.push(pod);
  }
  return lists;
}
