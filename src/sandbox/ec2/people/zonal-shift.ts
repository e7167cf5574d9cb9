/**
 * ARC zonal shift, as far as an EKS cluster has it. A person shifts traffic away from a zone for some time,
 * or cancels that. The cluster's description lists the shifts. The newest shift of a cluster applies, as in
 * AWS.
 */

import { AwsError } from "../../../providers/aws/api/call.ts";
import type { ZonalShift, ZonalShiftApi } from "../../../providers/aws/api/zonal-shift.ts";
import type { Answers, AwsState, ShiftRecord } from "../account/state.ts";
import { awsTime } from "../account/state.ts";

interface StartInput {
  readonly resourceIdentifier: string;
  readonly awayFrom: string;
  /** The duration, such as `30m` or `3h`; at most three days. */
  readonly expiresIn: string;
  readonly comment: string;
}

const MINUTE_MS = 60_000;
const LONGEST_MS = 3 * 24 * 60 * MINUTE_MS;

/** Users start and cancel shifts; Karpenter only reads them. */
interface ShiftsByPeople {
  startZonalShift(input: StartInput): object;
  cancelZonalShift(input: { readonly zonalShiftId: string }): object;
  listZonalShifts(): { readonly items: readonly object[] };
  listManagedResources(): { readonly items: readonly object[] };
}

/** The call that Karpenter makes, and those by which a person starts and cancels a shift. */
export function zonalShiftCalls(state: AwsState): Answers<ZonalShiftApi> & ShiftsByPeople {
  const arn = state.cluster.arn ?? "";

  function checkCluster(resourceIdentifier: string): void {
    if (resourceIdentifier === arn) return;
    const message = `The resource ${resourceIdentifier} is not registered with zonal shift.`;
    throw new AwsError("ResourceNotFoundException", message, 404);
  }

  return {
    getManagedResource({ resourceIdentifier }) {
      checkCluster(resourceIdentifier);
      const shifts = [...state.zonalShifts.values()].filter((one) => statusOf(one) === "ACTIVE");
      return {
        arn,
        name: state.clusterName,
        appliedWeights: weights(state, shifts.at(-1)?.awayFrom),
        zonalAutoshiftStatus: "DISABLED",
        autoshifts: [],
        zonalShifts: shifts.map((one, at) => ({
          ...shown(state, one),
          appliedStatus: at === shifts.length - 1 ? ("APPLIED" as const) : ("NOT_APPLIED" as const),
          shiftType: "ZONAL_SHIFT",
        })),
      };
    },
    startZonalShift({ resourceIdentifier, awayFrom, expiresIn, comment }) {
      checkCluster(resourceIdentifier);
      if (!state.zones.some((zone) => zone.ZoneId === awayFrom)) {
        const known = state.zones.map((zone) => zone.ZoneId).join(", ");
        throw invalid(`awayFrom: ${awayFrom} is no zone id of this region (${known})`);
      }
      const startedMs = state.clock.now();
      const id = `${state.messageIds.hex(8)}-${state.messageIds.hex(4)}-4000-8000-${state.messageIds.hex(12)}`;
      const expiresMs = startedMs + spanMs(expiresIn);
      const record: ShiftRecord = { id, awayFrom, comment, startedMs, expiresMs, canceled: false };
      state.zonalShifts.set(id, record);
      return { ...shown(state, record), status: statusOf(record) };
    },
    cancelZonalShift({ zonalShiftId }) {
      const record = state.zonalShifts.get(zonalShiftId);
      if (record === undefined) {
        const message = `The zonal shift ${zonalShiftId} is not there.`;
        throw new AwsError("ResourceNotFoundException", message, 404);
      }
      record.canceled = true;
      return { ...shown(state, record), status: statusOf(record) };
    },
    listZonalShifts: () => ({
      items: [...state.zonalShifts.values()].map((one) => ({
        ...shown(state, one),
        status: statusOf(one),
      })),
    }),
    listManagedResources: () => ({
      items: [{ arn, name: state.clusterName, zonalAutoshiftStatus: "DISABLED" }],
    }),
  };

  function statusOf({ canceled, expiresMs }: ShiftRecord): "ACTIVE" | "CANCELED" | "EXPIRED" {
    if (canceled) return "CANCELED";
    return state.clock.now() < expiresMs ? "ACTIVE" : "EXPIRED";
  }
}

/** The weight of each zone: 0 for the one that is avoided, 1 for all others. */
function weights(state: AwsState, awayFrom: string | undefined): Readonly<Record<string, number>> {
  return Object.fromEntries(state.zones.map(({ ZoneId }) => [ZoneId, ZoneId === awayFrom ? 0 : 1]));
}

function shown(
  state: AwsState,
  { id, awayFrom, comment, startedMs, expiresMs }: ShiftRecord,
): Omit<ZonalShift, "appliedStatus"> & Readonly<Record<string, string>> {
  return {
    zonalShiftId: id,
    resourceIdentifier: state.cluster.arn ?? "",
    awayFrom,
    comment,
    startTime: awsTime(startedMs),
    expiryTime: awsTime(expiresMs),
  };
}

function spanMs(text: string): number {
  const match = /^([1-9][0-9]*)([mh])$/.exec(text);
  const spanMs = Number(match?.[1]) * (match?.[2] === "h" ? 60 : 1) * MINUTE_MS;
  if (match !== null && spanMs >= MINUTE_MS && spanMs <= LONGEST_MS) return spanMs;
  throw invalid(`expiresIn: ${JSON.stringify(text)} is no span of 1m to 72h, such as 30m or 3h`);
}

function invalid(message: string): AwsError {
  return new AwsError("ValidationException", message);
}
