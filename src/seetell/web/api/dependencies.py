"""What handlers depend on: the site, and the image a path names."""

from typing import Annotated, Any

from fastapi import Depends, HTTPException, Path, Request

from seetell.library import LibraryError, LibraryImage
from seetell.web.schemas import ErrorResponse
from seetell.web.site import Site


async def get_site(request: Request) -> Site:
    """Return the site that the application was created for."""
    site: Site = request.app.state.site
    return site


SiteDependency = Annotated[Site, Depends(get_site)]
ImageId = Annotated[int, Path(alias="id", ge=1, le=2**53, description="Number of the image in the library.")]


async def get_image(image_id: ImageId, site: SiteDependency) -> LibraryImage:
    """Return the image that the path names, or answer with 404."""
    try:
        return await site.queries.run(site.library.get, image_id)
    except LibraryError as error:
        raise HTTPException(404, error.problem) from None


ImageDependency = Annotated[LibraryImage, Depends(get_image)]


def errors(*codes: int) -> dict[int | str, dict[str, Any]]:
    """Document the error codes of a handler."""
    return {code: {"model": ErrorResponse} for code in codes}
