import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { SystemClock } from "../../base/system-clock.ts";
import { VirtualClock } from "../../base/virtual-clock.ts";
import type { AwsApi } from "./api/aws-api.ts";
import { AwsError } from "./api/call.ts";
import { callObserver, observedCalls } from "./call-metrics.ts";
import { createSdkApi } from "./sdk.ts";

let close: () => void = () => undefined;
afterEach(() => close());

/** `name service/action/code` → sum of what was counted or number of what was observed. */
function recorder() {
  const told = new Map<string, number>();
  const add = (name: string, labels: Readonly<Record<string, string>>, by: number) => {
    const key = `${name} ${labels["service"]}/${labels["action"]}/${labels["code"]}`;
    told.set(key, (told.get(key) ?? 0) + by);
  };
  return {
    told,
    observer: callObserver({
      count: (name, labels, by = 1) => add(name, labels, by),
      observe: (name, labels, value) => add(name, labels, value),
    }),
  };
}

describe("calls to AWS", () => {
  it("are counted with each attempt and each retry of the SDK", async () => {
    let asked = 0;
    const server = createServer((_request, response) => {
      asked++;
      const busy =
        "<Response><Errors><Error><Code>RequestLimitExceeded</Code><Message>slow</Message></Error></Errors></Response>";
      response.writeHead(asked === 1 ? 503 : 200, { "content-type": "text/xml" });
      response.end(
        asked === 1 ? busy : "<DescribeSubnetsResponse><subnetSet/></DescribeSubnetsResponse>",
      );
    });
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    close = () => {
      server.closeAllConnections();
      server.close();
    };
    const { told, observer } = recorder();
    const api = createSdkApi({
      region: "us-east-1",
      endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      credentials: { accessKeyId: "a", secretAccessKey: "b" },
      observed: { clock: new SystemClock(), observer },
    });
    await api.ec2.describeSubnets({});
    const call = "EC2/DescribeSubnets";
    expect(told.get(`aws_sdk_go_request_total ${call}/200`)).toBe(1);
    expect(told.get(`aws_sdk_go_request_retry_count ${call}/200`)).toBe(1);
    expect(told.get(`aws_sdk_go_request_attempt_total ${call}/503`)).toBe(1);
    expect(told.get(`aws_sdk_go_request_attempt_total ${call}/200`)).toBe(1);
  });

  it("are counted without the SDK too, and refusals by their status", async () => {
    const clock = new VirtualClock();
    const { told, observer } = recorder();
    const refused = new AwsError("RequestLimitExceeded", "slow", 503);
    const api = observedCalls(
      {
        ec2: { describeSubnets: () => clock.sleep(2_000).then(() => Promise.reject(refused)) },
      } as unknown as AwsApi,
      clock,
      observer,
    );
    const answer = api.ec2.describeSubnets({}).catch((error: unknown) => error);
    await clock.advance(2_000);
    expect(await answer).toBe(refused);
    const call = "EC2/DescribeSubnets/503";
    expect(told.get(`aws_sdk_go_request_total ${call}`)).toBe(1);
    expect(told.get(`aws_sdk_go_request_duration_seconds ${call}`)).toBe(2);
    expect(told.get(`aws_sdk_go_request_retry_count ${call}`)).toBe(0);
  });
});
