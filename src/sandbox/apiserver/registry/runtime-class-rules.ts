/** Validation of RuntimeClasses. upstream: pkg/apis/node/validation */
import { duplicate, invalid } from "../schema/field-error.ts";
import { nameProblems, validateLabels } from "../schema/metadata.ts";
import type { FieldError } from "../schema/schema.ts";
import type { KindRules, Raw } from "./kind-rules.ts";
import { validateTolerations } from "./pod-placement-validation.ts";
import { validateResources } from "./pod-spec-validation.ts";
import { validateImmutable } from "./selector-rules.ts";

/** Validation of a RuntimeClass. */
export const RUNTIME_CLASS_RULES: KindRules = {
  validate(runtimeClass, current) {
    const { handler, overhead, scheduling } = runtimeClass;
    return [
      ...nameProblems(handler ?? "", "label").map((text) =>
        invalid("handler", handler ?? "", text),
      ),
      // Upstream checks the overhead as the limits of a container, which gives the errors the path of limits.
      ...(overhead === undefined
        ? []
        : validateResources({ limits: overhead.podFixed }, "overhead")),
      ...(scheduling === undefined ? [] : schedulingErrors(scheduling)),
      ...(current === undefined ? [] : validateImmutable(handler, current.handler, "handler")),
    ];
  },
};

function schedulingErrors({ nodeSelector, tolerations = [] }: Raw): FieldError[] {
  const path = "scheduling.tolerations";
  const seen = new Set<string>();
  const twice = (tolerations as readonly Raw[]).flatMap((toleration, index) => {
    const { key, operator, value, effect } = toleration;
    const id = JSON.stringify([key, operator, value, effect]);
    const isKnown = seen.has(id);
    seen.add(id);
    return isKnown ? [duplicate(`${path}[${index}]`, shown(toleration))] : [];
  });
  // kube-apiserver's path of these errors repeats the word `tolerations`.
  const errors = validateTolerations(tolerations, `${path}.tolerations`);
  return [...validateLabels(nodeSelector, "scheduling.nodeSelector"), ...errors, ...twice];
}

/** The toleration as the error shows it: Go's struct with its field names. */
function shown({
  key = "",
  operator = "",
  value = "",
  effect = "",
  tolerationSeconds,
}: Raw): object {
  return {
    Key: key,
    Operator: operator,
    Value: value,
    Effect: effect,
    TolerationSeconds: tolerationSeconds ?? null,
  };
}
