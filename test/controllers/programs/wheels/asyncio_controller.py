"""A small controller on kubernetes_asyncio: it lists ConfigMaps while it leads, by the client's own leader election.

The lab puts it into an image and lets it stall.
"""

import asyncio
import logging
import os

from kubernetes_asyncio import client, config
from kubernetes_asyncio.client.api_client import ApiClient
from kubernetes_asyncio.leaderelection import electionconfig, leaderelection
from kubernetes_asyncio.leaderelection.resourcelock.leaselock import LeaseLock

logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.INFO)
log = logging.getLogger("controller")
namespace = os.environ["NAMESPACE"]


async def work():
    async with ApiClient() as api:
        core = client.CoreV1Api(api)
        while True:
            try:
                found = await core.list_namespaced_config_map(namespace)
                log.info("reconciled %s configmaps", len(found.items))
            except client.exceptions.ApiException:
                log.exception("list failed")
            await asyncio.sleep(7)


async def main():
    config.load_incluster_config()
    async with ApiClient() as api:
        lock = LeaseLock(os.environ["LEASE"], namespace, os.environ["HOSTNAME"], api)
        election = electionconfig.Config(
            lock, lease_duration=17, renew_deadline=15, retry_period=5, onstarted_leading=work, onstopped_leading=None
        )
        while True:
            await leaderelection.LeaderElection(election).run()
            log.warning("leadership lost")


asyncio.run(main())
