"""The library as a whole: summary, tags and search."""

from typing import Annotated

from fastapi import APIRouter, HTTPException, Query

import seetell
from seetell.library import Filters, LibraryError
from seetell.web.api.dependencies import SiteDependency, errors
from seetell.web.schemas import LibraryResponse, SearchQuery, SearchResponse, TagCountResponse
from seetell.web.site import Site

MAX_RESULTS = 10_000  # of a search; listing all images has no limit

router = APIRouter(tags=["library"])


@router.get("/library")
async def get_library(site: SiteDependency) -> LibraryResponse:
    """Return a summary of the library."""
    return await site.queries.run(_summary, site)


@router.get("/tags")
async def get_tags(
    site: SiteDependency, limit: Annotated[int, Query(ge=1, le=10_000, description="Number of tags.")] = 1_000
) -> list[TagCountResponse]:
    """List the library's tags, most frequent first."""
    tags = await site.queries.run(site.library.tags)
    return [TagCountResponse(label=tag.label, images=tag.images) for tag in tags[:limit]]


@router.get("/search", responses=errors(404))
async def search_images(query: Annotated[SearchQuery, Query()], site: SiteDependency) -> SearchResponse:
    """Search by text, by image, or both. Without either, list all images, newest first."""
    try:
        return await site.queries.run(_search, site, query)
    except LibraryError as error:
        raise HTTPException(404, error.problem) from None


def _summary(site: Site) -> LibraryResponse:
    info, presenter = site.library.info(), site.presenter()
    return LibraryResponse(
        images=info.images,
        files=info.files,
        unreadable=info.unreadable,
        edited=info.edited,
        folders=[presenter.folder(path) for path in info.folders],
        model=info.model,
        kinds=list(info.kinds),
        version=seetell.__version__,
    )


def _search(site: Site, query: SearchQuery) -> SearchResponse:
    library = site.library
    filters = Filters(query.tag, query.not_tag)
    like = site.upload_embedding(query.upload) if query.upload else query.like
    if query.upload and like is None:
        raise HTTPException(404, "the uploaded image has expired; upload it again")
    if query.q.strip() or like is not None:
        k = min(query.offset + query.limit + 1, MAX_RESULTS)
        found = library.search(query.q, filters, like=like, k=k)
        hits = found.hits[query.offset :]
    else:
        found = library.browse(filters, offset=query.offset, limit=query.limit + 1)
        hits = found.hits
    presenter = site.presenter()
    return SearchResponse(
        results=[presenter.hit(hit) for hit in hits[: query.limit]],
        total=library.count(filters),
        has_more=len(hits) > query.limit,
        unknown_words=list(found.unknown_words),
    )
