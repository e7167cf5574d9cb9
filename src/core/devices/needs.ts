/**
 * The ResourceClaims of a pod. A claim that Kubernetes has not generated yet is read from its template.
 * upstream: pkg/controllers/provisioning/scheduling/dra.go
 */
import type { Pod } from "../../apis/core/pod.ts";
import { controllerOf, keyOf } from "../../apis/meta.ts";
import type { DeviceClaim, ResourceClaim } from "../../apis/resource/kinds.ts";
import { type PodClaimEntry, podClaimEntries } from "../../apis/resource/pod-claims.ts";
import { canonicalJson } from "../../base/json.ts";
import { within } from "../../base/within.ts";
import { type ClaimSpec, claimSpec } from "./claim-specs.ts";
import type { DeviceFacts } from "./device-facts.ts";
import type { ExtendedResources } from "./extended-resources.ts";
import { SelectorCache } from "./selectors.ts";

/** One claim of a pod. */
export interface Need {
  /** The name of the claim's entry in the pod's spec, for messages. */
  readonly name: string;
  /** The key `namespace/name` of the claim. Undefined: the claim does not exist yet. */
  readonly key: string | undefined;
  readonly claim: ResourceClaim | undefined;
  readonly spec: ClaimSpec;
}

export interface DeviceNeeds {
  readonly claims: readonly Need[];
  /** Why no node can take the pod now. Absent: there is no such reason. */
  readonly problem?: string;
  /**
   * Whether only this pod uses its claims, and none of them is allocated. Then a node that refuses them once refuses
   * them for the whole pass.
   */
  readonly isPrivate: boolean;
  /** A text about the claims. Pods with equal texts have claims that are equal for planning. */
  readonly text: string;
}

/** Reads claims of pods. */
export class NeedsReader {
  readonly #claims: ReadonlyMap<string, ResourceClaim>;
  readonly #templates: ReadonlyMap<string, DeviceClaim>;
  readonly #reader: Parameters<typeof claimSpec>[1];
  readonly #specs = new Map<string, ClaimSpec | string>();
  readonly #extended: ExtendedResources;
  readonly #needs = new WeakMap<Pod, DeviceNeeds>();

  /** `extended`: resources for which kube-scheduler creates claims. */
  constructor({ claims, templates, classes, compile }: DeviceFacts, extended: ExtendedResources) {
    this.#extended = extended;
    this.#claims = new Map(claims.map((one) => [keyOf(one), one]));
    this.#templates = new Map(
      templates.map((one) => [keyOf(one), one.spec.spec.devices ?? NOTHING]),
    );
    this.#reader = {
      classes: new Map(classes.map((one) => [one.metadata.name, one])),
      selectors: new SelectorCache(compile),
    };
  }

  of(pod: Pod): DeviceNeeds {
    return within(this.#needs, pod, () => this.#read(pod));
  }

  #read(pod: Pod): DeviceNeeds {
    const claims = new Map<string, Need>();
    const texts: string[] = [];
    let isPrivate = true;
    let problem: string | undefined;
    for (const entry of podClaimEntries(pod)) {
      const found = this.#find(pod, entry);
      if (found === "none") continue;
      if (typeof found === "string") {
        problem ??= found;
        continue;
      }
      const { key, claim, devices } = found;
      const isNamed = entry.templateName === undefined;
      const isOwn = !isNamed && claim?.status?.allocation === undefined;
      isPrivate &&= isOwn;
      texts.push(isOwn ? canonicalJson(devices) : `claim ${key}`);
      const spec = this.#specOf(devices);
      if (typeof spec === "string") problem ??= `claim ${entry.name}: ${spec}`;
      else claims.set(entryKey(entry, found), { name: entry.name, key, claim, spec });
    }
    const extended = this.#extended.claimOf(pod);
    if (extended !== undefined) {
      texts.push(`extended ${canonicalJson(extended)}`);
      const spec = this.#specOf(extended);
      if (typeof spec === "string") problem ??= `extended resources: ${spec}`;
      else claims.set("extended", { name: EXTENDED, key: undefined, claim: undefined, spec });
    }
    const text = `${texts.join(" ")}${problem ?? ""}`;
    return {
      claims: [...claims.values()],
      isPrivate,
      text,
      ...(problem === undefined ? {} : { problem }),
    };
  }

  /**
   * The claim or template of an entry in the pod's spec. `none`: the entry needs no devices. Any other text is the
   * reason why the pod cannot be planned.
   */
  #find(
    pod: Pod,
    { claimName, templateName }: PodClaimEntry,
  ): "none" | string | (Pick<Need, "key" | "claim"> & { readonly devices: DeviceClaim }) {
    if (claimName === null) return "none";
    const { namespace = "default" } = pod.metadata;
    const key = claimName === undefined ? undefined : `${namespace}/${claimName}`;
    const claim = key === undefined ? undefined : this.#claims.get(key);
    if (claim !== undefined)
      return (
        problemOf(claim, pod, templateName !== undefined) ?? {
          key,
          claim,
          devices: claim.spec.devices ?? NOTHING,
        }
      );
    if (templateName === undefined) return `resourceclaim ${JSON.stringify(key)} not found`;
    const devices = this.#templates.get(`${namespace}/${templateName}`);
    return devices === undefined
      ? `resourceclaimtemplate "${namespace}/${templateName}" not found`
      : { key, claim: undefined, devices };
  }

  #specOf(devices: DeviceClaim): ClaimSpec | string {
    const text = canonicalJson(devices);
    return within(this.#specs, text, () => claimSpec(devices, this.#reader));
  }
}

/**
 * The key of an entry in the pod's spec. A pod may name one claim in two entries. If the claim is allocated, both
 * entries have the same key, so the claim counts once. Otherwise kube-scheduler searches devices for each entry, and
 * keeps those of the first.
 * upstream: kubernetes plugins/dynamicresources (podResourceClaims)
 */
function entryKey({ name }: PodClaimEntry, { key, claim }: Pick<Need, "key" | "claim">): string {
  const isAllocated = claim?.status?.allocation !== undefined;
  return isAllocated && key !== undefined ? key : `entry ${name}`;
}

/**
 * Why kube-scheduler cannot bind a pod that uses this claim now. A pod that must move becomes a new pod, which may get
 * another claim.
 * upstream: kubernetes plugins/dynamicresources
 */
function problemOf(
  claim: ResourceClaim,
  { metadata, spec }: Pod,
  isMade: boolean,
): string | undefined {
  if (spec.nodeName !== undefined) return undefined;
  const named = `resourceclaim ${JSON.stringify(keyOf(claim))}`;
  if (claim.metadata.deletionTimestamp !== undefined) return `${named} is being deleted`;
  if (isMade && controllerOf(claim)?.uid !== metadata.uid)
    return `${named} was created for another pod`;
  const { allocation, reservedFor = [] } = claim.status ?? {};
  const isFull = allocation !== undefined && reservedFor.length >= MAX_CONSUMERS;
  if (!isFull || reservedFor.some(({ uid }) => uid === metadata.uid)) return undefined;
  return `${named} is in use by ${MAX_CONSUMERS} pods, the most that can share one`;
}

/**
 * The most pods for which one claim can be reserved.
 * upstream: kubernetes ResourceClaimReservedForMaxSize
 */
const MAX_CONSUMERS = 256;
const NOTHING: DeviceClaim = {};
const EXTENDED = "of extended resources";
