import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderCallbacks;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderElectionConfigBuilder;
import io.fabric8.kubernetes.client.extended.leaderelection.resourcelock.LeaseLock;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import java.time.Duration;

/**
 * A small controller on fabric8: an informer behind leader election that starts again when the election ends.
 * The lab puts it into an image and lets it stall.
 */
public class Controller {
  public static void main(String[] args) throws Exception {
    String namespace = System.getenv("NAMESPACE");
    var client = new KubernetesClientBuilder().build();
    client.configMaps().inNamespace(namespace).inform(new Printer(), 30_000L);
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
