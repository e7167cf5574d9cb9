import { expect, it } from "vitest";
import { sharedReason } from "../../core/answers/shared-reason.ts";
import { reasonWords } from "./reason-words.ts";

it("a reason for people is one sentence for each NodePool, without overhead and requirements", () => {
  const about = (pool: string, why: string) =>
    `incompatible with nodepool "${pool}", daemonset overhead={"cpu":"155m","pods":"4"}, ${why}, requirements=karpenter.sh/capacity-type In [spot], karpenter.sh/nodepool In [${pool}], resources={"cpu":"5"}`;
  const reason = `${about("a", "no instance type has enough resources")}; ${about("b", "did not tolerate taint (taint=gpu:NoSchedule)")}`;
  expect(reasonWords(reason)).toEqual([
    "a: no instance type has enough resources",
    "b: did not tolerate taint (taint=gpu:NoSchedule)",
  ]);
  const older = about("c", "no instance type has enough resources").replace(
    "nodepool",
    "provisioner",
  );
  expect(reasonWords(older)).toEqual(["c: no instance type has enough resources"]);
  const other = "label karpenter.sh/x is restricted; use a label of your own domain";
  expect(reasonWords(other)).toEqual([other]);
});

it("replicas whose own volume claims have the same fault share one reason", () => {
  const fault = (claim: string) =>
    sharedReason(`failed to get storage class (PersistentVolumeClaim=${claim}, StorageClass=gp3)`);
  expect(fault("shop/data-db-0")).toBe(fault("shop/data-db-1"));
  expect(fault("shop/data-db-0")).toBe("failed to get storage class (StorageClass=gp3)");
  expect(sharedReason("unbound pvc (PersistentVolumeClaim=shop/data-db-0)")).toBe("unbound pvc");
});
