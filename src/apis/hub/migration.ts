/**
 * Converts Provisioners and AWSNodeTemplates in files to v1beta1 NodePools and EC2NodeClasses, as upstream's
 * karpenter-convert does, without a cluster. Where v1beta1 cannot express the meaning of v1alpha5, there is a remark or
 * an error.
 * upstream: tools/karpenter-convert at v0.32
 */
import { canonicalQuantity } from "../../base/canonical-quantity.ts";
import { formatDuration, parseDuration } from "../../base/duration.ts";
import { isObject, textOf, withoutNulls } from "../../base/json.ts";
import type { AWSNodeTemplate, AwsProviderBlock } from "../aws/awsnodetemplate.ts";
import type { KubeletConfiguration } from "../karpenter/kubelet.ts";
import type { Provisioner } from "../karpenter/provisioner.ts";
import type { KubeObject } from "../meta.ts";
import { type AdmissionSettings, defaultedProvisioner } from "./admission.ts";
import { alphaTypeProblem } from "./alpha-types.ts";

/**
 * A placeholder that a person or envsubst must replace, because the name of the nodes' IAM role is not in the files.
 */
const ROLE_PLACEHOLDER = "$KARPENTER_NODE_ROLE";

/**
 * Admission settings for a tool that has no cluster. Only the defaults of an inline provider would need a cluster name,
 * and the tool does not add those.
 */
const ADMISSION: AdmissionSettings = {
  clusterName: "",
  acceptMinusOne: true,
  defaultInstanceProfile: undefined,
};

/** The error that an object cannot be converted. */
export class MigrationError extends Error {
  override readonly name = "MigrationError";
}

/** The converted objects, with remarks. */
export interface Migrated {
  readonly objects: readonly KubeObject[];
  /** What a person should check before applying the objects. */
  readonly remarks: readonly string[];
}

/** Converts one object. `ignoreDefaults`: whether v1alpha5's default requirements for missing keys are left out. */
export function migrate(given: KubeObject, { ignoreDefaults = false } = {}): Migrated {
  const object = withoutNulls(given);
  const { kind = "", metadata } = object;
  if (kind !== "Provisioner" && kind !== "AWSNodeTemplate")
    throw new MigrationError(
      `unknown kind. expected one of Provisioner, AWSNodeTemplate. got ${kind}`,
    );
  if (!isObject((object as { spec?: unknown }).spec))
    throw new MigrationError(
      `${kind} ${textOf(metadata?.name)} has no spec: give the whole object`,
    );
  const problem = alphaTypeProblem(object);
  if (problem !== undefined)
    throw new MigrationError(`${kind} ${textOf(metadata?.name)}: ${problem}`);
  return kind === "Provisioner"
    ? fromProvisioner(object as Provisioner, ignoreDefaults)
    : fromTemplate(object as AWSNodeTemplate);
}

function fromTemplate(template: AWSNodeTemplate): Migrated {
  const { spec, metadata } = template;
  const object = nodeClass(metadata, spec, "converting AWSNodeTemplate");
  return { objects: [object], remarks: classRemarks(metadata.name, spec) };
}

