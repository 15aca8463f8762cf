"""One image: its details, edits, attention, scaled copies and original file."""

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query, Request, Response

from seetell.library import LibraryImage
from seetell.web.api.dependencies import ImageDependency, SiteDependency, errors
from seetell.web.presentation import content_version, file_name
from seetell.web.schemas import CaptionResponse, EditRequest, ImageResponse
from seetell.web.thumbnails import Size, read_original

IMMUTABLE, REVALIDATE = "private, max-age=31536000, immutable", "private, no-cache"

router = APIRouter(prefix="/images/{id}", tags=["images"])


@router.get("", responses=errors(404))
async def get_image_details(image: ImageDependency, site: SiteDependency) -> ImageResponse:
    """Return everything the library knows about an image."""
    return await site.queries.run(lambda: site.presenter().image(image))


@router.patch("", responses=errors(404))
async def edit_image(image: ImageDependency, edit: EditRequest, site: SiteDependency) -> ImageResponse:
    """Edit an image's caption or tags. Edits are kept and searchable at once; null restores the model's own."""
    changes = {name: getattr(edit, name) for name in edit.model_fields_set}

    def write() -> ImageResponse:
        return site.presenter().image(site.library.edit(image.id, **changes))

    return await site.edits.run(write)


@router.get("/attention", responses=errors(404, 409, 410, 503))
async def get_attention(image: ImageDependency, site: SiteDependency) -> CaptionResponse:
    """Generate the model's own caption of an image, with the attention behind each word."""
    return await site.inference.run(site.caption, image)


@router.get(
    "/{size}.jpg",
    response_class=Response,
    responses={200: {"content": {"image/jpeg": {}}}, **errors(404, 410)},
)
async def get_scaled_copy(
    request: Request,
    image: ImageDependency,
    size: Size,
    site: SiteDependency,
    v: Annotated[str, Query(description="The image's `version`; the response may then be cached for ever.")] = "",
) -> Response:
    """Return an upright JPEG without metadata: `thumbnail` (480 pixels) or `view` (1,600 pixels)."""
    headers = _cache_headers(image, size, v)
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    data = await site.queries.run(site.thumbnails.cached, image, size)
    if data is None:
        data = await site.files.run(site.thumbnails.create, image, size)
    return Response(data, media_type="image/jpeg", headers=headers)


@router.get(
    "/original",
    response_class=Response,
    responses={200: {"content": {"application/octet-stream": {}}}, **errors(404, 410)},
)
async def get_original(image: ImageDependency, site: SiteDependency) -> Response:
    """Download the original file."""
    data = await site.files.run(read_original, image)
    disposition = f"attachment; filename*=UTF-8''{quote(file_name(image), safe='')}"
    return Response(data, media_type="application/octet-stream", headers={"Content-Disposition": disposition})


def _cache_headers(image: LibraryImage, size: Size, version: str) -> dict[str, str]:
    """An id may name a different image in another library; together with the version it is unique."""
    return {
        "ETag": f'"{content_version(image)}-{size}"',
        "Cache-Control": IMMUTABLE if version == content_version(image) else REVALIDATE,
    }
