/**
 * Keeps the replacements of a round within the quotas of the cloud account, in the same way as plans of provisioning. A
 * command waits until the quotas have room for all its replacements. karpenter-ts only.
 */
import { QuotaRoom } from "../provisioning/nodes/within-quotas.ts";
import type { Asking, Ruling } from "./arbiter.ts";
import type { Remark } from "./methods/method.ts";

/** The ruling without the commands whose replacements exceed a quota, with remarks why their nodes are kept. */
export function withinQuotas(
  ruling: Ruling,
  { pending, quotaRoom }: Pick<Asking, "pending" | "quotaRoom">,
): Ruling {
  const room = quotaRoom?.() ?? new Map();
  if (room.size === 0) return ruling;
  const left = new QuotaRoom(room);
  for (const { replacements } of pending) left.take(replacements);
  const remarks: Remark[] = [];
  const commands = ruling.commands.filter(({ candidates, replacements }) => {
    const message = left.take(replacements);
    if (message === undefined) return true;
    for (const candidate of candidates) remarks.push({ candidate, about: "blocked", message });
    return false;
  });
  return { ...ruling, commands, remarks: [...ruling.remarks, ...remarks] };
}
