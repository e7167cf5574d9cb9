/** Pods of public benchmarks by how many are alike, for the workloads of speed and cost. */
import { readFileSync } from "node:fs";
import type { PodGroup } from "./workload.ts";

/** cpu in milli and memory in Mi of upstream's wideDeployments. */
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

/** So many equal pods. */
export function group(name: string, count: number, cpuMilli: number, memoryMi: number, gpus = 0): PodGroup {
  const amounts = { cpu: `${cpuMilli}m`, memory: `${memoryMi}Mi`, ...(gpus > 0 ? { "nvidia.com/gpu": String(gpus) } : {}) };
  const resources = { requests: amounts, ...(gpus > 0 ? { limits: { "nvidia.com/gpu": String(gpus) } } : {}) };
  const containers = [{ name: "main", image: "pause", resources }];
  return { name, count, template: { metadata: { labels: { app: name } }, spec: { containers } } } as PodGroup;
}

/** The pods of a trace: Alibaba cluster-trace-gpu-v2023, openb_pod_list. */
export function openbPods(path: string): PodGroup[] {
  const [head = "", ...lines] = readFileSync(path, "utf8").trim().split("\n");
  const columns = head.split(",");
  const [cpu, memory, gpu] = ["cpu_milli", "memory_mib", "num_gpu"].map((name) => {
    const at = columns.indexOf(name);
    if (at < 0) throw new Error(`${path}: no column ${name}`);
    return at;
  }) as [number, number, number];
  const counts = new Map<string, number>();
  for (const line of lines) {
    const cells = line.split(",");
    const key = [cells[cpu], cells[memory], cells[gpu]].join();
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts].map(([key, count], index) => {
    const [cpuMilli = 0, memoryMi = 0, gpus = 0] = key.split(",").map(Number);
    return group(`openb-${index}`, count, cpuMilli, memoryMi, gpus);
  });
}
