/** The CRD of EC2NodeClass: v1 (stored) and v1beta1 (served through conversion). */
import { EC2_NODE_CLASS } from "../aws/ec2nodeclass.ts";
import {
  AGE_COLUMN,
  type CustomResourceDefinition,
  column,
  definition,
  READY_COLUMN,
} from "./definition.ts";
import { instanceOptions } from "./instance-options.ts";
import { kubeletSchema } from "./kubelet-schema.ts";
import {
  boolean,
  conditions,
  integer,
  type JsonSchema,
  kindSchema,
  list,
  object,
  rules,
  text,
  textMap,
} from "./schema.ts";
import { atLeastOne, exclusive, notEmpty, type Rule, tags } from "./selector-terms.ts";

export function ec2NodeClassDefinition(): CustomResourceDefinition {
  const columns = [READY_COLUMN, AGE_COLUMN, column("Role", ".spec.role", 1)];
  const about = "How nodes are made on AWS.";
  return definition(
    EC2_NODE_CLASS,
    [
      {
        name: "v1",
        storage: true,
        schema: kindSchema(about, v1Spec(), status("strict"), ["spec"]),
        columns,
      },
      {
        name: "v1beta1",
        storage: false,
        schema: kindSchema(about, betaSpec(), status("lenient"), ["spec"]),
        columns,
      },
    ],
    { shortNames: ["ec2nc", "ec2ncs"] },
  );
}

const EXACTLY_ONE_PROFILE: Rule = [
  "has(self.role) != has(self.instanceProfile)",
  "must specify exactly one of ['role', 'instanceProfile']",
];

/** Part of upstream's message for a field that excludes others. The name of the list of terms follows it. */
const COMBINED = "with a combination of other fields in";

/** The values of `amiFamily` that upstream allows if an alias is set: the alias's own family, or Custom. */
const ALIAS_FAMILIES: readonly (readonly [prefix: string, family: string])[] = [
  ["al2", "AL2"],
  ["al2023", "AL2023"],
  ["bottlerocket", "Bottlerocket"],
  ["windows2019", "Windows2019"],
  ["windows2022", "Windows2022"],
  ["windows2025", "Windows2025"],
];

function aliasRules(): readonly Rule[] {
  return ALIAS_FAMILIES.map(([prefix, family]) => [
    `!has(self.amiFamily) || self.amiFamily in ['${family}','Custom'] || !self.amiSelectorTerms.exists(x, has(x.alias) && x.alias.startsWith('${prefix}@'))`,
    `if set, amiFamily must be '${family}' or 'Custom' when using ${family === "AL2" || family === "AL2023" ? "an" : "a"} ${family} alias`,
  ]);
}

function v1Spec(): JsonSchema {
  return object(
    "What is wanted.",
    {
      ...sharedFields("v1"),
      amiFamily: text("Picks images, user data form and devices; from the alias when absent.", {
        enum: [
          "AL2",
          "AL2023",
          "Bottlerocket",
          "Custom",
          "Windows2019",
          "Windows2022",
          "Windows2025",
        ],
      }),
      amiSelectorTerms: v1AmiTerms(),
      ...newFields(),
      kubelet: kubeletSchema("cel", { open: true }),
    },
    {
      required: ["amiSelectorTerms", "securityGroupSelectorTerms", "subnetSelectorTerms"],
      ...rules(EXACTLY_ONE_PROFILE, ...aliasRules(), [
        "has(self.amiFamily) || self.amiSelectorTerms.exists(x, has(x.alias))",
        "must specify amiFamily if amiSelectorTerms does not contain an alias",
      ]),
    },
  );
}

const INTERFACE_RULES: readonly Rule[] = [
  [
    "self.size() == 0 || self.exists(x, x.networkCardIndex == 0 && x.deviceIndex == 0 && x.interfaceType == 'interface')",
    "networkInterfaces must include a primary interface with interfaceType='interface'",
  ],
  [
    "self.all(x, self.exists_one(y, x.networkCardIndex == y.networkCardIndex && x.deviceIndex == y.deviceIndex) && (x.interfaceType != 'efa-only' || self.exists_one(y, y.interfaceType == 'efa-only' && x.networkCardIndex == y.networkCardIndex)))",
    "networkInterfaces must not have duplicate networkCardIndex and deviceIndex pairs, and can have at most one efa device per network card",
  ],
];

