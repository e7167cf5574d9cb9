/**
 * Aggregated ClusterRoles: their rules are those of all roles that their selectors match. So a chart can add rights
 * for its kinds to `admin`, `edit` and `view`.
 * upstream: kubernetes pkg/controller/clusterroleaggregation/clusterroleaggregation_controller.go
 */
import { matchesLabelSelector } from "../../apis/core/selectors.ts";
import { CLUSTER_ROLE, type ClusterRole, type PolicyRule } from "../../apis/rbac/kinds.ts";
import { deepEqual } from "../../base/json.ts";
import { isConflict } from "../../kube/errors.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  source,
} from "../../kube/manager/controller.ts";
import type { PartDeps } from "../parts.ts";

const MANAGER = "clusterrole-aggregation-controller";

/** Fills ClusterRoles with an aggregationRule. upstream: pkg/controller/clusterroleaggregation of Kubernetes. */
export function roleAggregationController({ kube, mirrors }: PartDeps): Controller {
  const roles = mirrors.of(CLUSTER_ROLE);

  async function reconcile({ name }: Request): Promise<Outcome> {
    const role = roles.get(name);
    if (role?.aggregationRule === undefined) return AWAIT_CHANGE;
    const rules = rulesFor(role, roles.list());
    if (deepEqual(rules, role.rules ?? [])) return AWAIT_CHANGE;
    const { group, version, kind } = CLUSTER_ROLE;
    // The body names the uid, so that the apply cannot create a deleted role again.
    const { uid = "" } = role.metadata;
    const body = { apiVersion: `${group}/${version}`, kind, metadata: { name, uid }, rules };
    try {
      const patch = { type: "apply", fieldManager: MANAGER, force: true, body } as const;
      await kube.patch(CLUSTER_ROLE, { name }, patch);
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
    return AWAIT_CHANGE;
  }

  return {
    name: "clusterrole-aggregation",
    watches: [
      // Any role may be selected by any aggregated role.
      source(CLUSTER_ROLE, () =>
        roles
          .list()
          .filter(({ aggregationRule }) => aggregationRule !== undefined)
          .map(({ metadata }) => ({ kind: CLUSTER_ROLE.kind, name: metadata.name })),
      ),
    ],
    concurrency: 1,
    reconcile,
  };
}

/** The rules of the roles that the selectors match, in order of selectors and names, each once. */
function rulesFor(role: ClusterRole, all: readonly ClusterRole[]): readonly PolicyRule[] {
  const rules: PolicyRule[] = [];
  const others = all
    .filter(({ metadata }) => metadata.name !== role.metadata.name)
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  for (const selector of role.aggregationRule?.clusterRoleSelectors ?? [])
    for (const other of others)
      if (matchesLabelSelector(selector, other.metadata.labels))
        for (const rule of other.rules ?? [])
          if (!rules.some((one) => deepEqual(one, rule))) rules.push(rule);
  return rules;
}
