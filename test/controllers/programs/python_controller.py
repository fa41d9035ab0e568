"""A small controller on Python's kubernetes client: a watch in a loop, and a pause after an error.

The end-to-end tests put it into an image and let its token die.
"""

import logging
import os
import time

from kubernetes import client, config, watch

logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.INFO)
log = logging.getLogger("controller")

config.load_incluster_config()
core = client.CoreV1Api()
namespace = os.environ.get("NAMESPACE", "default")

while True:
    try:
        for event in watch.Watch().stream(core.list_namespaced_config_map, namespace, timeout_seconds=10):
            log.info("%s configmap %s", event["type"], event["object"].metadata.name)
    except client.exceptions.ApiException:
        log.exception("watch failed")
        time.sleep(5)
