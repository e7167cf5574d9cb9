package main

import (
	"context"
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// Kinds that both clusters of a comparison have objects of, whatever runs in them.
var compared = []string{
	"v1/configmaps", "v1/namespaces", "v1/nodes", "v1/pods", "v1/serviceaccounts", "v1/services", "v1/secrets",
	"apps/v1/deployments", "apps/v1/replicasets", "scheduling.k8s.io/v1/priorityclasses",
	"coordination.k8s.io/v1/leases", "policy/v1/poddisruptionbudgets", "storage.k8s.io/v1/storageclasses",
	"rbac.authorization.k8s.io/v1/clusterroles", "rbac.authorization.k8s.io/v1/clusterrolebindings",
}

// The API server asks the components anew for each list: on a busy machine two lists say different things of them.
const askedAnew = "v1/componentstatuses"

// Lists every kind in both encodings and compares what Go makes of them.
func bothEncodings(ctx context.Context, config *rest.Config) error {
	wanted := map[string]bool{}
	for _, name := range compared {
		wanted[name] = true
	}
	finder, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	lists, err := finder.ServerPreferredResources()
	if err != nil {
		return err
	}
	differing := []string{}
	seen := 0
	for _, list := range lists {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return err
		}
		for _, resource := range list.APIResources {
			name := list.GroupVersion + "/" + resource.Name
			if name == askedAnew {
				continue
			}
			if !scheme.Scheme.Recognizes(group.WithKind(resource.Kind)) || !strings.Contains(strings.Join(resource.Verbs, " "), "list") {
				continue
			}
			same, err := sameInBoth(ctx, config, group, resource)
			if err != nil {
				say("%s: %v", name, err)
				continue
			}
			if !same {
				differing = append(differing, name)
			}
			if wanted[name] {
				seen++
			}
		}
	}
	sort.Strings(differing)
	say("%d kinds that every cluster has objects of; decoded otherwise in protobuf than in JSON: %v", seen, differing)
	return nil
}

func sameInBoth(ctx context.Context, config *rest.Config, group schema.GroupVersion, resource metav1.APIResource) (bool, error) {
	var read [2]runtime.Object
	// Somebody may write in between.
	for attempt := 0; attempt < 5; attempt++ {
		for index, encoding := range []string{"application/vnd.kubernetes.protobuf", "application/json"} {
			client, err := clientFor(config, group, encoding)
			if err != nil {
				return false, err
			}
			if read[index], err = client.Get().Resource(resource.Name).Do(ctx).Get(); err != nil {
				return false, err
			}
		}
		left, _ := meta.ExtractList(read[0])
		right, _ := meta.ExtractList(read[1])
		if equality.Semantic.DeepEqual(left, right) {
			return true, nil
		}
	}
	return false, nil
}

func clientFor(config *rest.Config, group schema.GroupVersion, encoding string) (*rest.RESTClient, error) {
	result := rest.CopyConfig(config)
	result.GroupVersion = &group
	result.APIPath = "/apis"
	if group.Group == "" {
		result.APIPath = "/api"
	}
	result.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	result.ContentType, result.AcceptContentTypes = encoding, encoding
	return rest.RESTClientFor(result)
}
