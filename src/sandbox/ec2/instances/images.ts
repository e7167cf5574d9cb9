/**
 * Machine images, and the SSM parameters that name them. There is one image for each operating system,
 * architecture and kind of accelerator, with AWS's names for a Kubernetes version.
 */
import type { Random } from "../../../base/random.ts";
import { AwsError } from "../../../providers/aws/api/call.ts";
import type { Ec2Api } from "../../../providers/aws/api/ec2.ts";
import type { BlockDeviceMapping } from "../../../providers/aws/api/launches.ts";
import type { SsmApi } from "../../../providers/aws/api/ssm.ts";
import { applyFilters, pageOf } from "../account/filters.ts";
import type { Answers, AwsState, ImageRecord, ImageVariant } from "../account/state.ts";
import { awsTime, tagsOf } from "../account/state.ts";
import type { ImageFamily } from "../boot/user-data.ts";

const IMAGE_FILTERS: ReadonlySet<string> = new Set([
  "image-id",
  "name",
  "architecture",
  "owner-id",
  "owner-alias",
  "state",
  "description",
  "creation-date",
  "is-public",
  "platform-details",
  "root-device-name",
  "virtualization-type",
]);

type ImageCalls = Pick<Answers<Ec2Api>, "describeImages">;

/** The simulated EC2 call DescribeImages. */
export function imageCalls(state: AwsState): ImageCalls {
  return {
    describeImages(input) {
      const wanted = pickImages(state, input.ImageIds).filter(
        (record) =>
          ownedBy(state, record, input.Owners) &&
          (input.IncludeDeprecated === true || !isDeprecated(state, record)),
      );
      const kept = applyFilters(wanted, input.Filters, IMAGE_FILTERS, (record) => ({
        tags: state.tags.get(record.image.ImageId),
        fields: {
          "image-id": record.image.ImageId,
          name: record.image.Name,
          architecture: record.image.Architecture,
          "owner-id": record.image.OwnerId,
          "owner-alias": record.image.ImageOwnerAlias,
          state: record.image.State,
          description: record.image.Description,
          "creation-date": record.image.CreationDate,
          "is-public": String(record.image.OwnerId !== state.accountId),
          "platform-details": record.image.PlatformDetails,
          "root-device-name": record.image.RootDeviceName,
          "virtualization-type": "hvm",
        },
      }));
      const page = pageOf(kept, input, { limit: 1000 });
      const Images = page.items.map((record) => ({
        ...record.image,
        Tags: tagsOf(state, record.image.ImageId),
      }));
      return { Images, ...page.next };
    },
  };
}

function pickImages(state: AwsState, ids: readonly string[] | undefined): ImageRecord[] {
  if (ids === undefined || ids.length === 0) return [...state.images.values()];
  for (const id of ids) if (!/^ami-[0-9a-z-]+$/.test(id)) throw malformed(id);
  const missing = ids.filter((id) => !state.images.has(id));
  if (missing.length > 0) {
    const text = missing.length === 1 ? "image id" : "image ids";
    const verb = missing.length === 1 ? "does" : "do";
    const message = `The ${text} '[${missing.join(", ")}]' ${verb} not exist`;
    throw new AwsError("InvalidAMIID.NotFound", message);
  }
  return ids.map((id) => state.images.get(id) as ImageRecord);
}

function malformed(id: string): AwsError {
  return new AwsError("InvalidAMIID.Malformed", `Invalid id: "${id}" (expecting "ami-...")`);
}

function ownedBy(
  state: AwsState,
  record: ImageRecord,
  owners: readonly string[] | undefined,
): boolean {
  if (owners === undefined || owners.length === 0) return true;
  return owners.some(
    (owner) =>
      owner === record.image.OwnerId ||
      owner === record.image.ImageOwnerAlias ||
      (owner === "self" && record.image.OwnerId === state.accountId),
  );
}

