import { describe, expect, it } from "vitest";
import { CONFIG_MAP, type ConfigMap } from "../../apis/core/kinds.ts";
import { SILENT } from "../../base/log.ts";
import { VirtualClock } from "../../base/virtual-clock.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { ConnectionError, KubeError } from "../../kube/errors.ts";
import { fakeKube } from "../../testing/fake-kube.ts";
import { seedObjects } from "../../testing/seed-manifests.ts";
import { readGlobalSettings } from "./global-settings.ts";
import { parseOptions } from "./parse-options.ts";

const clock = new VirtualClock();
const NAMESPACE = "karpenter";

function deps(client: KubeClient, warnings: string[] = []) {
  const warn = (message: string, fields?: object) => {
    warnings.push(`${message} ${JSON.stringify(fields)}`);
  };
  const log = { ...SILENT, warn, with: () => log };
  return { client, clock, namespace: NAMESPACE, log };
}

describe("the ConfigMap karpenter-global-settings", () => {
  it("of the seed is read, below flags and environment (S3-74, S3-75, S3-76, S3-77)", async () => {
    const client = fakeKube(clock);
    const [seed] = seedObjects("s3-40-karpenter-global-settings.yaml");
    await client.create(CONFIG_MAP, seed as ConfigMap);
    const read = await readGlobalSettings(deps(client));
    const options = parseOptions({}, { BATCH_IDLE_DURATION: "3s" }, read);
    expect(options).toMatchObject({
      clusterName: "foo-cluster",
      clusterEndpoint: "https://0123456789abcdef.gr7.ap-northeast-1.eks.amazonaws.com",
      interruptionQueue: "foo-queue",
      batchMaxDuration: 10_000,
      batchIdleDuration: 3_000,
    });
    expect(parseOptions({ "cluster-name": "flag" }, {}, read).clusterName).toBe("flag");
  });

  it("with an invalid value is refused with an error that names it", async () => {
    const read = { "batch-max-duration": "soon" };
    expect(() => parseOptions({}, {}, read)).toThrow(
      'invalid batch-max-duration of karpenter-global-settings "soon": must be a duration',
    );
  });

  it("has one warning about keys without effect, and its empty values are ignored", async () => {
    const client = fakeKube(clock);
    const metadata = { name: "karpenter-global-settings", namespace: NAMESPACE };
    const data = {
      "aws.nodeNameConvention": "ip-name",
      "aws.clusterEndpoint": "",
      "aws.enablePodENI": "false",
      batchMaxDuration: "20s",
    };
    await client.create(CONFIG_MAP, { metadata, data });
    const warnings: string[] = [];
    expect(await readGlobalSettings(deps(client, warnings))).toEqual({
      "batch-max-duration": "20s",
      "pod-eni": "false",
    });
    expect(warnings).toEqual([
      'settings of older generations are not acted on {"unused":["aws.nodeNameConvention"]}',
    ]);
  });

  it("may be missing, forbidden or unreachable", async () => {
    const client = fakeKube(clock);
    expect(await readGlobalSettings(deps(client))).toEqual({});
    const forbidden = new KubeError(403, { message: "configmaps is forbidden" }, "get");
    const warnings: string[] = [];
    const refused = { ...client, get: () => Promise.reject(forbidden) };
    expect(await readGlobalSettings(deps(refused, warnings))).toEqual({});
    expect(warnings[0]).toContain("configmaps is forbidden");
    let calls = 0;
    const away = { ...client, get: () => Promise.reject(new ConnectionError(`${++calls}`)) };
    const read = readGlobalSettings(deps(away, warnings));
    await clock.advance(60_000);
    expect(await read).toEqual({});
    expect(calls).toBe(15);
  });
});
