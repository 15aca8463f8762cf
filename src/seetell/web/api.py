"""The JSON API about images: searching, showing, telling, editing."""

import asyncio
import os
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, HTTPException, Path, Query, Request, Response
from fastapi.responses import StreamingResponse
from starlette.requests import ClientDisconnect

import seetell
from seetell.library import LibraryError, LibraryImage
from seetell.library.exporting import shown
from seetell.library.storage.edits import KEEP
from seetell.web.answers import Edit, ImageAnswer, LibraryAnswer, Problem, SearchAnswer, TagAnswer, version
from seetell.web.captions import Told
from seetell.web.site import UPLOADS, Site
from seetell.web.thumbnails import content
from seetell.web.uploads import Look

FOR_EVER, ASK_AGAIN = "private, max-age=31536000, immutable", "private, no-cache"
BODY_SECONDS = 60.0  # in which an upload must have come
MOST_ROWS = 10_000  # of a search; all images together may be as many as they like

Number = Annotated[int, Path(ge=1, le=2**53, description="An image's number in the library.")]
Tags = Annotated[list[str], Query(max_length=20, description="Only images with all of these tags.")]
NotTags = Annotated[list[str], Query(max_length=20, description="No images with any of these tags.")]


def refusals(*codes: int) -> dict[int | str, dict[str, Any]]:
    return {code: {"model": Problem} for code in codes}


