import { describe, expect, it } from "vitest";
import { LEASE, type Lease } from "../apis/policy/kinds.ts";
import { SILENT } from "../base/log.ts";
import { VirtualClock } from "../base/virtual-clock.ts";
import { fakeKube } from "../testing/fake-kube.ts";
import type { KubeClient } from "./client.ts";
import { electLeader } from "./lease.ts";

function open() {
  const clock = new VirtualClock();
  const kube = fakeKube(clock);
  const elect = (identity: string, client: KubeClient = kube) => {
    const deps = { client, clock, log: SILENT, name: "lead", namespace: "karpenter", identity };
    const leadership = electLeader(deps);
    const told: string[] = [];
    void leadership.acquired.then(() => told.push(`acquired ${clock.now() - startMs}`));
    void leadership.lost.then(() => told.push(`lost ${clock.now() - startMs}`));
    return { leadership, told };
  };
  const startMs = clock.now();
  const holder = () => kube.find<Lease>(LEASE, "karpenter/lead")?.spec.holderIdentity;
  return { clock, kube, elect, holder };
}

/** From some moment on, no request is ever answered. */
function hanging(kube: KubeClient): { client: KubeClient; hang(): void } {
  let hangs = false;
  const never = new Promise<never>(() => undefined);
  const client: KubeClient = {
    ...kube,
    get: (kind, ref) => (hangs ? never : kube.get(kind, ref)),
    update: (kind, object) => (hangs ? never : kube.update(kind, object)),
  };
  return {
    client,
    hang: () => {
      hangs = true;
    },
  };
}

describe("leader election", () => {
  it("gives the lead up after ten seconds of a server that hangs, before the next one takes it", async () => {
    const { clock, kube, elect, holder } = open();
    const { client, hang } = hanging(kube);
    const first = elect("first", client);
    const second = elect("second");
    await clock.advance(5_000);
    expect(first.told).toEqual(["acquired 0"]);
    hang();
    await clock.advance(10_000);
    expect(first.told).toEqual(["acquired 0", "lost 14000"]);
    expect(second.told).toEqual([]);
    await clock.advance(6_000);
    expect(second.told).toHaveLength(1);
    expect(holder()).toBe("second");
    await second.leadership.release();
  });

  it("does not hand back what another holds by now", async () => {
    const { clock, kube, elect, holder } = open();
    const { client, hang } = hanging(kube);
    const first = elect("first", client);
    elect("second");
    await clock.advance(1_000);
    hang();
    await clock.advance(30_000);
    await first.leadership.release();
    expect(holder()).toBe("second");
  });

  it("hands the lead back when it ends on purpose, so that the next one need not wait", async () => {
    const { clock, elect, holder } = open();
    const first = elect("first");
    const second = elect("second");
    await clock.advance(5_000);
    await first.leadership.release();
    await clock.advance(2_000);
    expect(second.told).toHaveLength(1);
    expect(holder()).toBe("second");
  });

  it("tries again in time when one request hangs", async () => {
    const { clock, kube, elect } = open();
    let calls = 0;
    const once: KubeClient = {
      ...kube,
      get: (kind, ref) => (++calls === 3 ? new Promise(() => undefined) : kube.get(kind, ref)),
    };
    const first = elect("first", once);
    await clock.advance(60_000);
    expect(first.told).toEqual(["acquired 0"]);
  });
});
