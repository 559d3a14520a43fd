"""The HTTP API about the model: what it found, and what it makes of anybody's choices."""

import numpy as np
from fastapi import APIRouter, HTTPException, Query, Response

from mallowmix.data.labels import text_of
from mallowmix.engine import Block
from mallowmix.infer.predict import predict
from mallowmix.infer.weights import weights
from mallowmix.web import shapes
from mallowmix.web.access import TheSite
from mallowmix.web.api import PROBLEMS
from mallowmix.web.early_results import win_counts
from mallowmix.web.prepared_answers import ServedModel
from mallowmix.web.results import LEVEL, mixture, ranking
from mallowmix.web.site import Site

router = APIRouter(responses=PROBLEMS, tags=["model"])
_MOST_PEOPLE = 300


@router.get("/model", response_model=shapes.ModelOut)
async def model(site: TheSite) -> Response:
    """The tastes, the crowd's ranking, what people differ on, and how the model grew."""
    # written in the thread, too: a large model's answer has hundreds of kilobytes
    return Response(await site.run_slow(_model, site), media_type="application/json")


def _model(site: Site) -> str:
    """The answer as JSON; what depends on the model alone was made with it."""
    growth = [
        shapes.Fit(**{name: fit[name] for name in shapes.Fit.model_fields})
        for fit in site.store.fits()
    ]
    known = _early(site) if site.fitted is None else site.fitted.summary
    return known.model_copy(update={"growth": growth}).model_dump_json()


def _early(site: Site) -> shapes.ModelOut:
    """What there is to say before the first fit."""
    names = [item.name for item in site.items.values() if item.status == "active"]
    so_far = win_counts(site.store.pair_wins(), site.items)
    return shapes.ModelOut(version=None, votes=0, items=names, so_far=so_far)


@router.post("/weights")
async def weights_of(given: shapes.Choices, site: TheSite) -> shapes.WeightsOut:
    """How someone with these choices mixes the tastes."""
    fitted, block = _given(site, given)
    return shapes.WeightsOut(level=LEVEL, mixture=await site.run_heavy(mixture, fitted, block))


@router.post("/rank")
async def rank_for(given: shapes.Choices, site: TheSite) -> shapes.RankOut:
    """The whole ranking of someone with these choices."""
    fitted, block = _given(site, given)
    return shapes.RankOut(level=LEVEL, ranking=await site.run_heavy(ranking, fitted, block))


@router.post("/predict")
async def predict_for(given: shapes.PredictIn, site: TheSite) -> shapes.PredictOut:
    """The probability that someone with these choices prefers the first of each pair."""
    fitted, block = _given(site, given)
    pairs = [(first, second) for first, second in given.pairs]
    known = fitted.comparisons(block) if given.choices else None
    chances = await site.run_heavy(lambda: predict(fitted.model, known, pairs, n_jobs=1))
    return shapes.PredictOut(probabilities=chances[0].tolist())


def _given(site: Site, given: shapes.Choices) -> tuple[ServedModel, Block]:
    """The model in use, and the choices as it numbers them."""
    fitted = site.fitted
    if fitted is None:
        raise HTTPException(
            409, "There is no model yet: it is fitted when enough votes have come in."
        )
    for choice in given.choices:
        for name in (choice.winner, choice.loser):
            if name not in fitted.number:
                raise HTTPException(
                    422, f"The model has no item {name!r}: see /api/v1/model for those it has."
                )
        if choice.winner == choice.loser:
            raise HTTPException(
                422, f"{choice.winner!r} is compared with itself: give two different items."
            )
    winner = np.array([fitted.number[choice.winner] for choice in given.choices], np.int64)
    loser = np.array([fitted.number[choice.loser] for choice in given.choices], np.int64)
    return fitted, fitted.block(
        winner, loser, np.array([choice.times for choice in given.choices], np.float64)
    )


@router.get("/crowd")
async def known_people(site: TheSite, at: int = Query(0, ge=0, le=10**9)) -> shapes.PeopleOut:
    """People of the file --people, and how they mix the tastes; participants are not among them."""
    return await site.run_heavy(_people, site, at)


def _people(site: Site, at: int) -> shapes.PeopleOut:
    fitted, crowd = site.fitted, site.crowd
    if fitted is None or crowd is None:
        return shapes.PeopleOut(components=[], people=[], weights=[], total=0)
    some = crowd.between(at, at + _MOST_PEOPLE)
    numbers = [taste["component"] for taste in fitted.tastes]
    theta = weights(fitted.model, some, unknown_items="drop", n_jobs=1)[:, [k - 1 for k in numbers]]
    return shapes.PeopleOut(
        components=numbers,
        names=[taste.get("name", "") for taste in fitted.tastes],
        people=text_of(some.users),
        weights=np.round(theta, 4).tolist(),
        total=crowd.n_users,
    )


@router.get("/crowd/choices")
async def choices_of(site: TheSite, person: str = Query(max_length=200)) -> shapes.KnownPerson:
    """The choices of one of those people."""
    found = await site.run_slow(_choices, site, person)
    if found is None:
        raise HTTPException(404, "There is no such person among those whom the server knows.")
    return shapes.KnownPerson(choices=found)


def _choices(site: Site, person: str) -> list[shapes.PairChoice] | None:
    """Someone's choices, as many as can be sent back as they are; None for who is not known."""
    rows = None if site.crowd is None else site.crowd.choices(person)
    if rows is None:
        return None
    found, room = [], float(shapes.MOST_CHOICES)
    for winner, loser, n in rows:
        times = min(n, 1000.0, room)
        if times <= 0:
            break
        room -= times
        found.append(shapes.PairChoice(winner=winner, loser=loser, times=times))
    return found
