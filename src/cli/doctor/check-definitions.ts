/** Checks of the CustomResourceDefinitions: those that are needed are there, and know the fields of this version. */
import type { Crd } from "../../apis/core/custom-resource-definition.ts";
import type { KubeObject } from "../../apis/meta.ts";
import { isObject } from "../../base/json.ts";
import { type CheckedItem, installDefinitions } from "../checks/checks.ts";
import { some } from "../migrate/check-objects.ts";
import type { DoctorFacts } from "./facts.ts";

interface Version {
  readonly name: string;
  readonly served: boolean;
  readonly schema?: { readonly openAPIV3Schema?: unknown };
}

interface OwnDefinition extends KubeObject {
  readonly spec: { readonly versions: readonly Version[] };
}

/** Kinds that an installation needs. Those of other providers and generations may be missing. */
const NEEDED = {
  aws: ["nodepools.karpenter.sh", "nodeclaims.karpenter.sh", "ec2nodeclasses.karpenter.k8s.aws"],
  kwok: ["nodepools.karpenter.sh", "nodeclaims.karpenter.sh", "kwoknodeclasses.karpenter.kwok.sh"],
} as const;
const UPGRADE = "upgrade karpenter-crd first, then the controller";

/**
 * Checks that the needed definitions exist and have the fields of this version. `kinds`: the definitions of this
 * version.
 */
export function checkDefinitions(
  { crds, provider, namespace }: DoctorFacts,
  kinds: readonly KubeObject[],
): readonly CheckedItem[] {
  const needed: readonly string[] = NEEDED[provider];
  return (kinds as readonly OwnDefinition[]).flatMap((own): readonly CheckedItem[] => {
    const { name } = own.metadata;
    const crd = crds.find(({ metadata }) => metadata.name === name);
    if (crd !== undefined)
      return [{ area: "definitions", item: name, ...judged(crd, own, namespace) }];
    if (!needed.includes(name)) return [];
    return [
      {
        area: "definitions",
        item: name,
        state: "todo",
        says: "It is not installed",
        remedy: installDefinitions(namespace),
      },
    ];
  });
}

function judged(
  crd: Crd,
  own: OwnDefinition,
  namespace: string,
): Pick<CheckedItem, "state" | "says" | "remedy"> {
  if (crd.metadata.deletionTimestamp !== undefined)
    return {
      state: "todo",
      says: "It is being deleted, and its objects with it",
      remedy: "follow the recipe for deleted definitions in docs/guide/uninstall.md",
    };
  const served = crd.spec.versions.filter((one) => one.served).map(({ name }) => name);
  const wanted = own.spec.versions.filter((one) => one.served);
  const shared = wanted.filter(({ name }) => served.includes(name));
  if (shared.length === 0)
    return {
      state: "todo",
      says: `It serves ${served.join(", ")}, and none of ${wanted.map(({ name }) => name).join(", ")}`,
      remedy: UPGRADE,
    };
  const lacking = shared.flatMap((version) => {
    const theirs = (crd.spec.versions as readonly Version[]).find(
      ({ name }) => name === version.name,
    );
    return fieldsWithout(version.schema?.openAPIV3Schema, theirs?.schema?.openAPIV3Schema).map(
      (field) => `${field} of ${version.name}`,
    );
  });
  const says = `serves ${served.join(", ")}`;
  if (lacking.length === 0) return { state: "ready", says };
  return {
    state: "differs",
    says: `${says}; the API server drops fields that it does not know: ${some(lacking)}`,
    remedy: `${UPGRADE}: ${installDefinitions(namespace)}`,
  };
}

/** Paths of fields in `own` that `theirs` lacks. Fields below a missing field are not listed. */
function fieldsWithout(own: unknown, theirs: unknown, at = ""): readonly string[] {
  if (!isObject(own) || !isObject(theirs)) return [];
  if (theirs["x-kubernetes-preserve-unknown-fields"] === true) return [];
  const [ours, known] = [own["properties"], theirs["properties"]];
  const below = fieldsWithout(own["items"], theirs["items"], `${at}[]`);
  if (!isObject(ours)) return below;
  const names = Object.keys(ours).sort();
  return [
    ...below,
    ...names.flatMap((name) => {
      const path = at === "" ? name : `${at}.${name}`;
      if (!isObject(known) || known[name] === undefined) return [path];
      return fieldsWithout(ours[name], known[name], path);
    }),
  ];
}
