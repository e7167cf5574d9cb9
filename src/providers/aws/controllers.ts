/** The provider's own controllers: first those of node classes, then those of instances. */
import { EC2_NODE_CLASS } from "../../apis/aws/ec2nodeclass.ts";
import { ANNOTATION_INSTANCE_PROFILE } from "../../apis/aws/labels.ts";
import { NODE_CLAIM } from "../../apis/karpenter/nodeclaim.ts";
import { AWAIT_CHANGE, type Controller, requeueAfter } from "../../kube/manager/controller.ts";
import { taggingController } from "./instance/tagging.ts";
import { capacityController } from "./instancetype/capacity-controller.ts";
import { interruptionController } from "./interruption/controller.ts";
import { instanceStatusController } from "./interruption/instance-status.ts";
import { nodeClassController } from "./nodeclass/controller.ts";
import { nodeTemplateController } from "./nodeclass/template-controller.ts";
import type { AwsDeps, AwsParts } from "./parts.ts";
import { refreshPrices } from "./pricing/refresh.ts";
import { quotaController } from "./quota/controller.ts";
import { reservationControllers } from "./reservation/controllers.ts";
import { zonalShiftController } from "./zonalshift/controller.ts";

const PRICING_MS = 12 * 3_600_000;
/** Time between two attempts to read prices while AWS does not answer. */
const PRICING_RETRY_MS = 300_000;
const SWEEP_MS = 60_000;
const PROFILE_SWEEP_MS = 30 * 60_000;

/** The controllers that keep node classes, images, prices and reservations fresh. */
export function awsControllers(deps: AwsDeps, parts: AwsParts): readonly Controller[] {
  return [
    /** Keeps status, conditions and finalizer of EC2NodeClass. */
    nodeClassController(deps, parts),
    /** Keeps the status of AWSNodeTemplate. */
    nodeTemplateController(deps, parts),
    /** Deletes profiles of roles that no class names any more. IAM cannot be reached from an isolated VPC. */
    ...(deps.settings.isolatedVpc === true ? [] : [profileSweep(deps, parts)]),
    /** Adds tags with the names of Node and NodeClaim after registration. */
    taggingController(deps, parts),
    /** Reads on-demand and spot prices, every 12 hours. */
    pricing(deps, parts),
    /** Metrics of the types that can be launched, with their prices. */
    typeGauges(deps, parts),
    /** Remembers how much memory nodes of a type have reported. */
    capacityController(deps, parts),
    /** Deletes launch templates that no launch used recently. */
    launchTemplates(parts),
    /** Drains instances that EC2 will take back, if there is an interruption queue. */
    ...interruption(deps, parts),
    /** Replaces instances that fail EC2's status checks or have a scheduled event. */
    instanceStatusController(deps),
    /** Follows zonal shifts, if enabled. */
    ...(deps.settings.zonalShift === true ? [zonalShiftController(deps, parts)] : []),
    /** Follows the vCPU quotas of the account, if enabled. Else it only removes the condition of an earlier process. */
    quotaController(deps, parts),
    /** Handles claims whose capacity reservation was lost or will end. */
    ...(deps.settings.reservedCapacity === false ? [] : reservationControllers(deps, parts)),
  ];
}

function pricing(deps: AwsDeps, { prices }: AwsParts): Controller {
  const { api, clock, settings } = deps;
  const log = deps.log.with({ controller: "providers.pricing" });
  const { region, isolatedVpc = false } = settings;
  return singleton("providers.pricing", async () => {
    const whole = await refreshPrices({ api, prices, clock, log, region, isolatedVpc });
    return requeueAfter(whole ? PRICING_MS : PRICING_RETRY_MS);
  });
}

function typeGauges({ metrics, settings }: AwsDeps, { seen }: AwsParts): Controller {
  const reserved = settings.reservedCapacity !== false;
  return {
    name: "cloudprovider.metrics",
    concurrency: 1,
    watches: [],
    listen: () => {
      const prefix = "cloudprovider_instance_type";
      const stops = [
        metrics.read(`${prefix}_offering_price_estimate`, () => seen.prices()),
        metrics.read(`${prefix}_offering_available`, () => seen.availability(reserved)),
        metrics.read(`${prefix}_cpu_cores`, () => seen.cores()),
        metrics.read(`${prefix}_memory_bytes`, () => seen.memory()),
      ];
      return () => {
        for (const stop of stops) stop();
      };
    },
    reconcile: async () => AWAIT_CHANGE,
  };
}

function launchTemplates({ templates }: AwsParts): Controller {
  return singleton("providers.launchtemplate", async () => {
    await templates.sweep();
    return requeueAfter(SWEEP_MS);
  });
}

function profileSweep({ mirrors, log }: AwsDeps, { profiles }: AwsParts): Controller {
  const name = "instanceprofile.garbagecollection";
  const classes = mirrors.of(EC2_NODE_CLASS);
  const claims = mirrors.of(NODE_CLAIM);
  return singleton(name, async () => {
    const known =
      mirrors.viewOf(EC2_NODE_CLASS) === "current" && mirrors.viewOf(NODE_CLAIM) === "current";
    if (!known || !classes.list().some((one) => one.spec?.role !== undefined))
      return requeueAfter(PROFILE_SWEEP_MS);
    const inUse = [
      ...classes.list().map((one) => one.status?.instanceProfile),
      ...claims.list().map((one) => one.metadata.annotations?.[ANNOTATION_INSTANCE_PROFILE]),
    ];
    const gone = await profiles.sweep(
      new Set(inUse.filter((one) => one !== undefined)),
      new Set(classes.list().flatMap(({ metadata: { uid } }) => uid ?? [])),
    );
    for (const profile of gone)
      log
        .with({ controller: name })
        .info("garbage collected instance profile", { "instance-profile": profile });
    return requeueAfter(PROFILE_SWEEP_MS);
  });
}

function interruption(deps: AwsDeps, parts: AwsParts): readonly Controller[] {
  const { interruptionQueue = "" } = deps.settings;
  return interruptionQueue === "" ? [] : [interruptionController(deps, parts, interruptionQueue)];
}

function singleton(name: string, reconcile: Controller["reconcile"]): Controller {
  return {
    name,
    concurrency: 1,
    watches: [],
    initialRequests: [{ kind: "Singleton", name }],
    reconcile,
  };
}
