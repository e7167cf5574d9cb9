/** Table rows of admission policies. upstream: pkg/printers/internalversion */
import { ageCell } from "./age.ts";
import { type Cells, formatSelector } from "./cell.ts";

const UNSET = "<unset>";

/** The cells of one row of `kubectl get validatingadmissionpolicies`. */
export const policyCells: Cells = ({ metadata, spec = {} }, nowMs) => [
  metadata.name,
  (spec.validations ?? []).length,
  spec.paramKind === undefined ? UNSET : `${spec.paramKind.apiVersion}/${spec.paramKind.kind}`,
  ageCell({ metadata }, nowMs),
];

/** The cells of one row of `kubectl get validatingadmissionpolicybindings`. */
export const policyBindingCells: Cells = ({ metadata, spec = {} }, nowMs) => {
  const { name = "", namespace = "*", selector } = spec.paramRef ?? {};
  const selected = selector === undefined ? UNSET : formatSelector(selector);
  const params = name === "" ? selected : `${namespace}/${name}`;
  return [metadata.name, spec.policyName, params, ageCell({ metadata }, nowMs)];
};
