//go:build never

// Package suites holds nothing: its imports keep in go.mod what upstream's test binaries and its operator for kwok are built from.
package suites

import (
	_ "sigs.k8s.io/karpenter/kwok"
	_ "sigs.k8s.io/karpenter/test/pkg/debug"
	_ "sigs.k8s.io/karpenter/test/pkg/environment/common"
)
