/**
 * How long a consolidation or a removal of empty nodes waits before it is validated on fresh facts. The wait is needed
 * because pods may be added meanwhile. Commands for drifted or expired nodes do not wait.
 * upstream: pkg/controllers/disruption/consolidation.go (consolidationTTL)
 */
export const VALIDATION_MS = 15_000;
