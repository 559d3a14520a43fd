"""The HTTP API for participants: a session, the next pair, votes, results, proposals."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import StreamingResponse
from pydantic import ValidationError

from mallowmix._version import __version__
from mallowmix.web import shapes
from mallowmix.web.access import (
    MaybeSession,
    ReadAccess,
    Session,
    TheSite,
    WriteAccess,
    address_of,
    is_secure,
    require_write,
    same_origin,
    site_of,
)
from mallowmix.web.early_results import others_chose, win_counts
from mallowmix.web.events import EventStream, TooMany
from mallowmix.web.item_names import clean_name
from mallowmix.web.participants import FULL, USED, is_invitation
from mallowmix.web.questions import block_of, finished
from mallowmix.web.results import result
from mallowmix.web.sessions import COOKIE, YEAR, csrf_of, digest, link_of
from mallowmix.web.site import Site
from mallowmix.web.vote_store import ACTIVE, PROPOSED, RETIRED, person_name
from mallowmix.web.writer import CONFLICT, GONE, REPEATED, Vote

_STATUS_TEXT = {
    400: "not readable",
    401: "no session",
    403: "not from our own page",
    404: "no such thing",
    409: "not in this state",
    413: "too large",
    422: "not valid",
    429: "too often",
    503: "too busy, or the database cannot be reached: try again",
}
PROBLEMS: dict[int | str, dict[str, Any]] = {
    code: {"model": shapes.Problem, "description": text} for code, text in _STATUS_TEXT.items()
}
router = APIRouter(responses=PROBLEMS)
_PROPOSALS_EACH, _PROPOSALS = 10, 500  # that may wait: of one person, of all
_STORED, _REPEATED = (
    shapes.VoteOut(repeated=repeated).model_dump_json() for repeated in (False, True)
)
Link = Annotated[str, Query(pattern=r"^[A-Za-z0-9_-]{24}$")]


@router.get(
    "/health",
    tags=["server"],
    responses={code: {"model": shapes.Health} for code in (200, 503)},
)
async def health(request: Request) -> Response:
    """Whether the server can take votes; 503 where it cannot. No query is made."""
    site = site_of(request)
    problem = site.store.problem
    text = shapes.Health(
        status="degraded" if problem else "ok",
        problem=problem,
        version=__version__,
        votes=site.counts["votes"],
        model=None if site.fitted is None else site.fitted.version,
        fitting=site.refitter.running,
    )
    shown = text.model_dump_json(exclude=None if problem else {"problem"})
    return Response(shown, 503 if problem else 200, media_type="application/json")


@router.post(
    "/votes",
    tags=["survey"],
    responses={200: {"model": shapes.VoteOut}},
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": shapes.VoteIn.model_json_schema()}},
        }
    },
)
async def vote(request: Request) -> Response:
    """Answer a pair. The reply comes after the commit; the same key again changes nothing."""
    site = site_of(request)  # the most frequent request: checked by hand, which is faster
    session = await require_write(request, site)
    try:
        given = shapes.VoteIn.model_validate_json(await request.body())
    except ValidationError as error:
        raise RequestValidationError(error.errors(include_input=False, include_url=False)) from None
    answer = await site.store.writer.write(_checked(given, session, site))
    if answer == GONE:
        site.known.forget(session.person)
        raise HTTPException(401, "This participant was deleted: begin again.")
    if answer == CONFLICT:
        raise HTTPException(
            409, "This pair was answered before, or the key was used for another answer."
        )
    return Response(_REPEATED if answer == REPEATED else _STORED, media_type="application/json")


def _checked(given: shapes.VoteIn, session: Session, site: Site) -> Vote:
    """The vote in its stored form: the smaller number first."""
    if given.first == given.second:
        raise HTTPException(422, "A vote is about two different items.")
    for number in (given.first, given.second):
        if number not in site.items or site.items[number].status not in (ACTIVE, RETIRED):
            raise HTTPException(
                404, f"There is no item {number}: take the numbers from /api/v1/next-pair."
            )
    choice = {"first": 1, "second": -1, "skip": 0}[given.choice] * (
        1 if given.first < given.second else -1
    )
    low, high = sorted((given.first, given.second))
    model = 0 if site.fitted is None else site.fitted.version
    return Vote(session.person, given.key, low, high, choice, model)


@router.get("/events", tags=["server"], response_class=StreamingResponse)
async def events(request: Request, site: TheSite) -> StreamingResponse:
    """Server-sent events: `fit` (progress), `model` (a new one is in use), `votes` (how many)."""
    later = {"Retry-After": "60"}
    try:
        return EventStream(site.hub, site.hub.join(address_of(request)))
    except TooMany as full:
        if full.of_one:
            raise HTTPException(
                429, "Too many listeners from this address: close some.", later
            ) from None
        raise HTTPException(503, "Too many listeners: try again later.", later) from None


@router.post("/people", tags=["survey"], status_code=201, dependencies=[Depends(same_origin)])
async def begin(
    request: Request, response: Response, site: TheSite, wanted: shapes.NewPerson | None = None
) -> shapes.PersonOut:
    """Become a participant. The session comes as a cookie, and as a token on request."""
    wait = site.newcomers.wait(address_of(request))
    if wait > 0:
        raise HTTPException(
            429,
            "Many participants have begun from this address: wait a moment.",
            {"Retry-After": str(int(wait) + 1)},
        )
    person, token = await site.new_person(address_of(request), _invitation(site, wanted))
    if person == FULL:
        raise HTTPException(
            429, "As many participants as may have begun from this address today: come back later."
        )
    if person == USED:
        raise HTTPException(409, "This invitation link was used before: each is good for one.")
    response.set_cookie(
        COOKIE,
        token,
        max_age=YEAR,
        httponly=True,
        samesite="lax",
        secure=is_secure(request),
        path="/",
    )
    shown = token if wanted is not None and wanted.token else None
    csrf, link = csrf_of(site.store.secret, token), link_of(site.store.secret, token)
    return shapes.PersonOut(person=person_name(person), csrf=csrf, link=link, token=shown)


def _invitation(site: Site, wanted: shapes.NewPerson | None) -> str | None:
    """The invitation of a request, where this server made it; else only open surveys go on."""
    code = None if wanted is None else wanted.invitation
    if code is not None and is_invitation(site.store.secret, code):
        return code
    if site.settings.invitations:
        raise HTTPException(403, "This survey needs an invitation link, whole as it was sent.")
    return None


@router.get("/me", tags=["survey"])
async def me(session: MaybeSession, site: TheSite) -> shapes.Me:
    """How far the participant is; `person` is null where there is no session."""
    if session is None:
        return shapes.Me(person=None)
    answers = await site.run_slow(site.store.answers_of, session.person)
    skipped = int((answers[:, 2] == 0).sum())
    csrf, link = (
        csrf_of(site.store.secret, session.token),
        link_of(site.store.secret, session.token),
    )
    return shapes.Me(
        person=person_name(session.person),
        csrf=csrf,
        link=link,
        answered=len(answers) - skipped,
        skipped=skipped,
    )


@router.delete("/me", tags=["survey"], status_code=204)
async def leave(session: WriteAccess, site: TheSite, response: Response) -> None:
    """Delete the participant and all their votes. The model forgets them at its next refit."""
    await site.delete_person(session.person)
    response.delete_cookie(COOKIE, path="/")


@router.get("/next-pair", tags=["survey"])
async def next_pair(
    session: ReadAccess,
    site: TheSite,
    response: Response,
    more: Annotated[bool, Query(description="go on after the end")] = False,
) -> shapes.QuestionOut:
    """The next pair: the one with the most informative answer. The same until it is answered."""
    question, answers, (clock, processor) = await site.run_quick(site.question, session.person)
    response.headers["Server-Timing"] = (
        f"question;dur={1000 * clock:.3f}, cpu;dur={1000 * processor:.3f}"
    )
    done, most = finished(site.settings, len(answers), question, more=more), site.settings.questions
    progress = 1.0 if done else min(len(answers) / most, 1.0)
    out = {
        "done": done,
        "finished": question is None,
        "number": len(answers) + (not done),
        "most": most,
        "progress": progress,
    }
    if done or question is None:
        return shapes.QuestionOut(**out)
    first, second = (shapes.ItemOut(**site.shown(i)) for i in (question.first, question.second))
    model = 0 if site.fitted is None else site.fitted.version
    return shapes.QuestionOut(
        **out, first=first, second=second, information=question.information, model=model
    )


@router.get("/me/result", tags=["survey"])
async def my_result(session: ReadAccess, site: TheSite) -> shapes.ResultOut:
    """The participant's mixture, ranking, and where they differ from the crowd."""
    return await site.run_heavy(_result, site, session.person)


