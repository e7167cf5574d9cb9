/**
 * ARC zonal shift, of whose calls we need one: said to the SDK as its own packages say theirs, a client and the
 * schema of a call, so that credentials, signatures, retries and endpoint settings are those of every other
 * call. The client is that of EKS under another name: both speak REST with JSON.
 */
import { EKSClient, type EKSClientConfig } from "@aws-sdk/client-eks";
import { Command } from "@smithy/core/client";
import { getEndpointPlugin } from "@smithy/core/endpoints";

const NAMESPACE = "com.amazonaws.arczonalshift";
const SIGNED_AS = "arc-zonal-shift";

/** The SDK's numbers for shapes. */
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

/** The SDK has no small client for ARC zonal shift; EKS's speaks the same protocol. */
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
