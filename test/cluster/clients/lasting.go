package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/features"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// What programs live through that run for long: versions that expire, kinds that come later, lists that take a
// while, a leader that is no more.
func lasting(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(overProtobuf(config))
	if err != nil {
		return err
	}
	for _, part := range []func(context.Context, *rest.Config, kubernetes.Interface) error{
		expiredInformer, metadataInformer, laterKind, slowList, killedLeader, tokenReviews,
	} {
		if err := part(ctx, config, client); err != nil {
			return err
		}
	}
	return nil
}

func settings(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"lasting": "yes"}}, Data: data}
}

var lastingOnes = metav1.ListOptions{LabelSelector: "lasting=yes"}

// A watch from a version that the server has long forgotten, and in between changes that it never tells of.
func expiredInformer(ctx context.Context, _ *rest.Config, client kubernetes.Interface) error {
	maps := client.CoreV1().ConfigMaps(namespace)
	if _, err := maps.Create(ctx, settings("stays", map[string]string{"k": "1"}), metav1.CreateOptions{}); err != nil {
		return err
	}
	if _, err := maps.Create(ctx, settings("goes", nil), metav1.CreateOptions{}); err != nil {
		return err
	}
	// An informer takes a first list of any version, which may be of a moment before.
	if err := until(ctx, "lists of any version have both", func() (bool, error) {
		found, err := maps.List(ctx, metav1.ListOptions{LabelSelector: lastingOnes.LabelSelector, ResourceVersion: "0"})
		return err == nil && len(found.Items) == 2, err
	}); err != nil {
		return err
	}
	features.ReplaceFeatureGates(gates{features.FeatureGates(), false})
	var lock sync.Mutex
	watches, lists := 0, 0
	source := &cache.ListWatch{
		ListFunc: func(options metav1.ListOptions) (runtime.Object, error) {
			lock.Lock()
			lists++
			lock.Unlock()
			options.LabelSelector = lastingOnes.LabelSelector
			return maps.List(ctx, options)
		},
		WatchFunc: func(options metav1.ListOptions) (watch.Interface, error) {
			lock.Lock()
			watches++
			first := watches == 1
			lock.Unlock()
			options.LabelSelector = lastingOnes.LabelSelector
			if first {
				if err := maps.Delete(ctx, "goes", metav1.DeleteOptions{}); err != nil {
					return nil, err
				}
				return nil, apierrors.NewResourceExpired("too old resource version")
			}
			return maps.Watch(ctx, options)
		},
	}
	informer := cache.NewSharedInformer(source, &corev1.ConfigMap{}, 0)
	events := map[string]int{}
	note := func(what string) {
		lock.Lock()
		events[what]++
		lock.Unlock()
	}
	if _, err := informer.AddEventHandlerWithResyncPeriod(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { note("added " + object.(*corev1.ConfigMap).Name) },
		UpdateFunc: func(before, after any) {
			if before.(*corev1.ConfigMap).ResourceVersion == after.(*corev1.ConfigMap).ResourceVersion {
				note("told again of " + after.(*corev1.ConfigMap).Name)
			}
		},
		DeleteFunc: func(object any) {
			if gone, is := object.(cache.DeletedFinalStateUnknown); is {
				note("deleted unseen " + gone.Key)
			}
		},
	}, time.Second); err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	go informer.RunWithContext(running)
	if err := until(ctx, "an end that was not seen and a second telling", func() (bool, error) {
		lock.Lock()
		defer lock.Unlock()
		return events["deleted unseen "+namespace+"/goes"] == 1 && events["told again of stays"] > 0, nil
	}); err != nil {
		say("%v", events)
		return err
	}
	lock.Lock()
	say("after a version that expired: listed %d times, in store %d", lists, len(informer.GetStore().List()))
	say("%v", keys(events))
	lock.Unlock()
	return nil
}

