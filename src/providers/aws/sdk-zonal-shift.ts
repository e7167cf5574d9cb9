/**
 * The client of ARC zonal shift for the one call that is used. It is EKS's client under another name, because both
 * services speak REST with JSON. So credentials, signatures, retries and endpoint settings work as for other calls.
 */
import { EKSClient, type EKSClientConfig } from "@aws-sdk/client-eks";
import { Command } from "@smithy/core/client";
import { getEndpointPlugin } from "@smithy/core/endpoints";
import {
  CLIENT_ENDPOINT,
  listOf,
  SHAPE,
  type ShapeSchema,
  servedAs,
  structure,
} from "./sdk-one-call.ts";

const NAMESPACE = "com.amazonaws.arczonalshift";
const SIGNED_AS = "arc-zonal-shift";

const SHIFT = structure(NAMESPACE, "ZonalShiftInResource", {
  appliedStatus: SHAPE.text,
  awayFrom: SHAPE.text,
  expiryTime: SHAPE.time,
});
const AUTOSHIFT = structure(NAMESPACE, "AutoshiftInResource", {
  appliedStatus: SHAPE.text,
  awayFrom: SHAPE.text,
});
const REQUEST = structure(NAMESPACE, "GetManagedResourceRequest", {
  resourceIdentifier: [SHAPE.text, { httpLabel: 1 }],
});
const RESPONSE = structure(NAMESPACE, "GetManagedResourceResponse", {
  zonalShifts: () => listOf(NAMESPACE, "ZonalShiftsInResource", SHIFT),
  autoshifts: () => listOf(NAMESPACE, "AutoshiftsInResource", AUTOSHIFT),
});
const CALL: ShapeSchema = [
  SHAPE.operation,
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
    ...servedAs(SIGNED_AS),
  });
}

/** The one call of ARC zonal shift that is used. */
export const GetManagedResourceCommand = Command.classBuilder()
  .ep(CLIENT_ENDPOINT)
  .m((command, _stack, config) => [
    getEndpointPlugin(config, command.getEndpointParameterInstructions()),
  ])
  .s("PercDataPlane", "GetManagedResource", {})
  .n("ARCZonalShiftClient", "GetManagedResourceCommand")
  .sc(CALL as never)
  .build();