/** Fields that were added after v1.0. */
function newFields(): Record<string, JsonSchema> {
  return {
    capacityReservationSelectorTerms: list(
      "Which capacity reservations are used.",
      object("One choice; its fields are ANDed.", {
        availabilityZone: text("Zone of the reservation. karpenter-ts only.", {
          pattern: "^[a-z0-9-]+$",
        }),
        id: text("Reservation id.", { pattern: "^cr-[0-9a-z]+$" }),
        instanceMatchCriteria: text("open or targeted.", { enum: ["open", "targeted"] }),
        ownerID: text("Account of the reservation.", { pattern: "^[0-9]{12}$" }),
        tags: tags("Tags of the reservation."),
      }),
      {
        maxItems: 30,
        ...rules(
          atLeastOne(["tags", "id", "instanceMatchCriteria"]),
          exclusive("id", "along with other fields in a capacity reservation selector term", [
            "tags",
            "ownerID",
            "instanceMatchCriteria",
            "availabilityZone",
          ]),
        ),
      },
    ),
    ...instanceOptions(),
    ipPrefixCount: integer("Address prefixes of the first interface.", {
      format: "int32",
      minimum: 0,
    }),
    networkInterfaces: list(
      "Interfaces of the instances.",
      object(
        "One interface.",
        {
          deviceIndex: integer("Device index.", { format: "int32", minimum: 0 }),
          interfaceType: text("interface or efa-only.", { enum: ["interface", "efa-only"] }),
          networkCardIndex: integer("Card index.", { format: "int32", minimum: 0 }),
        },
        { required: ["deviceIndex", "interfaceType", "networkCardIndex"] },
      ),
      { maxItems: 150, ...rules(...INTERFACE_RULES) },
    ),
    placementGroupSelector: object(
      "The placement group of the instances.",
      {
        id: text("Group id.", { pattern: "^pg-[0-9a-z]+$" }),
        name: text("Group name.", { minLength: 1 }),
      },
      rules(
        ["has(self.name) || has(self.id)", "expected at least one, got none, ['name', 'id']"],
        ["!(has(self.name) && has(self.id))", "'name' and 'id' are mutually exclusive"],
      ),
    ),
  };
}

function betaSpec(): JsonSchema {
  return object(
    "What is wanted.",
    {
      ...sharedFields("v1beta1"),
      amiFamily: text("Picks images, user data form and devices.", {
        enum: ["AL2", "AL2023", "Bottlerocket", "Ubuntu", "Custom", "Windows2019", "Windows2022"],
      }),
      amiSelectorTerms: list(
        "Images to use instead of the family's; terms are ORed.",
        object("One choice; its fields are ANDed.", amiFields()),
        {
          maxItems: 30,
          ...rules(
            atLeastOne(["tags", "id", "name"]),
            exclusive("id", `${COMBINED} amiSelectorTerms`, ["tags", "name", "owner"]),
          ),
        },
      ),
    },
    {
      required: ["amiFamily", "securityGroupSelectorTerms", "subnetSelectorTerms"],
      ...rules(
        [
          "self.amiFamily != 'Custom' || (has(self.amiSelectorTerms) && self.amiSelectorTerms.size() > 0)",
          "amiSelectorTerms is required when amiFamily == 'Custom'",
        ],
        EXACTLY_ONE_PROFILE,
        [
          "(has(oldSelf.role) && has(self.role)) || (has(oldSelf.instanceProfile) && has(self.instanceProfile))",
          "changing from 'instanceProfile' to 'role' is not supported. You must delete and recreate this node class if you want to change this.",
        ],
      ),
    },
  );
}

function sharedFields(version: "v1" | "v1beta1"): Record<string, JsonSchema> {
  const immutable: readonly Rule[] =
    version === "v1beta1" ? [["self == oldSelf", "immutable field changed"]] : [];
  const groups = version === "v1" ? "a security group selector term" : "securityGroupSelectorTerms";
  const subnets = version === "v1" ? "a subnet selector term" : "subnetSelectorTerms";
  return {
    associatePublicIPAddress: boolean("Whether instances get a public address."),
    blockDeviceMappings: blockDevices(),
    context: text("Context of the fleet request, reserved by EC2."),
    detailedMonitoring: boolean("EC2's detailed monitoring."),
    instanceProfile: text("Instance profile to use as it is.", {
      ...rules(["self != ''", "instanceProfile cannot be empty"]),
    }),
    instanceStorePolicy: text("RAID0: instance store disks hold what pods write.", {
      enum: ["RAID0"],
    }),
    metadataOptions: metadataOptions(version === "v1" ? 1 : 2),
    role: text("Role of the nodes; a profile is made for it.", {
      ...rules(["self != ''", "role cannot be empty"], ...immutable),
    }),
    securityGroupSelectorTerms: list(
      "Security groups; terms are ORed.",
      object("One choice.", {
        id: text("Group id.", { pattern: "sg-[0-9a-z]+" }),
        name: text("Group name, not its Name tag."),
        tags: tags("Tags of the group."),
      }),
      {
        maxItems: 30,
        ...rules(
          notEmpty("securityGroupSelectorTerms"),
          atLeastOne(["tags", "id", "name"]),
          exclusive("id", `${COMBINED} ${groups}`, ["tags", "name"]),
          exclusive("name", `${COMBINED} ${groups}`, ["tags", "id"]),
        ),
      },
    ),
    subnetSelectorTerms: list(
      "Subnets; terms are ORed.",
      object("One choice.", {
        id: text("Subnet id.", { pattern: "subnet-[0-9a-z]+" }),
        tags: tags("Tags of the subnet."),
      }),
      {
        maxItems: 30,
        ...rules(
          notEmpty("subnetSelectorTerms"),
          atLeastOne(["tags", "id"]),
          exclusive("id", `${COMBINED} ${subnets}`, ["tags"]),
        ),
      },
    ),
    tags: textMap("Tags of what is made on AWS.", { ...rules(...tagRules(version)) }),
    userData: text("User data, merged into the family's own."),
  };
}

