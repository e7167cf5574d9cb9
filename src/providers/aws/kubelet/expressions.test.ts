import { describe, expect, it } from "vitest";
import type { KubeletConfiguration } from "../../../apis/karpenter/kubelet.ts";
import type { InstanceTypeInfo } from "../api/images-and-types.ts";
import { compileProblems, resolveKubelet } from "./expressions.ts";

/** An instance type with 4 vCPUs, 16 GiB, and 4 interfaces of 15 addresses each. */
const M5_XLARGE = {
  InstanceType: "m5.xlarge",
  VCpuInfo: { DefaultVCpus: 4 },
  MemoryInfo: { SizeInMiB: 16_384 },
  NetworkInfo: {
    MaximumNetworkInterfaces: 4,
    Ipv4AddressesPerInterface: 15,
    DefaultNetworkCardIndex: 0,
    NetworkCards: [{ NetworkCardIndex: 0, MaximumNetworkInterfaces: 4 }],
  },
} as unknown as InstanceTypeInfo;

function resolve(kubelet: KubeletConfiguration, enabled = true) {
  return resolveKubelet(kubelet, M5_XLARGE, { enabled, density: 58 });
}

describe("a kubelet setting as an expression", () => {
  it.each([
    ["vcpus * 8", 32],
    ["min(max_pods, 110)", 58],
    ["max(double(vcpus) * 2.9, 3)", 11],
    ["default_enis * (ips_per_eni - 1) + 2", 58],
    ["instance_type.startsWith('m5.') ? 29 : 8", 29],
    ["memory_mib / 1024 > 8 ? 40 : 20", 40],
  ])("%s results in %i pods", (maxPods, pods) => {
    expect(compileProblems({ maxPods })).toEqual([]);
    expect(resolve({ maxPods }).kubelet?.maxPods).toBe(pods);
  });

  it("results in reserved amounts in whole steps, rounded up, computed with the resolved number of pods", () => {
    const kubeReserved = {
      cpu: "vcpus * 11",
      memory: "11 * max_pods + 255",
      "ephemeral-storage": "1.2",
    };
    expect(resolve({ maxPods: "vcpus * 8", kubeReserved }).kubelet).toEqual({
      maxPods: 32,
      // Computed amounts of 44 millicores and 607 MiB are rounded up. A quantity stays as written.
      kubeReserved: { cpu: "50m", memory: "608Mi", "ephemeral-storage": "1.2" },
    });
    const systemReserved = {
      memory: "100Mi",
      pid: "vcpus * 1000",
      "ephemeral-storage": "vcpus / 2",
    };
    expect(resolve({ systemReserved }).kubelet?.systemReserved).toEqual({
      memory: "100Mi",
      pid: "4000",
      "ephemeral-storage": "2Gi",
    });
  });

  it.each([
    ["vcpus *", "Unexpected token"],
    ["cores * 8", "Unknown variable: cores"],
    ["instance_type", "it gives a string"],
    ["vcpus * 1.5", "no such overload"],
  ])("%s is refused: %s", (maxPods, why) => {
    expect(compileProblems({ maxPods })[0]).toContain(`maxPods: `);
    expect(compileProblems({ maxPods })[0]).toContain(why);
  });

  it.each([
    [{ maxPods: "vcpus / 0" }, "maxPods: division by zero (m5.xlarge)"],
    [{ maxPods: "vcpus - 10" }, "maxPods: -6 is negative (m5.xlarge)"],
    [{ maxPods: "1.0 / 0.0" }, "maxPods: Infinity is no finite number (m5.xlarge)"],
    [{ maxPods: "3000000000" }, "maxPods: 3000000000 is above 2147483647 (m5.xlarge)"],
    [{ kubeReserved: { cpu: "0 - vcpus" } }, "kubeReserved.cpu: -4 is negative (m5.xlarge)"],
  ] as const)("in %j has a problem: %s", (kubelet, problem) => {
    const resolved = resolve(kubelet);
    expect(resolved.problem).toBe(problem);
    expect(resolved.kubelet?.maxPods).toBeUndefined();
  });

  it("is ignored while the feature gate is off", () => {
    const kubeReserved = { cpu: "vcpus * 10", memory: "100Mi" };
    expect(resolve({ maxPods: "29", podsPerCore: 4, kubeReserved }, false)).toEqual({
      kubelet: { podsPerCore: 4, kubeReserved: { memory: "100Mi" } },
    });
  });
});
