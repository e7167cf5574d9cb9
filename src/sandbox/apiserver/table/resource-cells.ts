/** Table rows of the kinds of dynamic resource allocation. upstream: pkg/printers/internalversion/printers.go */
import { ageCell } from "./age.ts";
import type { Cells } from "./cell.ts";

/** The cells of one row of `kubectl get resourceclaims`. */
export const resourceClaimCells: Cells = (claim, nowMs) => {
  const isLeaving = claim.metadata.deletionTimestamp !== undefined;
  const { allocation, reservedFor = [] } = claim.status ?? {};
  const states = isLeaving ? ["deleted"] : [];
  if (allocation !== undefined) states.push("allocated");
  else if (!isLeaving) states.push("pending");
  if (allocation !== undefined && reservedFor.length > 0) states.push("reserved");
  return [claim.metadata.name, states.join(","), ageCell(claim, nowMs)];
};

/** The cells of one row of `kubectl get resourceslices`. */
export const resourceSliceCells: Cells = (slice, nowMs) => {
  const { nodeName = "", driver = "", pool } = slice.spec ?? {};
  return [slice.metadata.name, nodeName, driver, pool?.name ?? "", ageCell(slice, nowMs)];
};
