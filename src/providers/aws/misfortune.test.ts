import { afterEach, describe, expect, it } from "vitest";
import { EC2_NODE_CLASS, type EC2NodeClass } from "../../apis/aws/ec2nodeclass.ts";
import { condition } from "../../apis/karpenter/conditions.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { CreateError, NodeClassNotReadyError } from "../../core/cloudprovider/errors.ts";
import {
  type AwsWorld,
  awsClaim,
  awsWorld,
  CLUSTER,
  ec2NodeClass,
} from "../../testing/aws-world.ts";
import { pool } from "../../testing/builders.ts";

const ROLE = `KarpenterNodeRole-${CLUSTER}`;
const MINUTE = 60_000;

let world: AwsWorld;
afterEach(() => world.stop());

/** Node class `default`, and `other`, which must not be affected. */
async function begin(spec: Partial<EC2NodeClass["spec"]> = {}): Promise<void> {
  world = await awsWorld();
  world.aws.controls.addRole("other-role");
  await world.kube.create(EC2_NODE_CLASS, ec2NodeClass(spec));
  const other = ec2NodeClass({ role: "other-role" });
  await world.kube.create(EC2_NODE_CLASS, { ...other, metadata: { name: "other" } });
  await world.clock.advance(2_000);
}

function claimOf(className = "default"): NodeClaim {
  return awsClaim(
    [
      { key: "node.kubernetes.io/instance-type", operator: "In", values: ["m5.large"] },
      { key: "karpenter.sh/capacity-type", operator: "In", values: ["on-demand"] },
    ],
    { nodeClassRef: { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: className } },
  );
}

function launch(className?: string): Promise<NodeClaim> {
  return world.settle(world.cloud.create(claimOf(className)));
}

function shown(type: string, className = "default") {
  return condition(world.kube.find(EC2_NODE_CLASS, className) as EC2NodeClass, type);
}

/** The messages of Warning events about class `default`. */
function warned(): readonly string[] {
  return world.events
    .filter(({ type, object }) => type === "Warning" && object.metadata.name === "default")
    .map(({ reason, message }) => `${reason} ${message}`);
}

describe("an EC2NodeClass that cannot be used", () => {
  it("gets one event with the fault and the remedy, and another event if the fault changes", async () => {
    await begin({ subnetSelectorTerms: [{ tags: { team: "nobody" } }] });
    await world.clock.advance(10 * MINUTE);
    const said =
      'NodeClassNotReady Nothing is launched from this EC2NodeClass: SubnetsReady: SubnetSelector did not match any Subnets: spec.subnetSelectorTerms is [{"tags":{"team":"nobody"}}]; mend the terms, or tag subnets so';
    expect(warned()).toEqual([said]);
    const mended = ec2NodeClass({ role: "nobody" }).spec;
    world.kube.change(EC2_NODE_CLASS, "default", { spec: mended });
    await world.clock.advance(10 * MINUTE);
    expect(warned()).toEqual([
      said,
      expect.stringContaining('InstanceProfileReady: role "nobody"'),
    ]);
  });

  it.each([
    [
      { amiSelectorTerms: "all", tags: 3 },
      "spec.amiSelectorTerms: is no list; spec.tags: is no object",
    ],
    [{ networkInterfaces: "two" }, "spec.networkInterfaces: is no list"],
    [{ subnetSelectorTerms: null }, "SubnetsReady"],
  ])(
    "with %j in its spec is not ready and says why, and the controller continues",
    async (more, why) => {
      world = await awsWorld();
      const { spec, ...rest } = ec2NodeClass();
      const broken = { ...rest, spec: { ...spec, ...more } };
      await world.kube.create(EC2_NODE_CLASS, broken as unknown as EC2NodeClass);
      await world.clock.advance(3 * MINUTE);
      expect(shown("Ready")?.status).toBe("False");
      expect(warned().join()).toContain(why);
      expect(world.said.join("\n")).not.toContain("TypeError");
    },
  );

  it("gets one event for an unreadable placement group, whatever AWS's wording, and is read again once a minute", async () => {
    world = await awsWorld();
    let times = 0;
    world.aws.faults.failCalls({
      action: "DescribePlacementGroups",
      code: "RequestTimeTooSkewed",
      get message() {
        // Each reconcile requests the next one, so the number of attempts must be limited here.
        return `Signature expired: ${Math.min(++times, 500)}`;
      },
      status: 403,
    });
    await world.kube.create(
      EC2_NODE_CLASS,
      ec2NodeClass({ placementGroupSelector: { name: "near" } }),
    );
    await world.clock.advance(10 * MINUTE);
    expect(times).toBeGreaterThan(5);
    expect(times).toBeLessThan(50);
    expect(warned()).toHaveLength(1);
  });

  it("gets one event for a refusal that EC2 words differently each time", async () => {
    world = await awsWorld();
    let times = 0;
    world.aws.faults.failCalls({
      action: "DescribeSubnets",
      code: "UnauthorizedOperation",
      get message() {
        return `You are not authorized. Encoded authorization failure message: x${++times}`;
      },
      status: 403,
    });
    await world.kube.create(EC2_NODE_CLASS, ec2NodeClass());
    await world.clock.advance(10 * MINUTE);
    expect(shown("SubnetsReady")).toMatchObject({ status: "Unknown", reason: "ResolutionFailed" });
    expect(shown("SubnetsReady")?.message).toBe("UnauthorizedOperation: You are not authorized.");
    expect(warned()).toHaveLength(1);
    // A user with the right to decode the message finds it in the log.
    expect(world.said.join("\n")).toContain('"encodedMessage":"x1"');
  });
});

