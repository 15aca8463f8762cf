"""Indexing: start it and follow its progress."""

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from seetell.web.api.dependencies import SiteDependency
from seetell.web.schemas import UpdateResponse

router = APIRouter(tags=["indexing"])


@router.get("/events", response_class=StreamingResponse, responses={200: {"content": {"text/event-stream": {}}}})
async def stream_events(site: SiteDependency) -> StreamingResponse:
    """Stream the progress of indexing as server-sent events."""
    return StreamingResponse(
        site.indexer.events(), media_type="text/event-stream", headers={"Cache-Control": "no-store"}
    )


@router.post("/update", status_code=202)
async def start_update(site: SiteDependency) -> UpdateResponse:
    """Index new and changed images in the library's folders and remove those that are gone."""
    return UpdateResponse(started=site.indexer.start())
