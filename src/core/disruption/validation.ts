/**
 * How long a command for consolidation or empty nodes waits before it is validated on fresh facts. During this time
 * pods may be added that the command does not know. Commands for drifted, expired or broken nodes do not wait.
 * upstream: pkg/controllers/disruption/consolidation.go (consolidationTTL)
 */
export const VALIDATION_MS = 15_000;
