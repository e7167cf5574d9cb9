/** Seed S1's installation: the settings that the controller needs, what it discovers, and when it reports ready. */
import { describe, expect, it } from "vitest";
import { SystemClock } from "../../src/base/system-clock.ts";
import { runController } from "../../src/cli/controller/run-controller.ts";
import { serveEndpoints } from "../../src/operator/endpoints.ts";
import { inAccount, PROVISIONERS, seed } from "./account.ts";

describe("the installation of seed S1", () => {
  it("sets the cluster's name, without which the controller does not start (S1-15)", async () => {
    await expect(runController("aws", { "cluster-name": "" })).rejects.toThrow(
      "missing the cluster's name: set --cluster-name or CLUSTER_NAME",
    );
  });

  it("asks AWS for the account (S1-15)", () =>
    inAccount(
      async ({ world }) => {
        const { aws } = world.box.sandbox;
        const { Account } = (await aws.call("sts", "GetCallerIdentity", {})) as { Account: string };
        expect(Account).toMatch(/^\d{12}$/);
        expect(aws.state.cluster).toMatchObject({
          name: "eksworkshop",
          arn: `arn:aws:eks:us-west-2:${Account}:cluster/eksworkshop`,
        });
      },
      { clusterName: "eksworkshop" },
    ));

  it("is ready once provisioners are defaulted, and not ready once it stops (S1-26)", () =>
    inAccount(async (account) => {
      const { operator } = account.world.box;
      const probes = await serveEndpoints({
        metricsPort: 0,
        healthProbePort: "any",
        host: "127.0.0.1",
        metrics: () => ({ contentType: "text/plain", parts: operator.metrics.parts() }),
        clock: new SystemClock(),
        ready: () => operator.ready,
      });
      try {
        const readyz = `${probes.healthUrl}/readyz`;
        expect((await fetch(readyz)).status).toBe(200);
        const provisioner = seed("s1-02-provisioner-RECONSTRUCTED.yaml");
        expect((await account.send("POST", PROVISIONERS, provisioner)).status).toBe(201);
        const { spec } = await account.read(`${PROVISIONERS}/default`);
        expect(spec.requirements).toContainEqual({
          key: "kubernetes.io/arch",
          operator: "In",
          values: ["amd64"],
        });
        await operator.stop();
        expect((await fetch(readyz)).status).toBe(500);
      } finally {
        await probes.close();
      }
    }));
});
