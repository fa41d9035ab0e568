"""A small operator on kopf, `kopf run`: it watches the ConfigMaps of its namespace.

The lab puts it into an image and lets it stall.
"""

import kopf


@kopf.on.event("v1", "configmaps")
def seen(name, logger, **_):
    logger.info("configmap %s", name)