describe("credentials that expire", () => {
  it("make launches fail with a reason, change no known facts, and leave nothing behind", async () => {
    await begin();
    const before = world.aws.state.instances.size;
    const undo = world.aws.faults.failCalls({
      code: "ExpiredToken",
      message: "The security token included in the request is expired",
      status: 403,
    });
    await world.clock.advance(3 * MINUTE);
    const failed = await launch().catch((error) => error);
    expect(failed).toBeInstanceOf(CreateError);
    expect(failed.message).toContain("ExpiredToken");
    expect(shown("Ready")?.status).toBe("True");
    expect(world.aws.state.instances.size).toBe(before);
    expect(world.said.join("\n")).toContain("ExpiredToken");
    undo();
    await world.clock.advance(3 * MINUTE);
    await expect(launch()).resolves.toBeDefined();
  });
});

describe("credentials that are refused at a launch", () => {
  it.each([
    ["ExpiredToken", "The security token included in the request is not accepted"],
    ["InvalidClientTokenId", "The security token included in the request is not accepted"],
    ["RequestExpired", "Request has expired"],
    ["RequestTimeTooSkewed", "The difference between the request time and ours is too large"],
    // EC2's own words for unknown keys and for a clock that is off.
    ["AuthFailure", "AWS was not able to validate the provided access credentials"],
  ])(
    "with %s set that reason on the claim, and the next launch succeeds after they are valid again",
    async (code, message) => {
      await begin();
      const fault = { action: "CreateFleet", code, message, status: 403 };
      const undo = world.aws.faults.failCalls(fault);
      const failed = await launch().catch((error) => error);
      expect(failed).toBeInstanceOf(CreateError);
      expect(failed).toMatchObject({ conditionReason: "CredentialsInvalid" });
      undo();
      await expect(launch()).resolves.toBeDefined();
    },
  );
});

describe("a region without prices", () => {
  it("is reported, uses the embedded prices, and then AWS's once they can be read", async () => {
    const away = { code: "InternalServiceError", message: "no prices today", status: 500 };
    const undo: (() => void)[] = [];
    world = await awsWorld(
      {},
      {
        prepare: ({ faults }) => {
          undo.push(faults.failCalls({ ...away, action: "GetProducts" }));
          undo.push(faults.failCalls({ ...away, action: "DescribeSpotPriceHistory" }));
        },
      },
    );
    await world.kube.create(EC2_NODE_CLASS, ec2NodeClass());
    await world.clock.advance(2_000);
    const prices = async (): Promise<readonly number[]> => {
      const classRef = claimOf().spec.nodeClassRef;
      const types = await world.settle(world.cloud.getInstanceTypes(pool({ classRef })));
      const found = types.find((one) => one.name === "m5.large");
      return found?.offerings.map((one) => (one.available ? one.priceMicroUsd : 0)) ?? [];
    };
    expect(new Set(await prices())).toEqual(new Set([96_000]));
    for (const what of ["on-demand", "spot"]) {
      expect(world.lines).toContain(`retrieving ${what} pricing data, using existing pricing data`);
    }
    await expect(launch()).resolves.toBeDefined();
    for (const end of undo) end();
    await world.clock.advance(5 * MINUTE);
    expect(Math.min(...(await prices()))).toBeLessThan(96_000);
  });
});

describe("an EC2NodeClass whose resources AWS does not let Karpenter delete", () => {
  it.each([
    ["iam", "ListInstanceProfiles"],
    ["iam", "GetInstanceProfile"],
    ["iam", "RemoveRoleFromInstanceProfile"],
    ["iam", "DeleteInstanceProfile"],
    ["ec2", "DescribeLaunchTemplates"],
    ["ec2", "DeleteLaunchTemplate"],
  ])(
    "reports what is refused, stays, and is deleted once it is allowed: %s:%s",
    async (service, action) => {
      await begin();
      const launched = await launch();
      await world.settle(world.cloud.delete(launched));
      await world.clock.advance(MINUTE);
      const message = `not authorized to perform: ${service}:${action}`;
      const code = service === "iam" ? "AccessDenied" : "UnauthorizedOperation";
      const undo = world.aws.faults.failCalls({ action, code, message, status: 403 });
      await world.kube.delete(EC2_NODE_CLASS, { name: "default" });
      await world.clock.advance(MINUTE);
      expect(warned().join("\n")).toContain("DeletionFailed Not deleted yet");
      expect(warned().join("\n")).toContain(message);
      expect(world.kube.find(EC2_NODE_CLASS, "default")).toBeDefined();
      undo();
      await world.clock.advance(10 * MINUTE);
      expect(world.kube.find(EC2_NODE_CLASS, "default")).toBeUndefined();
    },
  );
});

