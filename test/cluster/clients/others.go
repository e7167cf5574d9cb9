package main

import (
	"context"
	"sort"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

var nodePools = schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodepools"}

func otherClients(ctx context.Context, config *rest.Config) error {
	// Metadata of built-in kinds comes in protobuf.
	about, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	namespaces, err := about.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).List(ctx, metav1.ListOptions{LabelSelector: "made-by"})
	if err != nil {
		return err
	}
	say("metadata: %s %s %s %v", namespaces.Kind, namespaces.Items[0].Kind, namespaces.Items[0].Name, keys(namespaces.Items[0].Labels))
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	_, err = objects.Resource(nodePools).Create(ctx, nodePool("dynamic", "t3.small", "80%%"), metav1.CreateOptions{})
	say("a budget that is none: %s", refusal(err))
	made, err := objects.Resource(nodePools).Create(ctx, nodePool("dynamic", "t3.small", "80%"), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	policy, _, _ := unstructured.NestedString(made.Object, "spec", "disruption", "consolidationPolicy")
	say("nodepool: generation %d, policy by default %s", made.GetGeneration(), policy)
	custom, err := about.Resource(nodePools).Get(ctx, "dynamic", metav1.GetOptions{})
	if err != nil {
		return err
	}
	say("metadata of a custom kind: %s %s", custom.Kind, custom.Name)
	if err := objects.Resource(nodePools).Delete(ctx, "dynamic", metav1.DeleteOptions{}); err != nil {
		return err
	}
	finder, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	groups, err := restmapper.GetAPIGroupResources(finder)
	if err != nil {
		return err
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	for _, name := range []string{"pods", "deployments", "nodepools", "nodeclaims", "poddisruptionbudgets", "leases"} {
		kind, err := mapper.KindFor(schema.GroupVersionResource{Resource: name})
		if err != nil {
			return err
		}
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return err
		}
		say("%s: %s, %s", name, kind, mapping.Scope.Name())
	}
	return reviews(ctx, config)
}

func reviews(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(overProtobuf(config))
	if err != nil {
		return err
	}
	may, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "delete", Resource: "nodes"}},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	say("may delete nodes: %t", may.Status.Allowed)
	self, err := client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	sort.Strings(self.Status.UserInfo.Groups)
	say("groups: %v", self.Status.UserInfo.Groups)
	token, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	account := rest.AnonymousClientConfig(config)
	account.BearerToken = token.Status.Token
	lowly, err := kubernetes.NewForConfig(overProtobuf(account))
	if err != nil {
		return err
	}
	self, err = lowly.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	say("with a service account's token: %s %v", self.Status.UserInfo.Username, self.Status.UserInfo.Groups)
	_, err = lowly.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	say("%s", refusal(err))
	account.BearerToken = "nonsense"
	nobody, err := kubernetes.NewForConfig(overProtobuf(account))
	if err != nil {
		return err
	}
	_, err = nobody.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	say("%s", refusal(err))
	return nil
}

func nodePool(name, instanceType, budget string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "karpenter.sh/v1",
		"kind":       "NodePool",
		"metadata":   map[string]any{"name": name},
		"spec": map[string]any{
			// Nothing is ever launched for it: it matches no pod.
			"limits":     map[string]any{"cpu": "0"},
			"disruption": map[string]any{"consolidateAfter": "1m", "budgets": []any{map[string]any{"nodes": budget}}},
			"template": map[string]any{"spec": map[string]any{
				"nodeClassRef": map[string]any{"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
				"requirements": []any{map[string]any{
					"key": "node.kubernetes.io/instance-type", "operator": "In", "values": []any{instanceType},
				}},
			}},
		},
	}}
}
