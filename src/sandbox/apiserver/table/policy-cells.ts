/** Rows of admission policies. upstream: pkg/printers/internalversion */
import { ageCell } from "./age.ts";
import { type Cells, formatSelector } from "./cell.ts";

const UNSET = "<unset>";

/** The columns of `kubectl get validatingadmissionpolicies`. upstream: pkg/printers/internalversion of Kubernetes. */
export const policyCells: Cells = ({ metadata, spec = {} }, nowMs) => [
  metadata.name,
  (spec.validations ?? []).length,
  spec.paramKind === undefined ? UNSET : `${spec.paramKind.apiVersion}/${spec.paramKind.kind}`,
  ageCell({ metadata }, nowMs),
];

/** The columns of `kubectl get validatingadmissionpolicybindings`. upstream: pkg/printers/internalversion. */
export const policyBindingCells: Cells = ({ metadata, spec = {} }, nowMs) => {
  const { name = "", namespace = "*", selector } = spec.paramRef ?? {};
  const selected = selector === undefined ? UNSET : formatSelector(selector);
  const params = name === "" ? selected : `${namespace}/${name}`;
  return [metadata.name, spec.policyName, params, ageCell({ metadata }, nowMs)];
};
