"""Uploaded images: described, and searched by."""

import asyncio

from fastapi import APIRouter, HTTPException, Request
from starlette.requests import ClientDisconnect

from seetell.web.api.dependencies import SiteDependency, errors
from seetell.web.schemas import UploadResponse

BODY_TIMEOUT = 60.0  # seconds

router = APIRouter(prefix="/uploads", tags=["uploads"])


@router.post(
    "",
    responses=errors(408, 409, 411, 413, 415, 422, 503),
    openapi_extra={"requestBody": {"required": True, "content": {"image/*": {"schema": {"format": "binary"}}}}},
)
async def upload_image(request: Request, site: SiteDependency) -> UploadResponse:
    """Caption and tag an image, sent as the bytes of its file. For a while its `id` can be used to search by it."""
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not content_type.startswith("image/") and content_type != "application/octet-stream":
        raise HTTPException(415, "not an image: send the bytes of the file with its content type")
    async with site.upload_slots:
        try:
            data = await asyncio.wait_for(request.body(), BODY_TIMEOUT)
        except (TimeoutError, ClientDisconnect):
            raise HTTPException(408, "the upload took too long") from None
        return await site.inference.run(site.describe_upload, data)
