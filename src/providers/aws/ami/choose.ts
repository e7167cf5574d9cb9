/**
 * Which images of a class are used, and which one an instance type gets. Of images that fit the same instance types,
 * one is used: the newest that is not deprecated, else the newest. upstream: pkg/providers/amifamily/types.go
 */
import { AWS_WELL_KNOWN_LABELS } from "../../../apis/aws/labels.ts";
import type { AwsClass } from "../../../apis/hub/aws-class.ts";
import { ARCH_LABEL_KEY, WELL_KNOWN_LABELS } from "../../../apis/karpenter/labels.ts";
import type { RequirementSpec } from "../../../apis/karpenter/nodepool.ts";
import { fromRfc3339 } from "../../../base/clock.ts";
import { canonicalJson } from "../../../base/json.ts";
import type { InstanceType } from "../../../core/cloudprovider/instance-type.ts";
import { oneOf } from "../../../core/scheduling/requirement.ts";
import { normalizedKey, Requirements } from "../../../core/scheduling/requirements.ts";
import type { Image } from "../api/images-and-types.ts";

/** An image, with the instance types that it fits. */
export interface Ami {
  readonly id: string;
  readonly name: string;
  readonly creationDate: string;
  readonly deprecated: boolean;
  /**
   * Requirements on the instance types that the image fits. They are sorted by the length of the key, then by key, as
   * in the status of the class.
   */
  readonly requirements: readonly RequirementSpec[];
}

const ARCHITECTURES: Readonly<Record<string, string>> = { x86_64: "amd64", arm64: "arm64" };
const KNOWN_LABELS: ReadonlySet<string> = new Set([...WELL_KNOWN_LABELS, ...AWS_WELL_KNOWN_LABELS]);

/**
 * The version of an image: that of the class's alias, such as `latest`, else the one in the name of the image, such as
 * `1.47.0`.
 */
export function imageVersion(terms: AwsClass["amiTerms"], ami: Ami): string | undefined {
  const alias = terms.find((term) => term.alias !== undefined)?.alias;
  const version = alias?.split("@")[1] ?? /-(v\d+\.[\d.]+)(?:-|$)/.exec(ami.name)?.[1];
  return version?.replace(/^v/, "");
}

/** The image with its requirements. Undefined: Kubernetes nodes have no label value for its architecture. */
export function toAmi(
  image: Image,
  extra: readonly RequirementSpec[],
  nowMs: number,
): Ami | undefined {
  const arch = ARCHITECTURES[image.Architecture];
  if (arch === undefined) return undefined;
  const deprecatedMs = fromRfc3339(image.DeprecationTime);
  const own: RequirementSpec = { key: ARCH_LABEL_KEY, operator: "In", values: [arch] };
  const requirements = [own, ...extra.filter((one) => one.key !== ARCH_LABEL_KEY)].sort(
    (a, b) => a.key.length - b.key.length || (a.key < b.key ? -1 : 1),
  );
  return {
    id: image.ImageId,
    name: image.Name,
    creationDate: image.CreationDate,
    deprecated: deprecatedMs !== undefined && deprecatedMs <= nowMs,
    requirements,
  };
}

/** In v1alpha5, well-known labels among the tags say which instance types an image fits. */
export function tagRequirements(image: Image): readonly RequirementSpec[] {
  return image.Tags.filter((tag) => KNOWN_LABELS.has(tag.Key)).map(
    (tag): RequirementSpec => ({ key: tag.Key, operator: "In", values: [tag.Value] }),
  );
}

/**
 * One image for each set of requirements: the newest that is not deprecated, else the newest. The result is sorted from
 * newest to oldest, then by id.
 */
export function newestOfEach(amis: readonly Ami[]): readonly Ami[] {
  const best = new Map<string, Ami>();
  for (const ami of amis) {
    const key = canonicalJson(ami.requirements);
    const rival = best.get(key);
    if (rival === undefined || isBetter(ami, rival)) best.set(key, ami);
  }
  return [...best.values()].sort((a, b) => {
    if (a.creationDate !== b.creationDate) return a.creationDate > b.creationDate ? -1 : 1;
    if (a.id !== b.id) return a.id < b.id ? -1 : 1;
    return canonicalJson(a.requirements) < canonicalJson(b.requirements) ? -1 : 1;
  });
}

function isBetter(a: Ami, b: Ami): boolean {
  if (a.deprecated !== b.deprecated) return b.deprecated;
  if (a.creationDate !== b.creationDate) return a.creationDate > b.creationDate;
  if (a.name !== b.name) return a.name > b.name;
  return a.id < b.id;
}

/** The image for each list of images and labels of a type. Neither ever changes. */
const fitting = new WeakMap<readonly Ami[], WeakMap<InstanceType["labels"], Ami | "none">>();

/** The first image, in the order of {@link newestOfEach}, that fits the type. */
export function amiFor(type: InstanceType, amis: readonly Ami[]): Ami | undefined {
  let known = fitting.get(amis);
  if (known === undefined) {
    known = new WeakMap();
    fitting.set(amis, known);
  }
  let ami = known.get(type.labels);
  if (ami === undefined) {
    const own = requirementsOn(type, amis);
    ami = amis.find((one) => own.accepts(requirementsOf(one), KNOWN_LABELS)) ?? "none";
    known.set(type.labels, ami);
  }
  return ami === "none" ? undefined : ami;
}

/**
 * What the type's labels say about the keys that the images require. All labels of a thousand types would take ten
 * times as long.
 */
function requirementsOn({ labels }: InstanceType, amis: readonly Ami[]): Requirements {
  const isAsked = (label: string) =>
    amis.some((ami) => requirementsOf(ami).has(normalizedKey(label)));
  const asked = Object.keys(labels).filter(isAsked);
  return Requirements.of(asked.map((key) => oneOf(key, labels[key] ?? [])));
}

const amiRequirements = new WeakMap<Ami, Requirements>();

function requirementsOf(ami: Ami): Requirements {
  let known = amiRequirements.get(ami);
  if (known === undefined) {
    known = Requirements.fromSpecs(ami.requirements);
    amiRequirements.set(ami, known);
  }
  return known;
}