@router.get("/result", tags=["survey"])
async def kept_result(link: Link, site: TheSite) -> shapes.ResultOut:
    """The same for whoever has the link."""
    person = await site.run_slow(site.store.person_by, "link", digest(link))
    if person is None:
        raise HTTPException(
            404, "There is no result under this link: it was deleted, or the link is not whole."
        )
    return await site.run_heavy(_result, site, person)


def _result(site: Site, person: int) -> shapes.ResultOut:
    answers, fitted = site.store.answers_of(person), site.fitted
    skipped = int((answers[:, 2] == 0).sum())
    if fitted is None:
        pairs = site.store.pair_wins()
        found: dict[str, Any] = {
            "others": others_chose(answers, pairs, site.items),
            "so_far": win_counts(pairs, site.items),
        }
    else:
        found = result(fitted, block_of(fitted, site.items, answers))
    return shapes.ResultOut(
        fitted=fitted is not None, answered=len(answers) - skipped, skipped=skipped, **found
    )


@router.get("/items", tags=["survey"])
async def items(site: TheSite) -> list[shapes.ItemOut]:
    """What is question about."""
    return [
        shapes.ItemOut(**site.shown(item.id))
        for item in site.items.values()
        if item.status == ACTIVE
    ]


@router.post("/items", tags=["survey"], status_code=202)
async def propose(given: shapes.Proposal, session: WriteAccess, site: TheSite) -> shapes.Accepted:
    """Propose an item, where that is allowed; an admin lets it in."""
    if not site.settings.propose:
        raise HTTPException(403, "This survey takes no proposals.")
    name = clean_name(given.name)
    waiting = [item for item in site.items.values() if item.status == PROPOSED]
    if (
        len(waiting) >= _PROPOSALS
        or sum(item.by == session.person for item in waiting) >= _PROPOSALS_EACH
    ):
        raise HTTPException(409, "Many proposals are waiting already: try again later.")
    if not await site.add_item(name, PROPOSED, session.person):
        raise HTTPException(409, "There is such an item already, or it was proposed before.")
    return shapes.Accepted(status=PROPOSED)
