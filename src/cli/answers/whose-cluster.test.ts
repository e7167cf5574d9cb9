/** Questions without files are about the current cluster, as with kubectl. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { readObjects } from "./read-picture.ts";

describe("karpenter explain and simulate", () => {
  afterEach(() => void vi.unstubAllEnvs());

  it.each([{}, { cluster: true as const }])(
    "read the cluster of KUBECONFIG if no files are given: %j",
    async (flags) => {
      vi.stubEnv("KUBECONFIG", "/nowhere/kubeconfig");
      await expect(readObjects(flags)).rejects.toThrow(
        /^--cluster: cannot read the kubeconfig \/nowhere\/kubeconfig: .*; or read files: -f FILE$/,
      );
    },
  );

  it("do not read the cluster if files are given", async () => {
    vi.stubEnv("KUBECONFIG", "/nowhere/kubeconfig");
    const { found } = await readObjects({ filename: ["examples/inflate.yaml"] });
    expect(found.map(({ object }) => object.kind)).toEqual(["Deployment"]);
  });
});
