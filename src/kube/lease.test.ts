import { describe, expect, it } from "vitest";
import { LEASE, type Lease } from "../apis/policy/kinds.ts";
import { SILENT } from "../base/log.ts";
import { VirtualClock } from "../base/virtual-clock.ts";
import { type FakeKube, fakeKube } from "../testing/fake-kube.ts";
import type { KubeClient } from "./client/client.ts";
import { KubeError } from "./errors.ts";
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

/** A client whose requests are never answered after `hang` was called. */
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

/** A client that refuses an update of an older version, as an API server does. */
function versioned(kube: FakeKube): KubeClient {
  return {
    ...kube,
    update: (kind, object) => {
      const stored = kube.find<Lease>(LEASE, "karpenter/lead");
      if (stored?.metadata.resourceVersion !== object.metadata.resourceVersion)
        throw new KubeError(409, undefined, "someone was faster");
      return kube.update(kind, object);
    },
  };
}

describe("leader election", () => {
  it("ends ten seconds after the server began to hang, before another replica acquires the lease", async () => {
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

  it("does not release a lease that another replica holds by now", async () => {
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

  it("releases the lease on shutdown, so that the next replica need not wait", async () => {
    const { clock, elect, holder } = open();
    const first = elect("first");
    const second = elect("second");
    await clock.advance(5_000);
    await first.leadership.release();
    await clock.advance(2_000);
    expect(second.told).toHaveLength(1);
    expect(holder()).toBe("second");
  });

  it("keeps the lease when one request hangs", async () => {
    const { clock, kube, elect } = open();
    let calls = 0;
    const once: KubeClient = {
      ...kube,
      update: (kind, lease) =>
        ++calls === 3 ? new Promise(() => undefined) : kube.update(kind, lease),
    };
    const first = elect("first", once);
    await clock.advance(60_000);
    expect(first.told).toEqual(["acquired 0"]);
  });

  it("counts a renewal from its request, also when its answer is read late", async () => {
    const { clock, kube, elect } = open();
    const { client, hang } = hanging(kube);
    let writes = 0;
    const late: KubeClient = {
      ...client,
      update: async (kind, lease) => {
        if (++writes > 1) return client.update(kind, lease);
        hang();
        await clock.sleep(6_000);
        return kube.update(kind, lease);
      },
    };
    const { told } = elect("first", late);
    await clock.advance(30_000);
    expect(told).toEqual(["acquired 0", "lost 12000"]);
  });

  it("renews with one request, and keeps the lease if each takes three seconds", async () => {
    const { clock, kube, elect } = open();
    let reads = 0;
    const slow: KubeClient = {
      ...kube,
      get: async (kind, ref) => {
        reads++;
        await clock.sleep(3_000);
        return kube.get(kind, ref);
      },
      update: async (kind, object) => {
        await clock.sleep(3_000);
        return kube.update(kind, object);
      },
    };
    const { told } = elect("first", slow);
    await clock.advance(120_000);
    expect(told).toEqual(["acquired 3000"]);
    expect(reads).toBe(1);
  });

  it("ends at the next renewal once another identity holds the lease", async () => {
    const { clock, kube, elect, holder } = open();
    const first = elect("first", versioned(kube));
    await clock.advance(4_500);
    kube.change(LEASE, "karpenter/lead", { spec: { holderIdentity: "thief" } });
    await clock.advance(2_000);
    expect(first.told).toEqual(["acquired 0", "lost 6000"]);
    await first.leadership.release();
    expect(holder()).toBe("thief");
  });

  it("continues if another program changes the lease but not its holder", async () => {
    const { clock, kube, elect } = open();
    const first = elect("first", versioned(kube));
    await clock.advance(4_500);
    kube.change(LEASE, "karpenter/lead", { metadata: { labels: { seen: "anew" } } });
    await clock.advance(20_000);
    expect(first.told).toEqual(["acquired 0"]);
  });

  it("reads the lease again after a write conflict", async () => {
    const { clock, kube, elect } = open();
    const answers: string[] = [];
    const contested: KubeClient = {
      ...kube,
      get: (kind, ref) => {
        answers.push("read");
        return kube.get(kind, ref);
      },
      update: (kind, object) => {
        answers.push("written");
        if (answers.length === 2) throw new KubeError(409, undefined, "someone was faster");
        return kube.update(kind, object);
      },
    };
    const { told } = elect("first", contested);
    await clock.advance(5_000);
    expect(told).toEqual(["acquired 0"]);
    expect(answers).toEqual(["read", "written", "read", "written", "written"]);
  });
});
