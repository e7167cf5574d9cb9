/**
 * Answers about past commands that moved pods, from records on claims: their reasons, and the planned and real savings.
 */
import { counted } from "../../base/counted.ts";
import type { Picture } from "../disruption/make-round.ts";
import { type MoveRecord, movesOn, oldestFirst } from "../disruption/moves.ts";
import { replacementCommandId } from "../disruption/record.ts";
import type { NodeView } from "../state/node-view.ts";
import { usd } from "./command-answer.ts";
import { ownedNode } from "./owned-node.ts";

/** A past disruption that moved pods, and what it saved. */
export interface MoveAnswer {
  /** Id of the disruption command. */
  readonly command: string;
  readonly reason: string;
  /** When the command began, as RFC 3339. */
  readonly at: string;
  readonly says: string;
  /** Names of the nodes that were removed. */
  readonly nodes: readonly string[];
  readonly pods: number;
  readonly savesMicroUsdPerHour: number;
  /**
   * What the command really saved per hour, by the prices of the nodes that were launched for it. Absent: not all of
   * them exist.
   */
  readonly realisedMicroUsdPerHour?: number;
}

/** The moves that are recorded on the claims of these nodes, the oldest first. */
export function moveAnswers(picture: Picture, nodes: readonly NodeView[]): readonly MoveAnswer[] {
  const moves = new Map(
    nodes
      .flatMap(({ claim }) => (claim === undefined ? [] : movesOn(claim)))
      .map((one) => [one.command, one]),
  );
  return [...moves.values()].sort(oldestFirst).map((move) => answer(picture, move));
}

function answer(picture: Picture, move: MoveRecord): MoveAnswer {
  const { command, reason, at, nodes } = move;
  const pods = Object.values(move.pods).reduce((sum, count) => sum + count, 0);
  const realised = realisedMicroUsd(picture, move);
  const came =
    realised === undefined || realised === move.savesMicroUsd ? "" : `; it saved ${usd(realised)}`;
  const says = `${reason} ${at}: ${counted(pods, "pod")} moved from ${nodes.join(", ")}, planned to save ${usd(move.savesMicroUsd)} an hour${came}`;
  return {
    command,
    reason,
    at,
    says,
    nodes,
    pods,
    savesMicroUsdPerHour: move.savesMicroUsd,
    ...(realised === undefined ? {} : { realisedMicroUsdPerHour: realised }),
  };
}

function realisedMicroUsd(picture: Picture, move: MoveRecord): number | undefined {
  const prices = picture.nodes
    .filter(({ claim }) => claim !== undefined && replacementCommandId(claim) === move.command)
    .map((node) => ownedNode(picture, node)?.candidate?.priceMicroUsd ?? 0);
  if (prices.length !== move.replacements) return undefined;
  return move.priceMicroUsd - prices.reduce((sum, price) => sum + price, 0);
}
