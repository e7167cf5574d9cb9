// The real etcd, built from its module.
package main

import (
	"os"

	_ "karpenter-ts/test/cluster/parent"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
