import { describe, expect, it } from "vitest";
import { CONFIG_MAP } from "../../apis/core/kinds.ts";
import { FACTS, factsOf } from "../../apis/karpenter/facts.ts";
import { SILENT } from "../../base/log.ts";
import { VirtualClock } from "../../base/virtual-clock.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { KubeError } from "../../kube/errors.ts";
import { fakeKube } from "../../testing/fake-kube.ts";
import { parseOptions } from "../settings/parse-options.ts";
import { tellFacts } from "./tell-facts.ts";

const REQUEST = { kind: "Singleton", name: "facts" };
const REF = { name: FACTS, namespace: "karpenter" };
const OPTIONS = parseOptions({ "surge-timeout": "90s", "feature-gates": "NodeRepair=true" }, {});

/** An API server with the empty ConfigMap that the chart creates. */
async function withFacts() {
  const kube = fakeKube(new VirtualClock());
  await kube.create(CONFIG_MAP, { metadata: REF });
  return kube;
}

function dataIn(kube: ReturnType<typeof fakeKube>): Readonly<Record<string, string>> {
  return kube.find(CONFIG_MAP, `karpenter/${FACTS}`)?.data ?? {};
}

function telling(
  kube: Pick<KubeClient, "get" | "patch">,
  { hasPrices = true, options = OPTIONS } = {},
) {
  const prices = new Map([["m5.large", 96_000]]);
  let version = 0;
  const list = () => ({
    region: "us-west-2",
    readAtMs: undefined,
    onDemand: new Map(prices),
    spot: new Map<string, number>(),
  });
  const controller = tellFacts({
    kube,
    log: SILENT,
    namespace: "karpenter",
    options,
    prices: hasPrices
      ? {
          get version() {
            return String(version);
          },
          list,
        }
      : undefined,
  });
  const raise = () => {
    prices.set("m5.large", 100_000);
    version++;
  };
  return { raise, reconcile: () => controller.reconcile(REQUEST) };
}

describe("the ConfigMap karpenter-facts", () => {
  it("is written under the name of its Helm release", async () => {
    const name = "next-karpenter-facts";
    const kube = fakeKube(new VirtualClock());
    await kube.create(CONFIG_MAP, { metadata: { name, namespace: "karpenter" } });
    await telling(kube, { options: parseOptions({ "facts-name": name }, {}) }).reconcile();
    expect(kube.find(CONFIG_MAP, `karpenter/${name}`)?.data).toHaveProperty("settings");
  });

  it("is written at the start, and again only when a price has changed", async () => {
    const kube = await withFacts();
    const read = () => kube.find(CONFIG_MAP, `karpenter/${FACTS}`);
    const { raise, reconcile } = telling(kube);
    await reconcile();
    const first = read();
    const facts = first && factsOf(first);
    expect(facts?.settings).toEqual({
      "feature-gates": "NodeRepair=true",
      "surge-timeout": "1m30s",
    });
    expect(parseOptions(facts?.settings ?? {}, {}).surgeTimeout).toBe(90_000);
    expect(facts?.prices?.onDemand.get("m5.large")).toBe(96_000);
    await reconcile();
    expect(read()?.metadata.resourceVersion).toBe(first?.metadata.resourceVersion);
    raise();
    await reconcile();
    const second = read();
    expect(second && factsOf(second)?.prices?.onDemand.get("m5.large")).toBe(100_000);
  });

  it("is written again after others changed it, and keeps their keys", async () => {
    const kube = await withFacts();
    const { reconcile } = telling(kube);
    await reconcile();
    const told = dataIn(kube);
    for (const data of [null, { settings: "{}", region: null, notes: "theirs" }]) {
      await kube.patch(CONFIG_MAP, REF, { type: "merge", body: { data } });
      expect(dataIn(kube)).not.toEqual(told);
      await reconcile();
      expect(dataIn(kube)).toEqual({ ...told, ...(data && { notes: "theirs" }) });
    }
  });

  it("loses its prices if the provider's prices never change", async () => {
    const kube = await withFacts();
    await telling(kube).reconcile();
    expect(Object.keys(dataIn(kube))).toContain("pricesMicroUsdPerHour");
    const { reconcile } = telling(kube, { hasPrices: false });
    await reconcile();
    expect(Object.keys(dataIn(kube))).toEqual(["settings"]);
  });

  const refusal = (status: number) =>
    new KubeError(status, { reason: "Forbidden", message: "no" } as never, "asking");

  it("is patched once for each change if it may not be read", async () => {
    const kube = await withFacts();
    await telling(kube).reconcile();
    let patches = 0;
    let mayRead = false;
    const patchOnly: Pick<KubeClient, "get" | "patch"> = {
      get: (kind, ref) => (mayRead ? kube.get(kind, ref) : Promise.reject(refusal(403))),
      patch: (...asked) => {
        patches++;
        return kube.patch(...asked);
      },
    };
    const { raise, reconcile } = telling(patchOnly);
    const pricesIn = () => dataIn(kube)["pricesMicroUsdPerHour"];
    await kube.patch(CONFIG_MAP, REF, { type: "merge", body: { data: null } });
    for (const price of ["96000", "100000"]) {
      expect((await reconcile()).requeueAfterMs).toBe(30_000);
      expect(pricesIn()).toContain(price);
      const before = patches;
      await reconcile();
      expect(patches).toBe(before);
      raise();
    }
    // A process without prices removes the prices that an earlier one wrote.
    const fixed = telling(patchOnly, { hasPrices: false });
    await fixed.reconcile();
    expect(Object.keys(dataIn(kube))).toEqual(["settings"]);
    // With the right to read the ConfigMap, data that others removed is written again.
    mayRead = true;
    await kube.patch(CONFIG_MAP, REF, { type: "merge", body: { data: null } });
    await fixed.reconcile();
    expect(Object.keys(dataIn(kube))).toEqual(["settings"]);
  });

  it("is tried again after ten minutes if it cannot be written", async () => {
    const tries: string[] = [];
    const refuse = (verb: string, status: number) => async () => {
      tries.push(verb);
      throw refusal(status);
    };
    const found = async () => ({ metadata: { name: FACTS } });
    const cases: readonly [object, readonly string[]][] = [
      [{ get: refuse("get", 503), patch: refuse("patch", 503) }, ["get", "get"]],
      [{ get: found, patch: refuse("patch", 403) }, ["patch", "patch"]],
      [{ get: refuse("get", 403), patch: refuse("patch", 403) }, ["get", "patch", "get", "patch"]],
    ];
    for (const [kube, expected] of cases) {
      tries.length = 0;
      const { reconcile } = telling(kube as never);
      expect((await reconcile()).requeueAfterMs).toBe(600_000);
      await reconcile();
      expect(tries).toEqual(expected);
    }
  });
});
