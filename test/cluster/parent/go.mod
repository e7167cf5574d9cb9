// Shared by the programs of both modules here.
module karpenter-ts/test/cluster/parent

go 1.24.0