function isDeprecated(state: AwsState, record: ImageRecord): boolean {
  const time = record.image.DeprecationTime;
  return time !== undefined && time <= awsTime(state.clock.now());
}

/** The simulated SSM call GetParameter. */
export function ssmCalls(state: AwsState): Answers<SsmApi> {
  return {
    getParameter(input) {
      const value = state.parameters.get(input.Name);
      if (value === undefined) {
        throw new AwsError("ParameterNotFound", `Parameter ${input.Name} not found.`);
      }
      return { Parameter: { Name: input.Name, Value: value, Version: 1 } };
    },
  };
}

/** An image to publish, and the SSM parameters that will name it. */
interface Publication {
  readonly name: string;
  readonly family: ImageFamily;
  readonly variant: ImageVariant;
  readonly arch: "x86_64" | "arm64";
  readonly osImage: string;
  readonly owner: "amazon" | "canonical";
  readonly parameters: readonly string[];
}

const AMAZON_ACCOUNT = "602401143452";
const CANONICAL_ACCOUNT = "099720109477";
const DAY_MS = 86_400_000;

/**
 * Publishes the stock images of a Kubernetes minor version (`1.34`). Their ids come from the random stream.
 * The images are ten days old.
 */
export function publishStockImages(state: AwsState, kubernetesVersion: string): void {
  const random = state.random.fork("images");
  const builtMs = state.clock.now() - 10 * DAY_MS;
  const day = awsTime(builtMs).slice(0, 10).replaceAll("-", "");
  for (const publication of stockImages(kubernetesVersion, day)) {
    publish(state, random, publication, builtMs);
  }
}

function publish(state: AwsState, random: Random, item: Publication, builtMs: number): void {
  const ImageId = `ami-${random.hex(17)}`;
  const isWindows = item.family.startsWith("Windows");
  state.images.set(ImageId, {
    image: {
      ImageId,
      Name: item.name,
      Architecture: item.arch,
      CreationDate: awsTime(builtMs),
      DeprecationTime: awsTime(builtMs + 730 * DAY_MS),
      OwnerId: item.owner === "amazon" ? AMAZON_ACCOUNT : CANONICAL_ACCOUNT,
      ...(item.owner === "amazon" ? { ImageOwnerAlias: "amazon" } : {}),
      State: "available",
      Description: item.osImage,
      PlatformDetails: isWindows ? "Windows" : "Linux/UNIX",
      RootDeviceName: rootDevice(item.family),
    },
    family: item.family,
    variant: item.variant,
    osImage: item.osImage,
    blockDevices: imageDevices(item.family),
  });
  for (const path of item.parameters) state.parameters.set(path, ImageId);
}

function rootDevice(family: ImageFamily): string {
  return family === "Ubuntu" || family.startsWith("Windows") ? "/dev/sda1" : "/dev/xvda";
}

/** The image's own block devices. A launch template may change them and add others. */
export function imageDevices(family: ImageFamily): BlockDeviceMapping[] {
  const device = (DeviceName: string, VolumeSize: number): BlockDeviceMapping => ({
    DeviceName,
    Ebs: { VolumeSize, VolumeType: "gp3", DeleteOnTermination: true },
  });
  if (family === "Bottlerocket") return [device("/dev/xvda", 2), device("/dev/xvdb", 20)];
  return [device(rootDevice(family), family.startsWith("Windows") ? 50 : 20)];
}

function stockImages(version: string, day: string): Publication[] {
  return [
    ...amazonLinux2(version, day),
    ...amazonLinux2023(version, day),
    ...bottlerocket(version),
    ...ubuntu(version, day),
    ...windows(version, day),
  ];
}

