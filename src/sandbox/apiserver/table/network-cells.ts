/** Table rows of networking kinds and of RuntimeClass. upstream: pkg/printers/internalversion/printers.go */
import type { Raw } from "../registry/kind-rules.ts";
import { ageCell } from "./age.ts";
import { type Cells, formatSelector, NONE } from "./cell.ts";

/** Number of hosts that are shown by name. */
const SHOWN_HOSTS = 3;

/** The cells of one row of `kubectl get ingresses`. */
export const ingressCells: Cells = (ingress, nowMs) => {
  const { spec = {}, status = {} } = ingress;
  const addresses = (status.loadBalancer?.ingress ?? []).map(
    ({ ip, hostname }: Raw) => ip ?? hostname ?? "",
  );
  return [
    ingress.metadata.name,
    spec.ingressClassName ?? NONE,
    hostsOf(spec.rules ?? []),
    addresses.join(","),
    (spec.tls ?? []).length > 0 ? "80, 443" : "80",
    ageCell(ingress, nowMs),
  ];
};

function hostsOf(rules: readonly Raw[]): string {
  const hosts = rules.map(({ host }) => host ?? "").filter((host: string) => host !== "");
  if (hosts.length === 0) return "*";
  const shown = hosts.slice(0, SHOWN_HOSTS).join(",");
  return hosts.length > SHOWN_HOSTS ? `${shown} + ${hosts.length - SHOWN_HOSTS} more...` : shown;
}

/** The cells of one row of `kubectl get ingressclasses`. */
export const ingressClassCells: Cells = (ingressClass, nowMs) => {
  const { controller = "", parameters } = ingressClass.spec ?? {};
  return [
    ingressClass.metadata.name,
    controller,
    parameters === undefined ? NONE : parametersText(parameters),
    ageCell(ingressClass, nowMs),
  ];
};

function parametersText({ apiGroup, kind, name }: Raw): string {
  return `${kind}${apiGroup === undefined ? "" : `.${apiGroup}`}/${name}`;
}

/** The cells of one row of `kubectl get networkpolicies`. */
export const networkPolicyCells: Cells = (policy, nowMs) => [
  policy.metadata.name,
  formatSelector(policy.spec?.podSelector),
  ageCell(policy, nowMs),
];

/** The cells of one row of `kubectl get runtimeclasses`. */
export const runtimeClassCells: Cells = (runtimeClass, nowMs) => [
  runtimeClass.metadata.name,
  runtimeClass.handler,
  ageCell(runtimeClass, nowMs),
];
