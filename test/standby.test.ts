/** A replica that does not lead answers probes and webhooks, and can take over the lead. */
import { expect, it } from "vitest";
import { startReplica } from "./replicas.ts";
import { isUsual, openWorld } from "./world.ts";

it("a replica that waits for the lead is ready, leads when the lease is free, and is not ready once it stops", async () => {
  const world = await openWorld({ sells: isUsual });
  await world.box.operator.stop();
  const first = startReplica(world, "first");
  await world.until("the first is ready", () => first.operator.ready);
  const second = startReplica(world, "second");
  await world.until("the second is ready", () => second.operator.ready);
  const leads = (log: readonly string[]) => log.some((line) => line.includes("acquired lease"));
  await world.advance(30_000);
  expect([leads(first.log), leads(second.log)]).toEqual([true, false]);
  const shown = async (replica: typeof first) => {
    const text = await replica.operator.metrics.render();
    const [, lead] = /^leader_election_master_status\{.*\} (\d)$/m.exec(text) ?? [];
    return [lead, text.includes("karpenter_cluster_state_synced")];
  };
  expect(await shown(first)).toEqual(["1", true]);
  expect(await shown(second)).toEqual(["0", false]);
  await first.operator.stop();
  await world.until("the second leads", () => leads(second.log));
  expect([first.operator.ready, second.operator.ready]).toEqual([false, true]);
  await second.operator.stop();
  // Leases of different names or namespaces have separate leaders.
  for (const flag of ["leader-election-name", "leader-election-namespace"]) {
    const other = startReplica(world, flag, { [flag]: "kube-public" });
    await world.until("it leads", () => leads(other.log));
    await other.operator.stop();
  }
  const leases = await world.list("Lease", "coordination.k8s.io/v1");
  const names = leases.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
  expect(names).toEqual(
    expect.arrayContaining([
      "kube-public/karpenter-leader-election",
      "karpenter/karpenter-leader-election",
      "karpenter/kube-public",
    ]),
  );
  await world.close();
});