def routes(site: Site) -> APIRouter:
    """Everything under /api that is about images."""
    api = APIRouter(prefix="/api", tags=["images"])
    library, uploads = site.library, asyncio.Semaphore(UPLOADS)

    def get(number: int) -> LibraryImage:
        try:
            return library.get(number)
        except LibraryError as error:
            raise HTTPException(404, error.problem) from None

    @api.get("/library")
    async def about() -> LibraryAnswer:
        """The library at a glance."""

        def look() -> LibraryAnswer:
            info, says = library.info(), site.describes()
            return LibraryAnswer(
                **{name: getattr(info, name) for name in ("images", "files", "unreadable", "edited", "bundle")},
                folders=[says.folder(each) for each in info.folders],
                kinds=list(info.kinds),
                version=seetell.__version__,
            )

        return await site.quick.run(look)

    @api.get("/tags")
    async def tags(limit: Annotated[int, Query(ge=1, le=10_000)] = 1_000) -> list[TagAnswer]:
        """The library's tags, the most frequent first."""
        found = await site.quick.run(library.tags)
        return [TagAnswer(label=each.label, images=each.images) for each in found[:limit]]

    @api.get("/search", responses=refusals(404))
    async def search(
        q: Annotated[str, Query(max_length=1_000, description="A sentence, or words.")] = "",
        tag: Tags = [],  # noqa: B006  (FastAPI copies it)
        not_tag: NotTags = [],  # noqa: B006
        like: Annotated[int | None, Query(ge=1, le=2**53, description="Images like this one of the library.")] = None,
        look: Annotated[str, Query(max_length=64, description="Images like one that was shown.")] = "",
        offset: Annotated[int, Query(ge=0, le=2**40, description="How many rows to leave out.")] = 0,
        limit: Annotated[int, Query(ge=1, le=200, description="How many rows.")] = 60,
    ) -> SearchAnswer:
        """The images that fit best; without a question all of them, the newest first."""

        def find() -> SearchAnswer:
            alike = like if not look else site.looks.embedding(look, library.model.bundle.fingerprint)
            if look and alike is None:
                raise HTTPException(404, "that image is not remembered any more; show it again")
            if q.strip() or alike is not None:
                k = min(offset + limit + 1, MOST_ROWS)
                results = library.search(q, like=alike, tags=tag, not_tags=not_tag, k=k)
                rows = results.rows[offset:]
            else:
                results = library.listed(offset, limit + 1, tags=tag, not_tags=not_tag)
                rows = results.rows
            says = site.describes()
            return SearchAnswer(
                rows=[says.found(found) for found in rows[:limit]],
                total=library.count(tags=tag, not_tags=not_tag),
                more=len(rows) > limit,
                unknown=list(results.unknown),
            )

        try:
            return await site.quick.run(find)
        except LibraryError as error:
            raise HTTPException(404, error.problem) from None

    @api.get("/images/{number}", responses=refusals(404))
    async def image(number: Number) -> ImageAnswer:
        """All that is known of an image."""
        return await site.quick.run(lambda: site.describes().image(get(number)))

    @api.patch("/images/{number}", responses=refusals(404))
    async def edit(number: Number, said: Edit) -> ImageAnswer:
        """Write an image's caption or tags; they are kept, and searched. Null gives the model's back."""

        def write() -> ImageAnswer:
            get(number)
            given = said.model_fields_set
            changed = library.edit(
                number,
                caption=said.caption if "caption" in given else KEEP,
                tags=said.tags if "tags" in given else KEEP,
            )
            return site.describes().image(changed)

        return await site.writing.run(write)

    @api.get("/images/{number}/told", responses=refusals(404, 409, 410, 503))
    async def tell(number: Number) -> Told:
        """The model's own caption, and where it looked for each word; computed when it is asked for."""
        return await site.telling.run(lambda: site.told(get(number)))

    @api.get(
        "/images/{number}/{kind}.jpg",
        response_class=Response,
        responses={200: {"content": {"image/jpeg": {}}}, **refusals(404, 410)},
    )
    async def copy(
        request: Request,
        number: Number,
        kind: Literal["thumbnail", "view"],
        v: Annotated[str, Query(description="The image's `version`.")] = "",
    ) -> Response:
        """A small copy (480 pixels), or one for a screen (1,600 pixels), upright, as a JPEG without metadata."""
        chosen = await site.quick.run(get, number)
        headers = _caching(chosen, kind, v)
        if request.headers.get("if-none-match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        data = await site.quick.run(site.thumbnails.kept, chosen, kind)
        if data is None:
            data = await site.copying.run(site.thumbnails.make, chosen, kind)
        return Response(data, media_type="image/jpeg", headers=headers)

    @api.get(
        "/images/{number}/original",
        response_class=Response,
        responses={200: {"content": {"application/octet-stream": {}}}, **refusals(404, 410)},
    )
    async def original(number: Number) -> Response:
        """The file itself, to be kept."""
        chosen = await site.quick.run(get, number)
        data = await site.copying.run(content, chosen)
        name = shown(os.path.basename(chosen.path))
        return Response(data, media_type="application/octet-stream", headers={"Content-Disposition": _attachment(name)})

    @api.post(
        "/looks",
        responses=refusals(408, 409, 411, 413, 415, 422, 503),
        openapi_extra={"requestBody": {"required": True, "content": {"image/*": {"schema": {"format": "binary"}}}}},
    )
    async def look_at(request: Request) -> Look:
        """Show an image, as the bytes of its file: it is captioned and tagged, and can be searched by for a while."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if not kind.startswith("image/") and kind != "application/octet-stream":
            raise HTTPException(415, "this is not an image: send the bytes of its file, with its content type")
        async with uploads:
            try:
                data = await asyncio.wait_for(request.body(), BODY_SECONDS)
            except (TimeoutError, ClientDisconnect):
                raise HTTPException(408, "the image did not come in time") from None
            return await site.telling.run(lambda: site.looks.look(data, library.model))

    @api.get("/events", response_class=StreamingResponse, responses={200: {"content": {"text/event-stream": {}}}})
    async def events() -> StreamingResponse:
        """How indexing goes, as server-sent events."""
        return StreamingResponse(
            site.indexer.events(), media_type="text/event-stream", headers={"Cache-Control": "no-store"}
        )

    @api.post("/update", status_code=202)
    async def update() -> dict[str, bool]:
        """Look for images that are new, changed or gone in the library's folders."""
        return {"started": site.indexer.start()}

    return api


def _caching(image: LibraryImage, kind: str, asked: str) -> dict[str, str]:
    """A number alone may be another image's in another library; with the content's version it is this for ever."""
    return {
        "ETag": f'"{version(image)}-{kind}"',
        "Cache-Control": FOR_EVER if asked == version(image) else ASK_AGAIN,
    }


def _attachment(name: str) -> str:
    return f"attachment; filename*=UTF-8''{quote(name, safe='')}"
