// A small controller on controller-runtime, as kubebuilder makes them: a manager that reconciles the ConfigMaps of its namespace, or with
// --workers the Widgets (widget.go). The lab puts it into an image and lets it stall.
package main

import (
	"context"
	"flag"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

type reconciler struct{ client.Client }

func (r reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var object corev1.ConfigMap
	if err := r.Get(ctx, request.NamespacedName, &object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	log.FromContext(ctx).Info("reconciled")
	return ctrl.Result{RequeueAfter: time.Minute}, nil
}

func main() {
	workers := flag.Int("workers", 0, "Workers that handle Widgets; 0: ConfigMaps instead.")
	metrics := flag.String("metrics", "0", "Address of plain metrics; 0: none.")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	if err := run(os.Getenv("NAMESPACE"), os.Getenv("LEASE"), *metrics, *workers); err != nil {
		ctrl.Log.Error(err, "manager ended")
		os.Exit(1)
	}
}

func run(namespace, lease, metrics string, workers int) error {
	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Metrics:                 metricsserver.Options{BindAddress: metrics},
		Cache:                   cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		LeaderElection:          lease != "",
		LeaderElectionID:        lease,
		LeaderElectionNamespace: namespace,
	})
	if err != nil {
		return err
	}
	if err := addController(manager, workers); err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}

func addController(manager ctrl.Manager, workers int) error {
	if workers > 0 {
		return addWidgets(manager, workers)
	}
	return ctrl.NewControllerManagedBy(manager).For(&corev1.ConfigMap{}).Complete(reconciler{manager.GetClient()})
}
