/**
 * How long a command for consolidation or empty nodes waits before it is validated on fresh facts.
 * upstream: pkg/controllers/disruption/consolidation.go (consolidationTTL)
 */
export const VALIDATION_MS = 15_000;
