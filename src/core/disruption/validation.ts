/**
 * How long a command waits before it is validated on fresh facts: pods come and go, and its nodes must still be
 * superfluous then. Commands that take drifted or expired nodes do not wait.
 * upstream: pkg/controllers/disruption/consolidation.go (consolidationTTL)
 */
export const VALIDATION_MS = 15_000;
