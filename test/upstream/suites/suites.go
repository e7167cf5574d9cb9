//go:build never

// Package suites holds nothing: its imports keep in go.mod what upstream's test binaries, its operator for kwok and its driver of devices are built from.
package suites

import (
	_ "sigs.k8s.io/karpenter/dra-kwok-driver"
	_ "sigs.k8s.io/karpenter/kwok"
	_ "sigs.k8s.io/karpenter/test/pkg/debug"
	_ "sigs.k8s.io/karpenter/test/pkg/environment/common"
)
