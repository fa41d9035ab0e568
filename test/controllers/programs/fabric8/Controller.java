import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.dsl.NonNamespaceOperation;
import io.fabric8.kubernetes.client.dsl.Resource;
import io.fabric8.kubernetes.client.dsl.base.ResourceDefinitionContext;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderCallbacks;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderElectionConfigBuilder;
import io.fabric8.kubernetes.client.extended.leaderelection.resourcelock.LeaseLock;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * A small controller on fabric8: an informer behind leader election that starts again when the election ends.
 * It looks at ConfigMaps, or two workers handle the Widgets of the API group in GROUP.
 * The lab puts it into an image and lets it stall.
 */
public class Controller {
  public static void main(String[] args) throws Exception {
    String namespace = System.getenv("NAMESPACE");
    var client = new KubernetesClientBuilder().build();
    String group = System.getenv("GROUP");
    if (group == null) {
      client.configMaps().inNamespace(namespace).inform(new Printer(), 30_000L);
    } else {
      var kind = new ResourceDefinitionContext.Builder()
          .withGroup(group).withVersion("v1").withKind("Widget").withPlural("widgets").withNamespaced(true).build();
      var widgets = client.genericKubernetesResources(kind).inNamespace(namespace);
      widgets.inform(new Handler(widgets, Executors.newFixedThreadPool(2)), 0L);
    }
    var lock = new LeaseLock(namespace, System.getenv("LEASE"), System.getenv("HOSTNAME"));
    var callbacks = new LeaderCallbacks(
        () -> System.out.println("started leading"),
        () -> System.out.println("stopped leading"),
        leader -> System.out.println("leader: " + leader));
    var config = new LeaderElectionConfigBuilder()
        .withName("controller")
        .withLock(lock)
        .withLeaseDuration(Duration.ofSeconds(15))
        .withRenewDeadline(Duration.ofSeconds(10))
        .withRetryPeriod(Duration.ofSeconds(2))
        .withLeaderCallbacks(callbacks)
        .build();
    while (true) {
      client.leaderElector().withConfig(config).build().run();
      Thread.sleep(1_000);
    }
  }

  private record Handler(
      NonNamespaceOperation<GenericKubernetesResource, ?, Resource<GenericKubernetesResource>> widgets,
      ExecutorService workers)
      implements ResourceEventHandler<GenericKubernetesResource> {
    @Override
    public void onAdd(GenericKubernetesResource object) {
      workers.execute(() -> handle(object));
    }

    @Override
    public void onUpdate(GenericKubernetesResource before, GenericKubernetesResource object) {
      workers.execute(() -> handle(object));
    }

    @Override
    public void onDelete(GenericKubernetesResource object, boolean unknown) {
    }

    private void handle(GenericKubernetesResource object) {
      if (object.get("spec", "blocksBefore") != null) {
        try {
          new CountDownLatch(1).await();
        } catch (InterruptedException error) {
          return;
        }
      }
      var generation = object.getMetadata().getGeneration();
      widgets.resource(object).editStatus(current -> {
        current.setAdditionalProperty("status", Map.of("observedGeneration", generation));
        return current;
      });
    }
  }

  private static class Printer implements ResourceEventHandler<ConfigMap> {
    @Override
    public void onAdd(ConfigMap object) {
      System.out.println("added configmap " + object.getMetadata().getName());
    }

    @Override
    public void onUpdate(ConfigMap before, ConfigMap object) {
      System.out.println("reconciled configmap " + object.getMetadata().getName());
    }

    @Override
    public void onDelete(ConfigMap object, boolean unknown) {
      System.out.println("deleted configmap " + object.getMetadata().getName());
    }
  }
}
