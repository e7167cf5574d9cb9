/**
 * What a cloud answers when it does not do what was asked. Names equal upstream's: they are a
 * metric label.
 */

/**
 * The cloud does not know the instance. `isEnded`: the cloud itself, asked by its ID, says that it has ended; otherwise
 * it may be in another account or region, or left out by mistake.
 */
export class NodeClaimNotFoundError extends Error {
  override readonly name = "NodeClaimNotFoundError";
  readonly isEnded: boolean;

  constructor(
    message: string,
    options: { readonly isEnded?: boolean; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.isEnded = options.isEnded === true;
  }
}

/** The cloud is out of what was asked for; the claim is given up and its pods planned anew. */
export class InsufficientCapacityError extends Error {
  override readonly name = "InsufficientCapacityError";
}

/** The cloud will never reboot this instance: asking again does not help. */
export class RebootRefusedError extends Error {
  override readonly name = "RebootRefusedError";
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
