"""The JSON API, version 1: one module per resource."""

from fastapi import APIRouter

from seetell.web.api import events, images, models, search, uploads

PREFIX = "/api/v1"

router = APIRouter(prefix=PREFIX)
for _module in (search, images, uploads, models, events):
    router.include_router(_module.router)

__all__ = ["PREFIX", "router"]