function tagRules(version: "v1" | "v1beta1"): readonly Rule[] {
  const restricted = [
    version === "v1" ? "eks:eks-cluster-name" : "karpenter.sh/managed-by",
    "karpenter.sh/nodepool",
    "karpenter.sh/nodeclaim",
    "karpenter.k8s.aws/ec2nodeclass",
  ];
  return [
    ["self.all(k, k != '')", "empty tag keys aren't supported"],
    [
      "self.all(k, !k.startsWith('kubernetes.io/cluster'))",
      "tag contains a restricted tag matching kubernetes.io/cluster/",
    ],
    ...restricted.map(
      (key): Rule => [
        `self.all(k, k != '${key}')`,
        `tag contains a restricted tag matching ${key}`,
      ],
    ),
  ];
}

function amiFields(): Record<string, JsonSchema> {
  return {
    id: text("Image id, alone in its term.", { pattern: "ami-[0-9a-z]+" }),
    name: text("Image name; globs. {kubernetesVersion} is the cluster's version, such as 1.34."),
    owner: text("Account id, self or amazon."),
    tags: tags("Tags of the image."),
  };
}

function v1AmiTerms(): JsonSchema {
  const all = ["id", "tags", "name", "owner"];
  const alias = text("family@version, alone in the list.", {
    maxLength: 30,
    ...rules(
      [
        "self.matches('^[a-zA-Z0-9]+@.+$')",
        "'alias' is improperly formatted, must match the format 'family@version'",
      ],
      [
        `self.matches('^(${ALIAS_FAMILIES.map(([prefix]) => prefix).join("|")})@')`,
        `family is not supported, must be one of the following: ${ALIAS_FAMILIES.map(([prefix]) => `'${prefix}'`).join(", ")}`,
      ],
      [
        "!self.startsWith('windows') || self.endsWith('@latest')",
        "windows families may only specify version 'latest'",
      ],
    ),
  });
  const item = object("One choice; its fields are ANDed.", {
    alias,
    ...amiFields(),
    ssmParameter: text("SSM parameter that holds the image id. May have {kubernetesVersion}."),
  });
  return list("Images; terms are ORed.", item, {
    minItems: 1,
    maxItems: 30,
    ...rules(
      atLeastOne(["tags", "id", "name", "alias", "ssmParameter"]),
      exclusive("id", `${COMBINED} amiSelectorTerms`, ["alias", "tags", "name", "owner"]),
      exclusive("alias", `${COMBINED} amiSelectorTerms`, all),
      [
        "!self.exists(x, has(x.alias)) || self.size() == 1",
        "'alias' is mutually exclusive, cannot be set with a combination of other amiSelectorTerms",
      ],
    ),
  });
}

