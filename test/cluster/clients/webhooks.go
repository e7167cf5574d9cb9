package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	accore "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// A manager that serves webhooks, applies by typed configurations and writes status.
func managerWithWebhooks(ctx context.Context, config *rest.Config) error {
	folder, err := os.MkdirTemp("", "clients-webhooks-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	certificate, key, err := certutil.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.ParseIP("127.0.0.1")}, nil)
	if err != nil {
		return err
	}
	if err := errors.Join(os.WriteFile(filepath.Join(folder, "tls.crt"), certificate, 0o600), os.WriteFile(filepath.Join(folder, "tls.key"), key, 0o600)); err != nil {
		return err
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                 scheme.Scheme,
		Metrics:                server.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
		WebhookServer:          webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: port, CertDir: folder}),
	})
	if err != nil {
		return err
	}
	decoder := admission.NewDecoder(scheme.Scheme)
	manager.GetWebhookServer().Register("/mutate", &webhook.Admission{Handler: admission.HandlerFunc(func(_ context.Context, request admission.Request) admission.Response {
		object := &corev1.ConfigMap{}
		if err := decoder.Decode(request, object); err != nil {
			return admission.Errored(http.StatusBadRequest, err)
		}
		object.Data = map[string]string{"k": object.Data["k"], "by": string(request.Operation)}
		changed, err := json.Marshal(object)
		if err != nil {
			return admission.Errored(http.StatusInternalServerError, err)
		}
		return admission.PatchResponseFromRaw(request.Object.Raw, changed)
	})})
	manager.GetWebhookServer().Register("/validate", &webhook.Admission{Handler: admission.HandlerFunc(func(_ context.Context, request admission.Request) admission.Response {
		object := &corev1.ConfigMap{}
		if err := decoder.Decode(request, object); err != nil {
			return admission.Errored(http.StatusBadRequest, err)
		}
		if object.Data["k"] == "bad" {
			return admission.Denied("k is bad").WithWarnings("look at k")
		}
		return admission.Allowed("")
	})})
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(running) }()
	err = useWebhooks(ctx, manager.GetClient(), manager.GetAPIReader(), certificate, port)
	stop()
	if failure := <-ended; failure != nil && !errors.Is(failure, context.Canceled) {
		return failure
	}
	return err
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

func useWebhooks(ctx context.Context, cached client.Client, direct client.Reader, ca []byte, port int) error {
	at := func(path string) admissionregistrationv1.WebhookClientConfig {
		return admissionregistrationv1.WebhookClientConfig{URL: ptr.To(fmt.Sprintf("https://127.0.0.1:%d%s", port, path)), CABundle: ca}
	}
	rules := []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{"CREATE", "UPDATE"},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
	}}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"hooked": "yes"}}
	none := admissionregistrationv1.SideEffectClassNone
	mutating := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "clients"},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "mutate.clients.example.com", ClientConfig: at("/mutate"), Rules: rules, ObjectSelector: selector,
			SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
		}},
	}
	validating := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "clients"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "validate.clients.example.com", ClientConfig: at("/validate"), Rules: rules, ObjectSelector: selector,
			SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
		}},
	}
	for _, object := range []client.Object{mutating, validating} {
		if err := cached.Create(ctx, object); err != nil {
			return err
		}
		defer cached.Delete(ctx, object)
	}
	// In force when a bad one is refused.
	if err := until(ctx, "webhooks in force", func() (bool, error) {
		return cached.Create(ctx, hooked("probe", "bad"), client.DryRunAll) != nil, nil
	}); err != nil {
		return err
	}
	say("bad: %s", refusal(cached.Create(ctx, hooked("hooked", "bad"))))
	good := hooked("hooked", "good")
	if err := cached.Create(ctx, good); err != nil {
		return err
	}
	say("good: %v", good.Data)
	wanted := accore.ConfigMap("hooked", namespace).WithLabels(map[string]string{"hooked": "yes"}).WithData(map[string]string{"k": "applied"})
	say("applied: %s", refusal(cached.Apply(ctx, wanted, client.FieldOwner("applier"))))
	if err := cached.Apply(ctx, wanted, client.FieldOwner("applier"), client.ForceOwnership); err != nil {
		return err
	}
	found := &corev1.ConfigMap{}
	if err := direct.Get(ctx, client.ObjectKeyFromObject(good), found); err != nil {
		return err
	}
	say("forced: %v, by %v", found.Data, managers(found.ManagedFields))
	say("patched badly: %s", refusal(cached.Patch(ctx, found, client.RawPatch("application/merge-patch+json", []byte(`{"data":{"k":"bad"}}`)))))
	return writeStatus(ctx, cached, direct)
}

func hooked(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: map[string]string{"hooked": "yes"}},
		Data:       map[string]string{"k": value},
	}
}

// The status of a custom kind, apart from its spec: replaced, patched with a lock, applied.
func writeStatus(ctx context.Context, cached client.Client, direct client.Reader) error {
	// Without a class it has no controller that writes, too.
	pool := nodePool("writer", "t3.small", "10%")
	if err := unstructured.SetNestedField(pool.Object, "elsewhere", "spec", "template", "spec", "nodeClassRef", "kind"); err != nil {
		return err
	}
	if err := unstructured.SetNestedField(pool.Object, "example.com", "spec", "template", "spec", "nodeClassRef", "group"); err != nil {
		return err
	}
	if err := cached.Create(ctx, pool); err != nil {
		return err
	}
	defer cached.Delete(ctx, pool)
	if err := until(ctx, "a status that is written", func() (bool, error) {
		if err := direct.Get(ctx, client.ObjectKeyFromObject(pool), pool); err != nil {
			return false, err
		}
		if err := unstructured.SetNestedStringMap(pool.Object, map[string]string{"example.com/things": "7"}, "status", "resources"); err != nil {
			return false, err
		}
		_ = unstructured.SetNestedField(pool.Object, int64(99), "spec", "weight")
		return cached.Status().Update(ctx, pool) == nil, nil
	}); err != nil {
		return err
	}
	_, weighs, _ := unstructured.NestedInt64(pool.Object, "spec", "weight")
	say("status written, generation %d, spec kept %t", pool.GetGeneration(), !weighs)
	base := pool.DeepCopy()
	pool.SetResourceVersion("1")
	stale := client.MergeFromWithOptions(base.DeepCopy(), client.MergeFromWithOptimisticLock{})
	_ = unstructured.SetNestedStringMap(pool.Object, map[string]string{"example.com/things": "8"}, "status", "resources")
	err := cached.Status().Patch(ctx, pool, stale)
	say("patched with its lock: %t", err == nil)
	return nil
}
