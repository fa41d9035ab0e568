// One program that is a whole Kubernetes: it acts as the component whose name it is called by
// (a symbolic link), or whose name is its first argument. One program instead of six keeps the build
// short, since all of them are made of the same packages.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	// The metrics of client-go, as in the components' own main packages.
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// The components that run under Kubernetes' own command runner.
var components = map[string]func() *cobra.Command{
	"kube-apiserver":          apiserver.NewAPIServerCommand,
	"kube-controller-manager": controllermanager.NewControllerManagerCommand,
	"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	"kubelet":                 func() *cobra.Command { return kubeletCommand(kubelet.NewKubeletCommand) },
}

// kubeletCommand calls the kubelet's constructor, which takes a context since Kubernetes 1.34.
func kubeletCommand(constructor any) *cobra.Command {
	if newCommand, ok := constructor.(func(context.Context) *cobra.Command); ok {
		return newCommand(context.Background())
	}
	return constructor.(func() *cobra.Command)()
}

func main() {
	name := filepath.Base(os.Args[0])
	if name == "control-plane" && len(os.Args) > 1 {
		os.Args = os.Args[1:]
		name = os.Args[0]
	}
	switch newCommand, ok := components[name]; {
	case ok:
		os.Exit(cli.Run(newCommand()))
	case name == "etcd":
		etcdmain.Main(os.Args)
	case name == "kubectl":
		// kubectl prints its own errors, in a friendlier form than cli.Run would.
		if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
			kubectlutil.CheckErr(err)
		}
	default:
		fmt.Fprintf(os.Stderr, "control-plane: no component is called %q\n", name)
		os.Exit(2)
	}
}