func metadataInformer(ctx context.Context, config *rest.Config, client kubernetes.Interface) error {
	about, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := metadatainformer.NewFilteredSharedInformerFactory(about, 0, namespace, func(options *metav1.ListOptions) {
		options.LabelSelector = lastingOnes.LabelSelector
	})
	informer := factory.ForResource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"})
	running, stop := context.WithCancel(ctx)
	defer stop()
	store := informer.Informer().GetStore()
	factory.Start(running.Done())
	factory.WaitForCacheSync(running.Done())
	patch := []byte(`{"metadata":{"annotations":{"seen":"yes"}},"data":{"k":"2"}}`)
	if _, err := client.CoreV1().ConfigMaps(namespace).Patch(ctx, "stays", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return err
	}
	return until(ctx, "an annotation", func() (bool, error) {
		found, is, err := store.GetByKey(namespace + "/stays")
		if err != nil || !is {
			return false, err
		}
		object := found.(*metav1.PartialObjectMetadata)
		if object.Annotations["seen"] != "yes" {
			return false, nil
		}
		say("metadata alone: %s %s, annotations %v", object.Kind, object.Name, object.Annotations)
		return true, nil
	})
}

// A program that watches a kind which is defined while it runs.
func laterKind(ctx context.Context, config *rest.Config, _ kubernetes.Interface) error {
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	kind := schema.GroupVersionResource{Group: "lasting.example.com", Version: "v1", Resource: "things"}
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(objects, 0, namespace, nil)
	informer := factory.ForResource(kind).Informer()
	if err := informer.SetWatchErrorHandlerWithContext(func(context.Context, *cache.Reflector, error) {}); err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	factory.Start(running.Done())
	time.Sleep(300 * time.Millisecond)
	say("before its definition: synced %t", informer.HasSynced())
	definitions := objects.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	if _, err := definitions.Create(ctx, definition(kind), metav1.CreateOptions{}); err != nil {
		return err
	}
	things := objects.Resource(kind).Namespace(namespace)
	thing := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": kind.GroupVersion().String(), "kind": "Thing", "metadata": map[string]any{"name": "one"},
		"spec": map[string]any{"size": int64(1), "lost": true},
	}}
	if err := until(ctx, "a kind that is served", func() (bool, error) {
		_, err := things.Create(ctx, thing, metav1.CreateOptions{})
		return err == nil, nil
	}); err != nil {
		return err
	}
	if err := until(ctx, "a thing in the store", func() (bool, error) {
		found, is, err := informer.GetStore().GetByKey(namespace + "/one")
		if err != nil || !is {
			return false, err
		}
		spec, _, _ := unstructured.NestedMap(found.(*unstructured.Unstructured).Object, "spec")
		say("seen after its definition: spec %v", spec)
		return true, nil
	}); err != nil {
		return err
	}
	if err := definitions.Delete(ctx, kind.GroupResource().String(), metav1.DeleteOptions{}); err != nil {
		return err
	}
	if err := until(ctx, "an empty store", func() (bool, error) { return len(informer.GetStore().List()) == 0, nil }); err != nil {
		return err
	}
	say("gone with its definition")
	return nil
}

func definition(kind schema.GroupVersionResource) *unstructured.Unstructured {
	spec := map[string]any{"type": "object", "properties": map[string]any{"size": map[string]any{"type": "integer"}}}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   map[string]any{"name": kind.GroupResource().String()},
		"spec": map[string]any{
			"group": kind.Group,
			"scope": "Namespaced",
			"names": map[string]any{"plural": kind.Resource, "singular": "thing", "kind": "Thing"},
			"versions": []any{map[string]any{
				"name": kind.Version, "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{"spec": spec}}},
			}},
		},
	}}
}

