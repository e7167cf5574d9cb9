/**
 * The client of ARC zonal shift for the one call that is used. It is EKS's client under another name, because both
 * services speak REST with JSON. So credentials, signatures, retries and endpoint settings work as for other calls.
 */
import { EKSClient, type EKSClientConfig } from "@aws-sdk/client-eks";
import { Command } from "@smithy/core/client";
import { getEndpointPlugin } from "@smithy/core/endpoints";

const NAMESPACE = "com.amazonaws.arczonalshift";
const SIGNED_AS = "arc-zonal-shift";

/** The numbers by which the SDK's schemas name shapes. */
const TEXT = 0;
const TIME = 4;
const LIST = 1;
const STRUCTURE = 3;
const OPERATION = 9;

type Schema = readonly unknown[];

function structure(name: string, members: Readonly<Record<string, unknown>>): Schema {
  return [STRUCTURE, NAMESPACE, name, 0, Object.keys(members), Object.values(members)];
}

function listOf(name: string, member: Schema): Schema {
  return [LIST, NAMESPACE, name, 0, () => member];
}

const SHIFT = structure("ZonalShiftInResource", {
  appliedStatus: TEXT,
  awayFrom: TEXT,
  expiryTime: TIME,
});
const AUTOSHIFT = structure("AutoshiftInResource", { appliedStatus: TEXT, awayFrom: TEXT });
const REQUEST = structure("GetManagedResourceRequest", {
  resourceIdentifier: [TEXT, { httpLabel: 1 }],
});
const RESPONSE = structure("GetManagedResourceResponse", {
  zonalShifts: () => listOf("ZonalShiftsInResource", SHIFT),
  autoshifts: () => listOf("AutoshiftsInResource", AUTOSHIFT),
});
const CALL: Schema = [
  OPERATION,
  NAMESPACE,
  "GetManagedResource",
  { http: ["GET", "/managedresources/{resourceIdentifier}", 200] },
  () => REQUEST,
  () => RESPONSE,
];

/** EKS's client speaks the same protocol. The SDK has no small client for ARC zonal shift. */
export function createZonalShiftClient(config: EKSClientConfig): EKSClient {
  return new EKSClient({
    ...config,
    serviceId: "ARC Zonal Shift",
    endpointProvider: ({ Region = "", Endpoint }) => ({
      url: new URL(Endpoint ?? `https://${SIGNED_AS}.${Region}.${suffixOf(Region)}`),
    }),
    httpAuthSchemeProvider: ({ region = "" }) => [
      {
        schemeId: "aws.auth#sigv4",
        signingProperties: { name: SIGNED_AS, region },
        propertiesExtractor: (client, context) => ({
          signingProperties: { config: client, context },
        }),
      },
    ],
  });
}

function suffixOf(region: string): string {
  return region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
}

/** The one call of ARC zonal shift that is used. */
export const GetManagedResourceCommand = Command.classBuilder()
  .ep({
    Endpoint: { type: "builtInParams", name: "endpoint" },
    Region: { type: "builtInParams", name: "region" },
  })
  .m((command, _stack, config) => [
    getEndpointPlugin(config, command.getEndpointParameterInstructions()),
  ])
  .s("PercDataPlane", "GetManagedResource", {})
  .n("ARCZonalShiftClient", "GetManagedResourceCommand")
  .sc(CALL as never)
  .build();
