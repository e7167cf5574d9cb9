/**
 * Subresources that each change one part of a pod's spec. `resize` changes requests and limits of running containers,
 * `ephemeralcontainers` adds containers for debugging. Other changes in the request, even of labels, are ignored.
 * upstream: pkg/registry/core/pod/strategy.go, pkg/apis/core/validation ValidatePodResize,
 * ValidatePodEphemeralContainersUpdate
 */
import { clone, deepEqual } from "../../../base/json.ts";
import type { PartialUpdate } from "../objects/write.ts";
import type { Raw } from "../registry/kind-rules.ts";
import { qosClass } from "../registry/pod-rules.ts";
import { validatePodSpec } from "../registry/pod-spec-validation.ts";
import { duplicate, forbidden, invalid, notFound } from "../schema/field-error.ts";
import type { FieldError } from "../schema/schema.ts";

const RESIZABLE: ReadonlySet<string> = new Set(["cpu", "memory"]);
/** Fields of a container that an ephemeral container cannot have. */
const NOT_FOR_EPHEMERAL = ["ports", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle"];

const RESIZE: PartialUpdate = {
  keep(next: Raw, current: Raw) {
    const kept = clone(current);
    for (const list of ["containers", "initContainers"]) {
      (kept.spec[list] ?? []).forEach((container: Raw, index: number) => {
        const sent = next.spec?.[list]?.[index];
        if (sent?.name !== container.name) return;
        for (const field of ["resources", "resizePolicy"])
          if (sent[field] !== undefined) container[field] = sent[field];
      });
    }
    return kept;
  },
  validate(next: Raw, current: Raw) {
    const errors = validatePodSpec(next.spec, "spec");
    const { qosClass: before = qosClass(current.spec) } = current.status ?? {};
    if (qosClass(next.spec) !== before)
      errors.push(invalid("spec", before, "Pod QOS Class may not change as a result of resizing"));
    let isOther = false;
    for (const list of ["containers", "initContainers"]) {
      (next.spec[list] ?? []).forEach((container: Raw, index: number) => {
        const old = current.spec[list]?.[index];
        errors.push(...removals(container, old, `spec.${list}[${index}].resources`));
        isOther ||= !deepEqual(unsizable(container), unsizable(old));
      });
    }
    if (isOther) errors.push(forbidden("spec", "only cpu and memory resources are mutable"));
    return errors;
  },
};

function removals(container: Raw, old: Raw, path: string): FieldError[] {
  return (["requests", "limits"] as const).flatMap((list) => {
    const now = container.resources?.[list] ?? {};
    const lost = Object.keys(old?.resources?.[list] ?? {}).some((name) => now[name] === undefined);
    return lost ? [forbidden(`${path}.${list}`, `resource ${list} cannot be removed`)] : [];
  });
}

/** The resources of a container that a resize may not change. */
function unsizable(container: Raw): unknown {
  return ["requests", "limits"].map((list) =>
    Object.entries(container?.resources?.[list] ?? {}).filter(([name]) => !RESIZABLE.has(name)),
  );
}

const EPHEMERAL_CONTAINERS: PartialUpdate = {
  keep(next: Raw, current: Raw) {
    const { ephemeralContainers: _old, ...spec } = current.spec;
    const { ephemeralContainers } = next.spec ?? {};
    const kept = ephemeralContainers === undefined ? spec : { ...spec, ephemeralContainers };
    return { ...current, spec: kept };
  },
  validate(next: Raw, current: Raw) {
    const now: readonly Raw[] = next.spec.ephemeralContainers ?? [];
    const errors = now.flatMap((container, index) =>
      ephemeralProblems(container, next.spec, `spec.ephemeralContainers[${index}]`),
    );
    for (const old of current.spec.ephemeralContainers ?? []) {
      const found = now.find(({ name }) => name === old.name);
      const what = `existing ephemeral containers "${old.name}" may not be`;
      if (found === undefined)
        errors.push(forbidden("spec.ephemeralContainers", `${what} removed\n`));
      else if (!deepEqual(found, old))
        errors.push(forbidden("spec.ephemeralContainers", `${what} changed\n`));
    }
    return errors;
  },
};

function ephemeralProblems(container: Raw, spec: Raw, path: string): FieldError[] {
  const others: readonly Raw[] = [...(spec.containers ?? []), ...(spec.initContainers ?? [])];
  const isKnown = (name: string): boolean => others.some((other) => other.name === name);
  const errors: FieldError[] = [];
  if (isKnown(container.name)) errors.push(duplicate(`${path}.name`, container.name));
  const { targetContainerName = "" } = container;
  if (targetContainerName !== "" && !isKnown(targetContainerName))
    errors.push(notFound(`${path}.targetContainerName`, targetContainerName));
  const refused = NOT_FOR_EPHEMERAL.filter((field) => container[field] !== undefined);
  if (Object.keys(container.resources ?? {}).length > 0) refused.push("resources");
  for (const field of refused)
    errors.push(forbidden(`${path}.${field}`, "cannot be set for an Ephemeral Container"));
  return errors;
}

/** The rules of a pod's subresources, by name. */
export const POD_PARTIAL_UPDATES: ReadonlyMap<string, PartialUpdate> = new Map([
  ["resize", RESIZE],
  ["ephemeralcontainers", EPHEMERAL_CONTAINERS],
]);
