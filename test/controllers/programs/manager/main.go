// A small controller on controller-runtime, as kubebuilder makes them: a manager that reconciles the ConfigMaps of its namespace, or with
// --workers the Widgets (widget.go). The lab puts it into an image and lets it stall.
package main

import (
	"context"
	"flag"
	"io"
	"os"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
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

type options struct {
	group      string
	workers    int
	configMaps bool
	metrics    string
	secure     bool
}

func main() {
	var o options
	flag.IntVar(&o.workers, "workers", 0, "Workers that handle Widgets; 0: none.")
	flag.StringVar(&o.group, "group", "example.com", "API group of the Widgets.")
	flag.BoolVar(&o.configMaps, "configmaps", false, "ConfigMaps beside the Widgets.")
	flag.StringVar(&o.metrics, "metrics", "0", "Address of metrics; 0: none.")
	flag.BoolVar(&o.secure, "secure", false, "Metrics by TLS, for whoever may read them.")
	quiet := flag.Bool("quiet", false, "No log.")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	if *quiet {
		ctrl.SetLogger(logr.Discard())
		klog.LogToStderr(false)
		klog.SetOutput(io.Discard)
	}
	if err := run(os.Getenv("NAMESPACE"), os.Getenv("LEASE"), o); err != nil {
		ctrl.Log.Error(err, "manager ended")
		os.Exit(1)
	}
}

func run(namespace, lease string, o options) error {
	metrics := metricsserver.Options{BindAddress: o.metrics, SecureServing: o.secure}
	if o.secure {
		metrics.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Metrics:                 metrics,
		Cache:                   cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		LeaderElection:          lease != "",
		LeaderElectionID:        lease,
		LeaderElectionNamespace: namespace,
	})
	if err != nil {
		return err
	}
	if o.workers > 0 {
		if err := addWidgets(manager, o); err != nil {
			return err
		}
	}
	if o.workers == 0 || o.configMaps {
		one := ctrl.NewControllerManagedBy(manager).For(&corev1.ConfigMap{})
		if err := one.Complete(reconciler{manager.GetClient()}); err != nil {
			return err
		}
	}
	return manager.Start(ctrl.SetupSignalHandler())
}