describe("a role that is deleted", () => {
  it("makes the class not ready with an event, stops its launches, and leaves other classes ready", async () => {
    await begin();
    world.aws.state.roles.delete(ROLE);
    for (const profile of world.aws.state.profiles.values()) {
      if (profile.role === ROLE) (profile as { role: string | undefined }).role = undefined;
    }
    await world.clock.advance(20 * MINUTE);
    expect(shown("InstanceProfileReady")).toMatchObject({
      status: "False",
      reason: "RoleNotFound",
    });
    expect(shown("InstanceProfileReady")?.message).toContain(`role "${ROLE}" does not exist`);
    expect(world.errors).toEqual(["role of the class not found"]);
    expect(warned()).toEqual([expect.stringContaining(`role "${ROLE}" does not exist`)]);
    expect(world.lines).not.toContain("Reconciler error");
    expect(shown("Ready")?.status).toBe("False");
    await expect(launch()).rejects.toThrow(NodeClassNotReadyError);
    expect(shown("Ready", "other")?.status).toBe("True");
    await expect(launch("other")).resolves.toBeDefined();
    world.aws.controls.addRole(ROLE);
    await world.clock.advance(20 * MINUTE);
    expect(shown("Ready")?.status).toBe("True");
    await expect(launch()).resolves.toBeDefined();
  });
});

describe("an image that is deleted", () => {
  it("fails the running launch with a reason, then makes the class not ready; other classes continue", async () => {
    await begin({ amiSelectorTerms: [{ id: "ami-gone" }] });
    world.aws.controls.addImage({ id: "ami-gone", name: "own" });
    await world.clock.advance(2 * MINUTE);
    expect(shown("Ready")?.status).toBe("True");
    const before = world.aws.state.instances.size;
    world.aws.state.images.delete("ami-gone");
    const failed = await launch().catch((error) => error);
    expect(failed).toBeInstanceOf(CreateError);
    expect(failed.conditionReason).toBe("AMINotFound");
    await world.clock.advance(20 * MINUTE);
    expect(shown("AMIsReady")).toMatchObject({ status: "False", reason: "AMINotFound" });
    expect(shown("AMIsReady")?.message).toContain('spec.amiSelectorTerms is [{"id":"ami-gone"}]');
    await expect(launch()).rejects.toThrow(NodeClassNotReadyError);
    expect(world.aws.state.instances.size).toBe(before);
    await expect(launch("other")).resolves.toBeDefined();
  });
});

describe("throttling by AWS", () => {
  it("of every kind of call leaves the class ready, lets launches succeed, and few calls are made", async () => {
    await begin();
    const undo = world.aws.faults.throttle();
    const mark = world.aws.journal.mark;
    await world.clock.advance(10 * MINUTE);
    expect(shown("Ready")?.status).toBe("True");
    const asked = new Map<string, number>();
    for (const { action } of world.aws.journal.calls({ after: mark })) {
      asked.set(action, (asked.get(action) ?? 0) + 1);
    }
    expect(Math.max(...asked.values())).toBeLessThan(40);
    const told = world.said.filter((line) => line.includes("AWS does not answer for now"));
    expect(told.filter((line) => line.includes("DescribeImages")).length).toBeGreaterThan(0);
    expect(told.filter((line) => line.includes("DescribeImages")).length).toBeLessThan(11);
    undo();
    await expect(launch()).resolves.toBeDefined();
  });

  it.each(["DescribeLaunchTemplates", "CreateLaunchTemplate"])(
    "%s, for 43 seconds, delays all launches together, and none fails",
    async (action) => {
      await begin();
      const undo = world.aws.faults.throttle(action);
      world.clock.after(43_000, undo);
      const mark = world.aws.journal.mark;
      const wanted = ["m5.large", "m5.xlarge", "m6g.large", "m6g.xlarge", "c5.large", "c6g.large"];
      const launches = wanted.map((type) => {
        const only = { key: "node.kubernetes.io/instance-type", operator: "In", values: [type] };
        return world.cloud.create(awsClaim([only as never]));
      });
      await expect(world.settle(Promise.all(launches))).resolves.toHaveLength(wanted.length);
      const calls = world.aws.journal.calls({ action, after: mark });
      expect(calls.length).toBeLessThan(8 * wanted.length);
    },
  );
});
