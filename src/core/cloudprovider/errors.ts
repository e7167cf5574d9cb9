/** The errors of cloud calls. They have upstream's names, because the names are values of a metric label. */

/**
 * The cloud does not know the instance. `isEnded`: a query by its ID proved that it is terminated. Otherwise the
 * instance may be in another account or region, or the cloud's answer may be incomplete.
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

/** The cloud has no capacity for the request. The claim is deleted, and its pods are planned again. */
export class InsufficientCapacityError extends Error {
  override readonly name = "InsufficientCapacityError";
}

/** The cloud will never reboot this instance, so a retry does not help. */
export class RebootRefusedError extends Error {
  override readonly name = "RebootRefusedError";
}

/** The node class is not ready, so nothing can be launched with it. */
export class NodeClassNotReadyError extends Error {
  override readonly name = "NodeClassNotReadyError";
}

/** The launch failed for a reason that users should see. The reason is written to the condition Launched. */
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
 * The instance types of a pool are not known yet, because its NodeOverlays are not evaluated. Until then, planning
 * skips the pool.
 */
export class UnevaluatedNodePoolError extends Error {
  override readonly name = "UnevaluatedNodePoolError";
}