// Pages are of the state that the first one was of, whatever happens meanwhile.
func slowList(ctx context.Context, _ *rest.Config, client kubernetes.Interface) error {
	maps := client.CoreV1().ConfigMaps(namespace)
	for _, name := range []string{"page-a", "page-b", "page-c", "page-d", "page-e"} {
		if _, err := maps.Create(ctx, settings(name, nil), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	options := lastingOnes
	options.Limit = 2
	names := []string{}
	for number := 0; ; number++ {
		page, err := maps.List(ctx, options)
		if err != nil {
			return err
		}
		left := int64(0)
		if page.RemainingItemCount != nil {
			left = *page.RemainingItemCount
		}
		names = append(names, fmt.Sprintf("(%d left)", left))
		for _, item := range page.Items {
			names = append(names, item.Name+item.Data["new"])
		}
		if page.Continue == "" {
			break
		}
		options.Continue = page.Continue
		if number > 0 {
			continue
		}
		if err := maps.Delete(ctx, "page-c", metav1.DeleteOptions{}); err != nil {
			return err
		}
		if _, err := maps.Update(ctx, settings("page-d", map[string]string{"new": "!"}), metav1.UpdateOptions{}); err != nil {
			return err
		}
		if _, err := maps.Create(ctx, settings("page-cc", nil), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	say("pages: %v", names)
	return maps.DeleteCollection(ctx, metav1.DeleteOptions{}, lastingOnes)
}

// The first is killed and gives nothing back; the second waits until the lease is over.
func killedLeader(ctx context.Context, _ *rest.Config, client kubernetes.Interface) error {
	leads := make(chan string, 4)
	const lease = 2 * time.Second
	elect := func(name string) (context.CancelFunc, error) {
		candidate, kill := context.WithCancel(ctx)
		lock, err := resourcelock.New(resourcelock.LeasesResourceLock, namespace, "killed", client.CoreV1(),
			client.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: name})
		if err != nil {
			kill()
			return nil, err
		}
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: lock, LeaseDuration: lease, RenewDeadline: 1500 * time.Millisecond, RetryPeriod: 200 * time.Millisecond,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) { leads <- name },
				OnStoppedLeading: func() {},
			},
		})
		if err != nil {
			kill()
			return nil, err
		}
		go elector.Run(candidate)
		return kill, nil
	}
	killFirst, err := elect("first")
	if err != nil {
		return err
	}
	say("%s leads", <-leads)
	killSecond, err := elect("second")
	if err != nil {
		return err
	}
	defer killSecond()
	time.Sleep(500 * time.Millisecond)
	killFirst()
	killed := time.Now()
	second := <-leads
	found, err := client.CoordinationV1().Leases(namespace).Get(ctx, "killed", metav1.GetOptions{})
	if err != nil {
		return err
	}
	say("%s leads when the lease is over: %t, transitions %d", second, time.Since(killed) > lease/2, *found.Spec.LeaseTransitions)
	return nil
}

func tokenReviews(ctx context.Context, config *rest.Config, client kubernetes.Interface) error {
	seconds := int64(1200)
	token, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, "default", &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{Audiences: []string{"ours"}, ExpirationSeconds: &seconds},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	say("token for %v, %d s", token.Spec.Audiences, *token.Spec.ExpirationSeconds)
	for _, spec := range []authenticationv1.TokenReviewSpec{
		{Token: token.Status.Token},
		{Token: token.Status.Token, Audiences: []string{"ours", "theirs"}},
		{Token: "nonsense"},
	} {
		review, err := client.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{Spec: spec}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		say("reviewed for %v: %t %q %v, error %t", spec.Audiences, review.Status.Authenticated, review.Status.User.Username,
			review.Status.Audiences, review.Status.Error != "")
	}
	access, err := client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               "system:serviceaccount:" + namespace + ":default",
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "list", Resource: "pods"},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	say("the account may list pods: %t, denied %t", access.Status.Allowed, access.Status.Denied)
	account := rest.AnonymousClientConfig(config)
	plain, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	account.BearerToken = plain.Status.Token
	lowly, err := kubernetes.NewForConfig(overProtobuf(account))
	if err != nil {
		return err
	}
	rules, err := lowly.AuthorizationV1().SelfSubjectRulesReviews().Create(ctx, &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	say("its rules: %d about resources, %d about paths", len(rules.Status.ResourceRules), len(rules.Status.NonResourceRules))
	return nil
}
