"""A small operator on kopf, `kopf run`: it watches the ConfigMaps of its namespace, or handles the Widgets of the API group in GROUP.

The lab puts it into an image and lets it stall.
"""

import asyncio
import os
import time

import kopf

if "GROUP" in os.environ:

    @kopf.on.resume(os.environ["GROUP"], "v1", "widgets")
    @kopf.on.create(os.environ["GROUP"], "v1", "widgets")
    @kopf.on.update(os.environ["GROUP"], "v1", "widgets")
    async def handled(spec, meta, patch, **_):
        while "blocksBefore" in spec:
            # Everything that kopf does is in the same thread.
            time.sleep(60)
        if spec.get("hangs"):
            await asyncio.Event().wait()
        patch.status["observedGeneration"] = meta["generation"]

else:

    @kopf.on.event("v1", "configmaps")
    def seen(name, logger, **_):
        logger.info("configmap %s", name)
