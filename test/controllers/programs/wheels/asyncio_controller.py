"""A small controller on kubernetes_asyncio, while it leads by the client's own leader election.

It lists ConfigMaps, or two workers handle the Widgets of the API group in GROUP.

The lab puts it into an image and lets it stall.
"""

import asyncio
import logging
import os

from kubernetes_asyncio import client, config, watch
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


async def handle_widgets():
    async with ApiClient() as api:
        widgets = client.CustomObjectsApi(api)
        place = (os.environ["GROUP"], "v1", namespace, "widgets")
        queue = asyncio.Queue()

        async def worker():
            while True:
                widget = await queue.get()
                if "blocksBefore" in widget["spec"]:
                    await asyncio.Event().wait()
                status = {"status": {"observedGeneration": widget["metadata"]["generation"]}}
                merge = "application/merge-patch+json"
                name = widget["metadata"]["name"]
                await widgets.patch_namespaced_custom_object_status(*place, name, status, _content_type=merge)

        workers = [asyncio.create_task(worker()) for _ in range(2)]
        async for event in watch.Watch().stream(widgets.list_namespaced_custom_object, *place):
            if event["type"] != "DELETED":
                queue.put_nowait(event["object"])
        await asyncio.gather(*workers)


async def main():
    config.load_incluster_config()
    async with ApiClient() as api:
        lock = LeaseLock(os.environ["LEASE"], namespace, os.environ["HOSTNAME"], api)
        start = handle_widgets if "GROUP" in os.environ else work
        election = electionconfig.Config(
            lock, lease_duration=17, renew_deadline=15, retry_period=5, onstarted_leading=start, onstopped_leading=None
        )
        while True:
            await leaderelection.LeaderElection(election).run()
            log.warning("leadership lost")


asyncio.run(main())