function fromProvisioner(provisioner: Provisioner, ignoreDefaults: boolean): Migrated {
  const { spec, metadata } = provisioner;
  const { name } = metadata;
  const remarks: string[] = [];
  const objects: KubeObject[] = [];
  if (spec.provider !== undefined) {
    const block = spec.provider as AwsProviderBlock;
    const what = "converting spec.provider for Provisioner, converting AWSNodeTemplate";
    objects.push(nodeClass({ name }, block, what));
    remarks.push(...classRemarks(name, block));
  }
  const { apiVersion, kind } = spec.providerRef ?? {};
  const nodeClassRef = {
    ...(apiVersion === undefined ? {} : { apiVersion }),
    ...(kind === undefined ? {} : { kind }),
    name: spec.providerRef?.name ?? name,
  };
  if (kind === "AWSNodeTemplate")
    remarks.push(
      `NodePool ${name}: nodeClassRef names the kind AWSNodeTemplate; make it EC2NodeClass`,
    );
  if (spec.consolidation?.enabled !== true && spec.ttlSecondsAfterEmpty === undefined)
    remarks.push(
      `NodePool ${name}: the Provisioner neither consolidates nor ends empty nodes, a NodePool without a policy does both; set spec.disruption`,
    );
  if (spec.consolidation?.enabled === true && spec.ttlSecondsAfterEmpty !== undefined)
    remarks.push(
      `NodePool ${name}: ttlSecondsAfterEmpty ${spec.ttlSecondsAfterEmpty} was left out: the Provisioner also enables consolidation, and v1alpha5 allows only one of the two`,
    );
  const { containerRuntime } = spec.kubeletConfiguration ?? {};
  if (containerRuntime !== undefined && containerRuntime !== "containerd")
    remarks.push(
      `NodePool ${name}: kubeletConfiguration.containerRuntime ${containerRuntime} was left out: NodePools know containerd alone`,
    );
  const { limits, weight } = spec;
  const pool = {
    apiVersion: "karpenter.sh/v1beta1",
    kind: "NodePool",
    metadata: metadataOf(metadata),
    spec: compact({
      template: {
        metadata: compact({ labels: spec.labels, annotations: spec.annotations }),
        spec: {
          ...compact({
            taints: spec.taints,
            startupTaints: spec.startupTaints,
            kubelet: kubeletOf(spec.kubeletConfiguration),
          }),
          // The CRD requires this field. null shows that it must be filled in.
          requirements: requirementsOf(provisioner, ignoreDefaults) ?? null,
          nodeClassRef,
        },
      },
      disruption: disruptionOf(spec),
      limits: limits?.resources === undefined ? undefined : quantities(limits.resources),
      weight,
    }),
  };
  objects.unshift(pool as KubeObject);
  return { objects, remarks };
}

function requirementsOf(provisioner: Provisioner, ignoreDefaults: boolean) {
  if (ignoreDefaults) return provisioner.spec.requirements;
  const { provider: _, ...spec } = provisioner.spec;
  // The tool knows only the defaults of the latest v1alpha5, even for an inline provider.
  return defaultedProvisioner({ ...provisioner, spec }, ADMISSION).spec.requirements;
}

function disruptionOf(spec: Provisioner["spec"]): object {
  const { ttlSecondsAfterEmpty: idle, ttlSecondsUntilExpired: life } = spec;
  const emptiness =
    idle === undefined
      ? {}
      : { consolidationPolicy: "WhenEmpty", consolidateAfter: formatDuration(idle * 1_000) };
  return {
    ...(spec.consolidation?.enabled === true
      ? { consolidationPolicy: "WhenUnderutilized" }
      : emptiness),
    expireAfter: life === undefined ? "Never" : formatDuration(life * 1_000),
  };
}

function kubeletOf(kubelet: KubeletConfiguration | undefined): object | undefined {
  if (kubelet === undefined) return undefined;
  const { containerRuntime: _, ...kept } = kubelet;
  const { systemReserved, kubeReserved, evictionSoftGracePeriod } = kept;
  return compact({
    ...kept,
    systemReserved: systemReserved === undefined ? undefined : quantities(systemReserved),
    kubeReserved: kubeReserved === undefined ? undefined : quantities(kubeReserved),
    evictionSoftGracePeriod:
      evictionSoftGracePeriod === undefined
        ? undefined
        : mapValues(evictionSoftGracePeriod, canonicalDuration),
  });
}

type ClassSpec = AwsProviderBlock & Partial<AWSNodeTemplate["spec"]>;