function amazonLinux2(version: string, day: string): Publication[] {
  const stem = `/aws/service/eks/optimized-ami/${version}`;
  const release = `v${day}`;
  const flavours = [
    { folder: "amazon-linux-2", file: "amazon-eks-node", arch: "x86_64", variant: "standard" },
    {
      folder: "amazon-linux-2-arm64",
      file: "amazon-eks-arm64-node",
      arch: "arm64",
      variant: "standard",
    },
    { folder: "amazon-linux-2-gpu", file: "amazon-eks-gpu-node", arch: "x86_64", variant: "gpu" },
  ] as const;
  return flavours.map(({ folder, file, arch, variant }) => ({
    name: `${file}-${version}-${release}`,
    family: "AL2",
    variant,
    arch,
    osImage: "Amazon Linux 2",
    owner: "amazon",
    parameters: [
      `${stem}/${folder}/recommended/image_id`,
      `${stem}/${folder}/${file}-${version}-${release}/image_id`,
    ],
  }));
}

function amazonLinux2023(version: string, day: string): Publication[] {
  const stem = `/aws/service/eks/optimized-ami/${version}/amazon-linux-2023`;
  const flavours = [
    ["x86_64", "standard"],
    ["x86_64", "nvidia"],
    ["x86_64", "neuron"],
    ["arm64", "standard"],
    ["arm64", "nvidia"],
  ] as const;
  return flavours.map(([arch, variant]) => {
    const name = `amazon-eks-node-al2023-${arch}-${variant}-${version}-v${day}`;
    return {
      name,
      family: "AL2023",
      variant,
      arch,
      osImage: "Amazon Linux 2023",
      owner: "amazon",
      parameters: [
        `${stem}/${arch}/${variant}/recommended/image_id`,
        `${stem}/${arch}/${variant}/${name}/image_id`,
      ],
    };
  });
}

const BOTTLEROCKET_VERSION = "1.50.0";

function bottlerocket(version: string): Publication[] {
  const flavours = [
    ["x86_64", "neuron", ""],
    ["arm64", "standard", ""],
    ["x86_64", "nvidia", "-nvidia"],
    ["arm64", "nvidia", "-nvidia"],
  ] as const;
  return flavours.map(([arch, variant, suffix]) => {
    const stem = `/aws/service/bottlerocket/aws-k8s-${version}${suffix}/${arch}`;
    return {
      name: `bottlerocket-aws-k8s-${version}${suffix}-${arch}-v${BOTTLEROCKET_VERSION}`,
      family: "Bottlerocket",
      variant,
      arch,
      osImage: `Bottlerocket OS ${BOTTLEROCKET_VERSION} (aws-k8s-${version}${suffix})`,
      owner: "amazon",
      parameters: [`${stem}/latest/image_id`, `${stem}/${BOTTLEROCKET_VERSION}/image_id`],
    };
  });
}

function ubuntu(version: string, day: string): Publication[] {
  return (["amd64", "arm64"] as const).map((arch) => ({
    name: `ubuntu-eks/k8s_${version}/images/hvm-ssd/ubuntu-focal-20.04-${arch}-server-${day}`,
    family: "Ubuntu",
    variant: "any",
    arch: arch === "amd64" ? "x86_64" : "arm64",
    osImage: "Ubuntu 20.04.6 LTS",
    owner: "canonical",
    parameters: [
      `/aws/service/canonical/ubuntu/eks/20.04/${version}/stable/current/${arch}/hvm/ebs-gp2/ami-id`,
    ],
  }));
}

function windows(version: string, day: string): Publication[] {
  const minor = Number(version.split(".")[1]);
  const years = ["2019", "2022", ...(minor >= 35 ? ["2025" as const] : [])] as const;
  return years.map((year) => {
    const stem = `Windows_Server-${year}-English-Core-EKS_Optimized-${version}`;
    return {
      name: `${stem}-${day.slice(0, 4)}.${day.slice(4, 6)}.${day.slice(6)}`,
      family: `Windows${year}`,
      variant: "standard",
      arch: "x86_64",
      osImage: `Windows Server ${year} Datacenter`,
      owner: "amazon",
      parameters: [`/aws/service/ami-windows-latest/${stem}/image_id`],
    };
  });
}
