/** The CRDs of AWSNodeTemplate (v1alpha1, checked by the webhook) and KWOKNodeClass. */
import { AWS_NODE_TEMPLATE } from "../aws/awsnodetemplate.ts";
import { KWOK_NODE_CLASS } from "../kwok/kwoknodeclass.ts";
import {
  AGE_COLUMN,
  type CustomResourceDefinition,
  definition,
  READY_COLUMN,
} from "./definition.ts";
import { resolvedStatus } from "./ec2nodeclasses.ts";
import {
  boolean,
  conditions,
  integer,
  kindSchema,
  list,
  object,
  quantity,
  text,
  textMap,
} from "./schema.ts";
import { DURATION } from "./shared-schema.ts";

/** The CRD of AWSNodeTemplate, in v1alpha1. */
export function awsNodeTemplateDefinition(): CustomResourceDefinition {
  const ebs = object("The volume.", {
    deleteOnTermination: boolean("Whether it goes with the instance."),
    encrypted: boolean("Whether it is encrypted."),
    iops: integer("Provisioned operations a second.", { format: "int64" }),
    kmsKeyID: text("Key of the encryption."),
    snapshotID: text("Snapshot it is made from."),
    throughput: integer("MiB a second.", { format: "int64" }),
    volumeSize: quantity("Size as a quantity."),
    volumeType: text("EBS volume type."),
  });
  const spec = object("What is wanted.", {
    amiFamily: text("Picks images, user data form and devices; AL2 when absent."),
    amiSelector: textMap("Images to use instead of the family's."),
    apiVersion: text("Not used."),
    blockDeviceMappings: list(
      "Devices in place of the family's.",
      object("One device.", { deviceName: text("Path of the device."), ebs }),
    ),
    context: text("Context of the fleet request, reserved by EC2."),
    detailedMonitoring: boolean("EC2's detailed monitoring."),
    instanceProfile: text("Instance profile; the setting's when absent."),
    kind: text("Not used."),
    launchTemplate: text("Name of a launch template to use as it is."),
    metadataOptions: object("The instance metadata service.", {
      httpEndpoint: text("enabled or disabled."),
      httpProtocolIPv6: text("enabled or disabled."),
      httpPutResponseHopLimit: integer("Hops an answer may take.", { format: "int64" }),
      httpTokens: text("required or optional."),
    }),
    securityGroupSelector: textMap("Tags or ids of security groups."),
    subnetSelector: textMap("Tags or ids of subnets."),
    tags: textMap("Tags of what is made on AWS."),
    userData: text("User data, merged into the family's own."),
  });
  const status = object("What is.", resolvedStatus());
  return definition(AWS_NODE_TEMPLATE, [
    {
      name: "v1alpha1",
      storage: true,
      schema: kindSchema("How nodes are made on AWS.", spec, status, []),
      columns: [AGE_COLUMN],
    },
  ]);
}

/** The CRD of KWOKNodeClass, in v1alpha1. upstream: kwok/apis/crds. */
export function kwokNodeClassDefinition(): CustomResourceDefinition {
  const spec = object("What is wanted.", {
    nodeRegistrationDelay: text("Wait before a fake node shows up.", { pattern: DURATION }),
  });
  const status = object("What is.", { conditions: conditions("strict") });
  return definition(KWOK_NODE_CLASS, [
    {
      name: "v1alpha1",
      storage: true,
      schema: kindSchema("How fake nodes are made.", spec, status, []),
      columns: [READY_COLUMN, AGE_COLUMN],
    },
  ]);
}