function blockDevices(): JsonSchema {
  const ebs = object(
    "The volume.",
    {
      deleteOnTermination: boolean("Whether it goes with the instance."),
      encrypted: boolean("Whether it is encrypted."),
      iops: integer("Provisioned operations a second.", { format: "int64" }),
      kmsKeyID: text("Key of the encryption."),
      snapshotID: text("Snapshot it is made from."),
      throughput: integer("MiB a second.", { format: "int64" }),
      volumeInitializationRate: integer("MiB a second of reading the snapshot.", {
        format: "int32",
        minimum: 100,
        maximum: 300,
      }),
      volumeSize: text("Size as a quantity.", {
        pattern:
          "^(([1-9][0-9]{0,3}|[1-4][0-9]{4}|5[0-8][0-9]{3}|59000)Gi|([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-3][0-9]{3}|64000)G|([1-9]|[1-4][0-9]|5[0-8])Ti|([1-9]|[1-5][0-9]|6[0-4])T)$",
      }),
      volumeType: text("EBS volume type.", {
        enum: ["standard", "io1", "io2", "gp2", "sc1", "st1", "gp3"],
      }),
    },
    rules(
      ["has(self.snapshotID) || has(self.volumeSize)", "snapshotID or volumeSize must be defined"],
      [
        "!has(self.volumeInitializationRate) || (has(self.snapshotID) && self.snapshotID != '')",
        "snapshotID must be set when volumeInitializationRate is set",
      ],
    ),
  );
  const item = object("One device.", {
    deviceName: text("Path of the device."),
    ebs,
    rootVolume: boolean("Marks the volume whose size pods may use."),
  });
  return list("Devices in place of the family's.", item, {
    maxItems: 50,
    ...rules([
      "self.filter(x, has(x.rootVolume) && x.rootVolume).size() <= 1",
      "must have only one blockDeviceMappings with rootVolume",
    ]),
  });
}

function metadataOptions(hopLimit: number): JsonSchema {
  const defaults = {
    httpEndpoint: "enabled",
    httpProtocolIPv6: "disabled",
    httpPutResponseHopLimit: hopLimit,
    httpTokens: "required",
  };
  return object(
    "The instance metadata service.",
    {
      httpEndpoint: text("Whether it is on.", {
        default: defaults.httpEndpoint,
        enum: ["enabled", "disabled"],
      }),
      httpProtocolIPv6: text("Whether it is on over IPv6.", {
        default: defaults.httpProtocolIPv6,
        enum: ["enabled", "disabled"],
      }),
      httpPutResponseHopLimit: integer("Hops an answer may take.", {
        default: hopLimit,
        format: "int64",
        minimum: 1,
        maximum: 64,
      }),
      httpTokens: text("Whether a session token is required.", {
        default: defaults.httpTokens,
        enum: ["required", "optional"],
      }),
    },
    { default: defaults },
  );
}

function status(shape: "strict" | "lenient"): JsonSchema {
  return object("What is.", {
    ...resolvedStatus(),
    conditions: conditions(shape),
    instanceProfile: text("Profile in use."),
    ...(shape === "lenient" ? {} : { capacityReservations: reservationsStatus() }),
  });
}

function reservationsStatus(): JsonSchema {
  return list(
    "Capacity reservations, by id.",
    object(
      "One reservation.",
      {
        availabilityZone: text("Its zone."),
        endTime: text("When it ends.", { format: "date-time" }),
        id: text("Reservation id.", { pattern: "^cr-[0-9a-z]+$" }),
        instanceMatchCriteria: text("Which machines count.", { enum: ["open", "targeted"] }),
        instanceType: text("What it is for."),
        interruptible: boolean("Whether EC2 may take it back."),
        ownerID: text("Account of the reservation.", { pattern: "^[0-9]{12}$" }),
        reservationType: text("What kind of reservation it is.", {
          default: "default",
          enum: ["default", "capacity-block"],
        }),
        state: text("expiring: a capacity block within 40 minutes of its end.", {
          default: "active",
          enum: ["active", "expiring"],
        }),
      },
      { required: ["availabilityZone", "id", "instanceMatchCriteria", "instanceType", "ownerID"] },
    ),
  );
}

/** The status fields with the resources that the selectors found. AWSNodeTemplate has the same fields. */
export function resolvedStatus(): Record<string, JsonSchema> {
  const requirement = object(
    "One constraint.",
    {
      key: text("Label key."),
      operator: text("How the label relates to the values."),
      values: list("Values.", { type: "string" }),
    },
    { required: ["key", "operator"] },
  );
  return {
    amis: list(
      "Images, newest first.",
      object(
        "One image.",
        {
          deprecated: boolean("Whether AWS deprecated it."),
          id: text("Image id."),
          name: text("Image name."),
          requirements: list("Which instances it fits.", requirement),
        },
        { required: ["id", "requirements"] },
      ),
    ),
    securityGroups: list(
      "Security groups.",
      object("One group.", { id: text("Id."), name: text("Name.") }, { required: ["id"] }),
    ),
    subnets: list(
      "Subnets, most free addresses first.",
      object(
        "One subnet.",
        { id: text("Id."), zone: text("Zone."), zoneID: text("Zone id.") },
        { required: ["id", "zone"] },
      ),
    ),
  };
}
