package main

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
)

// widgets is a reconciler that does what the spec of each Widget says:
//
//	blocksBefore: a time; workers of processes that started earlier block for ever
//	seconds: how long it takes
//	fails: it ends with an error
type widgets struct {
	client.Client
	startedAt time.Time
}

func newWidget() *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"})
	return object
}

func (r widgets) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	object := newWidget()
	if err := r.Get(ctx, request.NamespacedName, object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	spec, _, _ := unstructured.NestedMap(object.Object, "spec")
	text, _ := spec["blocksBefore"].(string)
	if before, err := time.Parse(time.RFC3339, text); err == nil && r.startedAt.Before(before) {
		select {}
	}
	seconds, _ := spec["seconds"].(int64)
	time.Sleep(time.Duration(seconds) * time.Second)
	if fails, _ := spec["fails"].(bool); fails {
		return ctrl.Result{}, errors.New("it is to fail")
	}
	status := map[string]any{"observedGeneration": object.GetGeneration()}
	if err := unstructured.SetNestedMap(object.Object, status, "status"); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.Status().Update(ctx, object)
}

func addWidgets(manager ctrl.Manager, workers int) error {
	return ctrl.NewControllerManagedBy(manager).
		For(newWidget()).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(widgets{manager.GetClient(), time.Now()})
}
