/**
 * CustomResourceDefinitions: names by default, and what is refused before anything of one is
 * served.
 * upstream: apiextensions-apiserver pkg/apis/apiextensions/{v1/defaults.go,validation}
 */
import { ruleProblems } from "../cel/rules.ts";
import { invalid, required } from "../schema/field-error.ts";
import { nameProblems } from "../schema/metadata.ts";
import type { FieldError } from "../schema/schema.ts";
import { fallback, type KindRules, type Raw } from "./kind-rules.ts";

/** A CRD's defaults and what is refused before anything of it is served. */
export const CRD_RULES: KindRules = {
  defaults(crd) {
    const { names } = crd.spec ?? {};
    if (names?.kind !== undefined) {
      fallback(names, "singular", names.kind.toLowerCase());
      fallback(names, "listKind", `${names.kind}List`);
    }
    if (crd.spec !== undefined) fallback(crd.spec, "conversion", { strategy: "None" });
    const service = crd.spec?.conversion?.webhook?.clientConfig?.service;
    if (service !== undefined) fallback(service, "port", 443);
  },
  prepareCreate(crd) {
    const stored = (crd.spec?.versions ?? []).find((version: Raw) => version.storage === true);
    crd.status = {
      acceptedNames: { kind: "", plural: "" },
      conditions: null,
      storedVersions: stored === undefined ? [] : [stored.name],
    };
  },
  validate(crd) {
    const { spec = {}, metadata } = crd;
    const errors: FieldError[] = [];
    const wanted = `${spec.names?.plural}.${spec.group}`;
    if (metadata.name !== wanted) {
      const text = 'must be spec.names.plural+"."+spec.group';
      errors.push(invalid("metadata.name", metadata.name, text));
    }
    if ((spec.group ?? "") === "") errors.push(required("spec.group"));
    if (spec.scope === undefined) errors.push(required("spec.scope"));
    for (const name of ["plural", "kind"]) {
      if ((spec.names?.[name] ?? "") === "") errors.push(required(`spec.names.${name}`));
    }
    const versions: Raw[] = spec.versions ?? [];
    if (versions.filter((version) => version.storage === true).length !== 1) {
      const text = "must have exactly one version marked as storage version";
      errors.push(
        invalid(
          "spec.versions",
          versions.map(({ name }) => name),
          text,
        ),
      );
    }
    versions.forEach((version, index) => {
      for (const text of nameProblems(version.name ?? "", "label")) {
        errors.push(invalid(`spec.versions[${index}].name`, version.name ?? "", text));
      }
      const field = `spec.versions[${index}].schema.openAPIV3Schema`;
      if (version.schema?.openAPIV3Schema === undefined) {
        errors.push(required(field, "schemas are required"));
      } else {
        errors.push(...ruleProblems(version.schema.openAPIV3Schema, field));
      }
    });
    return errors;
  },
};
