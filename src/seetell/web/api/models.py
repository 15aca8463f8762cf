"""The models on this computer."""

from fastapi import APIRouter

from seetell.web.api.dependencies import SiteDependency
from seetell.web.models import list_models
from seetell.web.schemas import ModelResponse

router = APIRouter(prefix="/models", tags=["models"])


@router.get("")
async def get_models(site: SiteDependency) -> list[ModelResponse]:
    """List the installed models with their scores; the one in use comes first."""
    return await site.queries.run(list_models, site.library)
