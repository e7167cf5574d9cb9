/**
 * The webhook's checks of the AWS fields in an AWSNodeTemplate, or inline in a Provisioner. All paths start with
 * `spec.provider`, as in upstream.
 * upstream: provider's v1alpha1 validation at v0.31
 */
import { isObject } from "../../base/json.ts";
import { parseNano } from "../../base/quantity.ts";
import type { AWSNodeTemplate } from "../aws/awsnodetemplate.ts";
import type { BlockDeviceMapping, MetadataOptions } from "../aws/ec2nodeclass.ts";
import {
  exactlyOne,
  type FieldProblem,
  invalidKey,
  invalidValue,
  missing,
  outOfBounds,
  problem,
} from "./validation.ts";

type Block = AWSNodeTemplate["spec"];

const BASE = "spec.provider";
const FAMILIES = ["AL2", "Bottlerocket", "Ubuntu", "Windows2019", "Windows2022", "Custom"];
const VOLUME_TYPES = ["standard", "io1", "io2", "gp2", "sc1", "st1", "gp3"];
const ID_KEYS = ["aws-ids", "aws::ids"];
const GIGABYTE_NANO = 1_000_000_000n * 1_000_000_000n;

/**
 * Tags by which Karpenter finds its instances, so users must not set them. The last one is not forbidden in upstream.
 */
const RESTRICTED_TAGS = [
  /^kubernetes\.io\/cluster\//,
  /^karpenter\.sh\/provisioner-name$/,
  /^karpenter\.sh\/managed-by$/,
  /^karpenter\.k8s\.aws\/cluster$/,
];

const INLINE_FIELDS: readonly string[] = [
  "apiVersion",
  "kind",
  "amiFamily",
  "context",
  "instanceProfile",
  "subnetSelector",
  "securityGroupSelector",
  "tags",
  "launchTemplate",
  "metadataOptions",
  "blockDeviceMappings",
];

/**
 * Checks the inline provider. Unknown fields are errors. It must name an instance profile, unless the settings have
 * one.
 */
export function validateInlineProvider(
  provider: Readonly<Record<string, unknown>> | undefined,
  settings: { readonly defaultInstanceProfile: string | undefined },
): readonly FieldProblem[] {
  if (provider === undefined) return [];
  const misfits = shapeProblems(provider);
  if (misfits.length > 0) return misfits;
  const block = provider as Block;
  const noProfile = !block.instanceProfile && settings.defaultInstanceProfile === undefined;
  return [
    ...(noProfile && block.launchTemplate === undefined
      ? [missing(`${BASE}.instanceProfile`)]
      : []),
    ...validateAwsBlock(block, "inline"),
  ];
}

/** Checks the types of the inline provider's fields, because the schema does not. */
function shapeProblems(provider: Readonly<Record<string, unknown>>): readonly FieldProblem[] {
  const problems: FieldProblem[] = [];
  for (const [field, value] of Object.entries(provider)) {
    const path = `${BASE}.${field}`;
    const isMap = ["subnetSelector", "securityGroupSelector", "tags"].includes(field);
    if (!INLINE_FIELDS.includes(field)) {
      problems.push(problem(`json: unknown field "${field}"`, BASE));
    } else if (field === "blockDeviceMappings") {
      if (!Array.isArray(value)) problems.push(problem("invalid value: expected a list", path));
    } else if (isMap || field === "metadataOptions") {
      if (!isObject(value)) problems.push(problem("invalid value: expected a map", path));
      else if (isMap && !Object.values(value).every((one) => typeof one === "string"))
        problems.push(problem("invalid value: expected a map of texts", path));
    } else if (typeof value !== "string") {
      problems.push(problem("invalid value: expected a text", path));
    }
  }
  return problems;
}

/** The problems of the AWS fields of v1alpha1. Empty: they are valid. */
export function validateAwsBlock(
  block: Block,
  where: "template" | "inline",
): readonly FieldProblem[] {
  return [
    ...launchTemplate(block),
    ...selector(block.subnetSelector, "subnetSelector", /^subnet-[0-9a-z]+$/, "required"),
    ...selector(
      block.securityGroupSelector,
      "securityGroupSelector",
      /^sg-[0-9a-z]+$/,
      block.launchTemplate === undefined ? "required" : "optional",
    ),
    ...tags(block.tags ?? {}),
    ...metadataOptions(block.metadataOptions),
    ...amiFamily(block, where),
    ...(block.blockDeviceMappings ?? []).flatMap(blockDevice),
    ...selector(block.amiSelector, "amiSelector", /^ami-[0-9a-z]+$/, "optional"),
  ];
}