function nodeClass(metadata: KubeObject["metadata"], spec: ClassSpec, what: string): KubeObject {
  if (spec.launchTemplate !== undefined)
    throw new MigrationError(`${what}, cannot convert with "spec.launchTemplate"`);
  const { amiFamily = "AL2", userData, tags, context, detailedMonitoring } = spec;
  return {
    apiVersion: "karpenter.k8s.aws/v1beta1",
    kind: "EC2NodeClass",
    metadata: metadataOf(metadata),
    spec: compact({
      amiFamily,
      subnetSelectorTerms: selectorTerms(spec.subnetSelector),
      securityGroupSelectorTerms: selectorTerms(spec.securityGroupSelector),
      amiSelectorTerms: selectorTerms(spec.amiSelector),
      role: ROLE_PLACEHOLDER,
      userData,
      tags,
      context,
      detailedMonitoring,
      metadataOptions: spec.metadataOptions,
      blockDeviceMappings: spec.blockDeviceMappings,
    }),
  } as KubeObject;
}

function classRemarks(name: string, spec: ClassSpec): readonly string[] {
  const terms = selectorTerms(spec.amiSelector) ?? [];
  return [
    `EC2NodeClass ${name}: spec.role is ${ROLE_PLACEHOLDER}; put the nodes' IAM role there${
      spec.instanceProfile === undefined
        ? ""
        : ` (the instance profile ${spec.instanceProfile} was left out)`
    }`,
    ...(terms.some((term) => "id" in term && Object.keys(term).length > 1)
      ? [`EC2NodeClass ${name}: an amiSelectorTerm with an id may have nothing else; choose`]
      : []),
  ];
}

/**
 * The most terms that a selector may become. An EC2NodeClass may have 30. A selector with many more combinations is a
 * mistake and would fill the memory.
 */
const MOST_TERMS = 1_000;

/**
 * Converts a selector map to terms. All keys must match, and commas separate alternatives. Terms are alternatives, so
 * each combination becomes a term. Owners vary slowest, then ids, names and tags, whose first key varies fastest.
 */
function selectorTerms(
  selector: Readonly<Record<string, string>> | null | undefined,
): readonly object[] | undefined {
  if (selector === undefined || selector === null) return undefined;
  const own = new Map(Object.entries(selector).map(([key, value]) => [key, split(value)]));
  const combinations = [...own.values()].reduce((product, values) => product * values.length, 1);
  if (combinations > MOST_TERMS)
    throw new MigrationError(
      `a selector with the keys ${[...own.keys()].slice(0, 5).join(", ")} has over ${MOST_TERMS} combinations; name fewer alternatives`,
    );
  const special = (...keys: readonly string[]) => keys.flatMap((key) => own.get(key) ?? []);
  const SPECIAL = ["aws-ids", "aws::ids", "aws::name", "aws::owners"];
  let tags: readonly ReadonlyMap<string, string>[] = [new Map()];
  for (const key of [...own.keys()].sort()) {
    if (SPECIAL.includes(key)) continue;
    const before = tags;
    tags = (own.get(key) ?? []).flatMap((value) =>
      before.map((one) => new Map([...one, [key, value]])),
    );
  }
  const choices = (values: readonly string[]) => (values.length === 0 ? [undefined] : values);
  return choices(special("aws::owners")).flatMap((owner) =>
    choices(special("aws-ids", "aws::ids")).flatMap((id) =>
      choices(special("aws::name")).flatMap((name) =>
        tags.map((one) => compact({ owner, id, name, tags: Object.fromEntries(one) })),
      ),
    ),
  );
}

function split(value: string): readonly string[] {
  return value.split(",").map((one) => one.trim());
}

function metadataOf({ name, labels, annotations, finalizers }: KubeObject["metadata"]): object {
  return { name, ...compact({ labels, annotations, finalizers }) };
}

/** Removes undefined values and empty objects. */
function compact(value: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value).filter(
      ([, one]) => one !== undefined && !(isObject(one) && Object.keys(one).length === 0),
    ),
  );
}

function quantities(amounts: Readonly<Record<string, string | number>>): Record<string, string> {
  return mapValues(amounts, (amount) => canonicalQuantity(amount) ?? String(amount));
}

function mapValues<V>(
  values: Readonly<Record<string, V>>,
  change: (value: V) => string,
): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, change(value)]));
}

function canonicalDuration(text: string): string {
  const ms = parseDuration(text);
  return ms === undefined ? text : formatDuration(ms);
}
