/**
 * Conversion of EC2NodeClass between v1beta1 and v1. v1beta1 selects images by family, v1 by alias. The family Ubuntu
 * does not exist in v1; it becomes AL2 with an annotation.
 */
import type { BlockDeviceMapping, EC2NodeClass, EC2NodeClassV1Beta1 } from "../aws/ec2nodeclass.ts";
import {
  ANNOTATION_ALIAS_VERSION_COMPATIBILITY,
  ANNOTATION_UBUNTU_COMPATIBILITY,
  ANNOTATION_V1_ONLY,
} from "../aws/labels.ts";
import {
  GENERATION_ANNOTATION_KEY,
  STORED_VERSION_MIGRATED_ANNOTATION_KEY,
} from "../karpenter/labels.ts";
import type { KubeObject } from "../meta.ts";
import { annotated, parseObject } from "./annotations.ts";
import { ALIAS_FAMILIES, PLACEHOLDER_AMI_ID } from "./aws-class.ts";

/** Fields of v1 that v1beta1 does not have. */
const V1_ONLY = [
  "kubelet",
  "capacityReservationSelectorTerms",
  "placementGroupSelector",
  "ipPrefixCount",
  "networkInterfaces",
  "connectionTracking",
  "cpuOptions",
  "enclaveOptions",
] as const;

/** The default disks of v1beta1's Ubuntu family. */
const UBUNTU_DEVICES: readonly BlockDeviceMapping[] = [
  {
    deviceName: "/dev/sda1",
    rootVolume: true,
    ebs: { encrypted: true, volumeType: "gp3", volumeSize: "20Gi" },
  },
];

/**
 * Converts v1beta1 to v1. Values without a field in v1 are kept in annotations, so that nothing is lost when it is
 * converted back.
 */
export function nodeClassToV1(object: KubeObject): KubeObject {
  const beta = object as EC2NodeClassV1Beta1;
  const annotations = beta.metadata.annotations ?? {};
  const kept = parseObject(beta, ANNOTATION_V1_ONLY);
  const { amiFamily: keptFamily, amiSelectorTerms: keptTerms, ...fields } = kept;
  let spec: Record<string, unknown> = { ...beta.spec, ...fields };
  const notes: Record<string, string | undefined> = {};
  const terms = beta.spec.amiSelectorTerms ?? [];
  if (beta.spec.amiFamily === "Ubuntu") {
    const ubuntu = fromUbuntu(beta);
    spec = { ...spec, ...ubuntu.spec };
    notes[ANNOTATION_UBUNTU_COMPATIBILITY] = ubuntu.note;
  } else if (terms.length === 0 && beta.spec.amiFamily !== "Custom") {
    const family = beta.spec.amiFamily?.toLowerCase();
    const version = annotations[ANNOTATION_ALIAS_VERSION_COMPATIBILITY] ?? "latest";
    spec["amiSelectorTerms"] = [{ alias: `${family}@${version}` }];
    if (keptFamily === undefined) delete spec["amiFamily"];
    else spec["amiFamily"] = keptFamily;
  }
  if (keptTerms !== undefined) spec["amiSelectorTerms"] = keptTerms;
  return annotated({ ...beta, spec } as KubeObject, {
    [GENERATION_ANNOTATION_KEY]: "v1beta1",
    [ANNOTATION_ALIAS_VERSION_COMPATIBILITY]: undefined,
    [ANNOTATION_V1_ONLY]: undefined,
    ...notes,
  });
}

function fromUbuntu(beta: EC2NodeClassV1Beta1) {
  const { blockDeviceMappings, amiSelectorTerms } = beta.spec;
  const noDevices = blockDeviceMappings === undefined;
  const noTerms = (amiSelectorTerms ?? []).length === 0;
  const note = ["amiFamily"];
  if (noDevices) note.push("blockDeviceMappings");
  if (noTerms) note.push("incompatible");
  return {
    note: note.join(","),
    spec: {
      amiFamily: "AL2",
      ...(noDevices ? { blockDeviceMappings: UBUNTU_DEVICES } : {}),
      ...(noTerms ? { amiSelectorTerms: [{ id: PLACEHOLDER_AMI_ID }] } : {}),
    },
  };
}

/** Converts v1 to v1beta1. Values without a field in v1beta1 are kept in an annotation. */
export function nodeClassToV1Beta1(object: KubeObject): KubeObject {
  const v1 = object as EC2NodeClass;
  const spec: Record<string, unknown> = { ...v1.spec };
  const only: Record<string, unknown> = {};
  for (const field of V1_ONLY) {
    if (spec[field] !== undefined) only[field] = spec[field];
    delete spec[field];
  }
  const notes: Record<string, string | undefined> = {};
  const ubuntu = v1.metadata.annotations?.[ANNOTATION_UBUNTU_COMPATIBILITY]?.split(",");
  const terms = v1.spec.amiSelectorTerms ?? [];
  const alias = terms.find((term) => term.alias !== undefined)?.alias;
  if (ubuntu !== undefined) {
    spec["amiFamily"] = "Ubuntu";
    if (ubuntu.includes("blockDeviceMappings")) delete spec["blockDeviceMappings"];
    if (ubuntu.includes("incompatible")) delete spec["amiSelectorTerms"];
    notes[ANNOTATION_UBUNTU_COMPATIBILITY] = undefined;
  } else if (alias !== undefined) {
    const [family = "", ...version] = alias.split("@");
    if (v1.spec.amiFamily !== undefined) only["amiFamily"] = v1.spec.amiFamily;
    spec["amiFamily"] = ALIAS_FAMILIES[family.toLowerCase()] ?? family;
    delete spec["amiSelectorTerms"];
    if (version.join("@") !== "latest") {
      notes[ANNOTATION_ALIAS_VERSION_COMPATIBILITY] = version.join("@");
    }
  } else if (terms.some((term) => term.ssmParameter !== undefined)) {
    only["amiSelectorTerms"] = terms;
  }
  return annotated({ ...v1, spec } as KubeObject, {
    [GENERATION_ANNOTATION_KEY]: undefined,
    [STORED_VERSION_MIGRATED_ANNOTATION_KEY]: undefined,
    [ANNOTATION_V1_ONLY]: Object.keys(only).length === 0 ? undefined : JSON.stringify(only),
    ...notes,
  });
}