/** Checks that certain fields are empty if `launchTemplate` names an existing launch template. */
function launchTemplate(block: Block): readonly FieldProblem[] {
  if (block.launchTemplate === undefined) return [];
  const excluded = [
    "securityGroupSelector",
    "metadataOptions",
    "amiFamily",
    "instanceProfile",
    "blockDeviceMappings",
    "userData",
    "amiSelector",
  ] as const;
  return excluded
    .filter((field) => block[field] !== undefined)
    .map((field) => exactlyOne("both", `${BASE}.launchTemplate`, `${BASE}.${field}`));
}

function selector(
  map: Readonly<Record<string, string>> | undefined,
  field: string,
  id: RegExp,
  need: "required" | "optional",
): readonly FieldProblem[] {
  const path = `${BASE}.${field}`;
  if (map === undefined) return need === "required" ? [missing(path)] : [];
  const problems: FieldProblem[] = [];
  for (const key of Object.keys(map)) {
    const value = map[key] as string;
    if (key === "" || value === "") problems.push(invalidValue(`"${value}"`, `${path}['${key}']`));
    if (!ID_KEYS.includes(key)) continue;
    for (const one of value.split(",")) {
      if (!id.test(one.trim())) problems.push(invalidValue(`"${value}"`, `${path}['${key}']`));
    }
    if (Object.keys(map).length > 1)
      problems.push(
        problem(
          `"${key}" filter is mutually exclusive, cannot be set with a combination of other filters in`,
          path,
        ),
      );
  }
  return problems;
}

function tags(all: Readonly<Record<string, string>>): readonly FieldProblem[] {
  const path = `${BASE}.tags`;
  return Object.keys(all).flatMap((key) => {
    if (key === "")
      return [
        problem(
          `the tag with key : '' and value : '${all[key]}' is invalid because empty tag keys aren't supported`,
          path,
        ),
      ];
    const pattern = RESTRICTED_TAGS.find((one) => one.test(key));
    if (pattern === undefined) return [];
    return [invalidKey(key, path, "tag is restricted: Karpenter finds its machines by it")];
  });
}

function metadataOptions(options: MetadataOptions | undefined): readonly FieldProblem[] {
  if (options === undefined) return [];
  const path = `${BASE}.metadataOptions`;
  const legal = {
    httpEndpoint: ["enabled", "disabled"],
    httpProtocolIPv6: ["enabled", "disabled"],
    httpTokens: ["required", "optional"],
  } as const;
  const problems: FieldProblem[] = [];
  for (const field of ["httpEndpoint", "httpProtocolIPv6", "httpTokens"] as const) {
    const value = options[field];
    const allowed: readonly string[] = legal[field];
    if (value !== undefined && !allowed.includes(value))
      problems.push(
        invalidValue(value, `${path}.${field}`, `${value} not in ${allowed.join(", ")}`),
      );
  }
  const hops = options.httpPutResponseHopLimit;
  if (hops !== undefined && (hops < 1 || hops > 64))
    problems.push(outOfBounds(hops, 1, 64, `${path}.httpPutResponseHopLimit`));
  return problems;
}

function amiFamily(block: Block, where: "template" | "inline"): readonly FieldProblem[] {
  const family = block.amiFamily;
  if (family === undefined) return [];
  if (!FAMILIES.includes(family))
    return [invalidValue(family, `${BASE}.amiFamily`, `${family} not in ${FAMILIES.join(", ")}`)];
  const noImage = family === "Custom" && block.amiSelector === undefined;
  return noImage && where === "template" ? [missing(`${BASE}.amiSelector`)] : [];
}

function blockDevice(mapping: BlockDeviceMapping, index: number): readonly FieldProblem[] {
  const path = `${BASE}.blockDeviceMappings[${index}]`;
  const problems: FieldProblem[] = [];
  if (!mapping.deviceName) problems.push(missing(`${path}.deviceName`));
  const { ebs } = mapping;
  if (ebs === undefined) return [...problems, missing(`${path}.ebs`)];
  if (ebs.volumeType !== undefined && !VOLUME_TYPES.includes(ebs.volumeType))
    problems.push(
      invalidValue(
        ebs.volumeType,
        `${path}.ebs.volumeType`,
        `${ebs.volumeType} not in ${VOLUME_TYPES.join(", ")}`,
      ),
    );
  if (ebs.volumeSize === undefined) {
    if (ebs.snapshotID === undefined) problems.push(missing(`${path}.ebs.volumeSize`));
    return problems;
  }
  const size = parseNano(ebs.volumeSize);
  if (size === undefined || size < GIGABYTE_NANO || size > 64_000n * GIGABYTE_NANO)
    problems.push(
      invalidValue(ebs.volumeSize, `${path}.ebs.volumeSize`, "expected 1G to 64T as a quantity"),
    );
  return problems;
}
