/**
 * What a cloud answers when it does not do what was asked. Names equal upstream's: they are a
 * metric label.
 */

/** The instance is gone (or never was). */
export class NodeClaimNotFoundError extends Error {
  override readonly name = "NodeClaimNotFoundError";
}

/** The cloud is out of what was asked for; the claim is given up and its pods planned anew. */
export class InsufficientCapacityError extends Error {
  override readonly name = "InsufficientCapacityError";
}

/** The node class cannot be used now. */
export class NodeClassNotReadyError extends Error {
  override readonly name = "NodeClassNotReadyError";
}

/** Launching failed for a reason a person should read: goes into the Launched condition. */
export class CreateError extends Error {
  override readonly name = "CreateError";
  readonly conditionReason: string;
  readonly conditionMessage: string;

  constructor(message: string, condition: { reason: string; message: string }, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.conditionReason = condition.reason;
    this.conditionMessage = condition.message;
  }
}

/**
 * Instance types of a pool are not known yet (overlays pending): the pool is passed over quietly.
 */
export class UnevaluatedNodePoolError extends Error {
  override readonly name = "UnevaluatedNodePoolError";
}
