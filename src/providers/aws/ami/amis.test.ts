/** Which images of a class launches may use, if its status or EC2's answers by ID are odd. */
import { describe, expect, it } from "vitest";
import type { EC2NodeClass } from "../../../apis/aws/ec2nodeclass.ts";
import { type AwsClass, toAwsClass } from "../../../apis/hub/aws-class.ts";
import { SILENT } from "../../../base/log.ts";
import { VirtualClock } from "../../../base/virtual-clock.ts";
import { ec2NodeClass } from "../../../testing/aws-world.ts";
import type { AwsApi } from "../api/aws-api.ts";
import { AwsError } from "../api/call.ts";
import type { DescribeImagesInput, Image } from "../api/images-and-types.ts";
import { passes } from "../selection/passes.ts";
import { Amis } from "./amis.ts";

const SELF = "111111111111";
const FOREIGN = "666666666666";
type Terms = NonNullable<EC2NodeClass["spec"]["amiSelectorTerms"]>;

function image(id: string, day: string, OwnerId = SELF): Image {
  return {
    ...{ ImageId: id, Name: `golden-${id}`, Architecture: "x86_64", OwnerId, Tags: [] },
    ...{ CreationDate: `${day}T00:00:00Z`, State: "available" },
  };
}

/** An account with these images. `gone`: EC2 describes them no more. `refused`: they are not shared any more. */
function account(images: readonly Image[]) {
  const clock = new VirtualClock();
  const gone = new Set<string>();
  const refused = new Set<string>();
  const problems = { sts: false };
  const ownedBy = (one: Image, owner: string) =>
    owner === one.OwnerId || (owner === "self" && one.OwnerId === SELF);
  const describeImages = async ({ ImageIds, Owners, Filters }: DescribeImagesInput) => {
    const there = images.filter(({ ImageId }) => !gone.has(ImageId));
    const bad = ImageIds?.filter((id) => refused.has(id)) ?? [];
    if (bad.length > 0) throw new AwsError("AuthFailure", `Not authorized for images: [${bad}]`);
    if (ImageIds !== undefined)
      return { Images: there.filter(({ ImageId }) => ImageIds.includes(ImageId)) };
    return {
      Images: there.filter(
        (one) =>
          (Owners?.some((owner) => ownedBy(one, owner)) ?? true) &&
          passes(Filters ?? [], {
            fields: { name: one.Name, state: one.State, "image-id": one.ImageId },
            tags: [],
          }),
      ),
    };
  };
  const getCallerIdentity = async () => {
    if (problems.sts) throw new AwsError("NetworkError", "no endpoint", 0);
    return { Account: SELF, Arn: "", UserId: "" };
  };
  const amis = new Amis({
    api: { ec2: { describeImages }, ssm: {}, sts: { getCallerIdentity } } as unknown as AwsApi,
    ...{ clock, log: SILENT, refreshMs: 60_000 },
    kubernetesVersion: async () => "1.34",
  });
  const settle = async <V>(work: Promise<V>): Promise<V> => {
    const [value] = await Promise.all([work, clock.advance(2_000)]);
    return value;
  };
  const ids = async (nodeClass: AwsClass) =>
    (await settle(amis.list(nodeClass))).map(({ id }) => id).join();
  const verdicts = async (nodeClass: AwsClass, all: readonly string[]) => {
    const proofs = await settle(amis.prove(nodeClass, all));
    return all.map((id) => proofs.get(id)?.verdict).join();
  };
  return { clock, gone, refused, problems, ids, verdicts };
}

/** A class with these terms. `amis`: the images that its status names. */
function classOf(terms: Terms, amis: readonly string[] = []): AwsClass {
  const native = ec2NodeClass({ amiSelectorTerms: terms, amiFamily: "AL2023" });
  const metadata = { ...native.metadata, generation: 3 };
  const condition = { type: "AMIsReady", status: "True", observedGeneration: 3 };
  const status = { amis: amis.map((id) => ({ id })), conditions: [condition] };
  return toAwsClass({ ...native, metadata, status } as unknown as EC2NodeClass);
}

describe("an image of another account that the status of the class names", () => {
  const OWN = image("ami-own", "2025-01-01");
  const images = [OWN, image("ami-evil", "2026-01-01", FOREIGN)];

  it.each<[Terms]>([[[{ name: "golden-*" }]], [[{ name: "golden-*", owner: "self" }]]])(
    "is not launched: %j",
    async (terms) => {
      const { ids, problems } = account(images);
      problems.sts = true;
      expect(await ids(classOf(terms, ["ami-own", "ami-evil"]))).toBe("ami-own");
      problems.sts = false;
      const known = account(images);
      expect(await known.ids(classOf(terms, ["ami-evil"]))).toBe("ami-own");
      expect(await known.verdicts(classOf(terms), ["ami-own", "ami-evil"])).toBe(
        "selected,refused",
      );
    },
  );

  it("proves nothing while the account is unknown, except of what a list named", async () => {
    const { problems, verdicts } = account([...images, image("ami-x", "2025-02-01", FOREIGN)]);
    problems.sts = true;
    expect(await verdicts(classOf([{ name: "golden-*" }]), ["ami-own", "ami-x"])).toBe(
      "selected,doubted",
    );
  });
});

describe("an image that EC2 neither lists nor describes any more", () => {
  it("is launched no more, from the next list on", async () => {
    const { clock, gone, ids } = account([
      image("ami-good", "2025-01-01"),
      image("ami-bad", "2026-01-01"),
    ]);
    const nodeClass = classOf([{ name: "golden-*" }]);
    expect(await ids(nodeClass)).toBe("ami-bad");
    gone.add("ami-bad");
    await clock.advance(61_000);
    expect(await ids(nodeClass)).toBe("ami-good");
  });
});

describe("an image that is not shared with the account any more", () => {
  it("does not keep EC2 from answering about the others", async () => {
    const { refused, verdicts } = account([
      image("ami-old", "2025-01-01", FOREIGN),
      image("ami-new", "2026-01-01", FOREIGN),
    ]);
    refused.add("ami-old");
    const nodeClass = classOf([{ id: "ami-new" }]);
    expect(await verdicts(nodeClass, ["ami-old", "ami-new"])).toBe("excluded,selected");
  });
});
