/**
 * Keeps the status of AWSNodeTemplates: what the selectors match now, the subnet with most free addresses first.
 * AWSNodeTemplates have no conditions. So a selector that matches nothing is logged as an error in upstream's words and
 * gives an event, once while it lasts. There is no finalizer: instances outlive their template.
 */
import { AWS_NODE_TEMPLATE, type AWSNodeTemplate } from "../../../apis/aws/awsnodetemplate.ts";
import { StandingProblems } from "../../../base/standing-problems.ts";
import { patchObject } from "../../../kube/client/patch-object.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  requeueAfter,
  source,
} from "../../../kube/manager/controller.ts";
import { hashAnnotations } from "../drift.ts";
import { describeError } from "../errors.ts";
import { nodeClassNotReady } from "../events.ts";
import type { AwsDeps, AwsParts } from "../parts.ts";
import { nodeClassOf } from "./class-source.ts";
import { amiStatus, securityGroupStatus, subnetStatus } from "./status.ts";

/** Milliseconds between two updates of the status. upstream v0.31: nodetemplate controller */
const REFRESH_MS = 300_000;
/** Time until an empty match is tried again, because the resource is probably being created. */
const RETRY_MS = 60_000;

/** Keeps the status of AWSNodeTemplates (v1alpha1). */
export function nodeTemplateController(deps: AwsDeps, parts: AwsParts): Controller {
  const name = "awsnodetemplate";
  const standing = new StandingProblems(deps.log.with({ controller: name }), deps.clock);
  return {
    name,
    concurrency: 10,
    watches: [source(AWS_NODE_TEMPLATE)],
    reconcile: async ({ name }) => {
      const template = deps.mirrors.of(AWS_NODE_TEMPLATE).get(name);
      if (template === undefined || template.metadata.deletionTimestamp !== undefined) {
        standing.over(name);
        return AWAIT_CHANGE;
      }
      const problems = await follow(deps, parts, template);
      const text = problems.join("; ");
      if (problems.length === 0) standing.over(name);
      else if (standing.tell(name, text, { awsnodetemplate: name }))
        deps.events.publish(nodeClassNotReady(template, text));
      return requeueAfter(problems.length > 0 ? RETRY_MS : REFRESH_MS);
    },
  };
}

/** Writes the status; returns the problems, one line each. */
async function follow(
  { kube }: AwsDeps,
  parts: AwsParts,
  native: AWSNodeTemplate,
): Promise<readonly string[]> {
  const nodeClass = nodeClassOf(native);
  const problems: string[] = [];
  const status: Record<string, unknown> = { ...native.status };
  const read = async <T>(
    key: string,
    what: string,
    terms: readonly unknown[],
    list: () => Promise<readonly T[]>,
    toStatus: (found: readonly T[]) => unknown,
  ): Promise<void> => {
    try {
      const found = await list();
      if (found.length > 0) status[key] = toStatus(found);
      else {
        delete status[key];
        problems.push(`no ${what} exist given constraints ${JSON.stringify(terms)}`);
      }
    } catch (error) {
      problems.push(`resolving ${what}: ${describeError(error)}`);
    }
  };
  const { subnetTerms, securityGroupTerms, amiTerms, amiFamily } = nodeClass;
  const amis = amiTerms.length === 0 ? [amiFamily] : amiTerms;
  await read(
    "subnets",
    "subnets",
    subnetTerms,
    () => parts.subnets.list(nodeClass),
    (found) => subnetStatus(found).map(({ id, zone }) => ({ id, zone })),
  );
  if (nodeClass.launchTemplateName === undefined) {
    const groups = () => parts.securityGroups.list(nodeClass);
    await read(
      "securityGroups",
      "security groups",
      securityGroupTerms,
      groups,
      securityGroupStatus,
    );
    await read(
      "amis",
      "amis",
      amis,
      () => parts.amis.list(nodeClass),
      (found) => amiStatus(found).map(({ id, name, requirements }) => ({ id, name, requirements })),
    );
  }
  const after = {
    ...native,
    metadata: {
      ...native.metadata,
      annotations: { ...native.metadata.annotations, ...hashAnnotations(nodeClass) },
    },
    status,
  } as AWSNodeTemplate;
  await patchObject(kube, AWS_NODE_TEMPLATE, native, after);
  return problems;
}
