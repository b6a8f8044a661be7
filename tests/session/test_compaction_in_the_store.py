"""All that was said before a summary stays in the store: for whoever takes it back, resumes, forks or pages."""

import pytest

from marvin_server.errors import UsageError
from marvin_server.session.store import Store
from tests.session.talker import SHORT, SUMMARY, Talker, seen, talk
from tests.session.turns import Opener


async def test_what_was_summarised_comes_back(opener: Opener, store: Store) -> None:
    provider = Talker()
    opened = opener(provider)
    await talk(opened, provider, 6, SHORT)
    await opened.session.compact()
    await talk(opened, provider, 3, SHORT)
    one_summary = [message.text for message in provider.requests[-1].history]
    await opened.session.compact()
    await opened.session.take_back_summary()
    for each in (opened, opener(provider, resume=opened.session.id)):
        await talk(each, provider, 1, SHORT)
        again = [message.text for message in provider.requests[-1].history]
        assert again[: len(one_summary)] == one_summary
    await opened.session.take_back_summary()
    for each in (opened, opener(provider, resume=opened.session.id)):
        await talk(each, provider, 1, SHORT)
        assert list(provider.requests[-1].history) == store.history(opened.session.id)[:-1]
    with pytest.raises(UsageError, match="no summary"):
        await opened.session.take_back_summary()


async def test_another_process_goes_on_with_the_summary(opener: Opener, store: Store) -> None:
    provider = Talker()
    opened = opener(provider)
    await talk(opened, provider, 6, SHORT)
    await opened.session.compact()
    resumed = opener(provider, resume=opened.session.id)
    await talk(resumed, provider, 1, SHORT)
    assert SUMMARY in seen(provider)
    first = [message.text for message in provider.requests[-1].history]
    await talk(opened, provider, 1, SHORT)
    assert [message.text for message in provider.requests[-1].history][: len(first)] == first


async def test_a_fork_from_before_the_summary_has_everything(opener: Opener, store: Store) -> None:
    provider = Talker()
    opened = opener(provider)
    await talk(opened, provider, 6, SHORT)
    history = store.history(opened.session.id)
    await opened.session.compact()
    before = store.catalogue.fork(opened.session.id, history[-1].id)
    after = store.catalogue.fork(opened.session.id)
    await talk(opener(provider, resume=before), provider, 1, SHORT)
    assert len(provider.requests[-1].history) == 13
    await talk(opener(provider, resume=after), provider, 1, SHORT)
    assert SUMMARY in seen(provider)
    assert (store.find(before).messages, store.find(after).messages) == (14, 14)


async def test_pages_and_pairs_do_not_show_that_there_was_a_summary(opener: Opener, store: Store) -> None:
    provider = Talker()
    opened = opener(provider)
    await talk(opened, provider, 6, SHORT)
    for _ in range(2):
        await opened.session.compact()
        await talk(opened, provider, 4, SHORT)
    whole = store.pages.of(opened.session.id, 100)
    assert len(whole) == 28
    assert [entry.parent_id for entry in whole[1:]] == [entry.message.id for entry in whole[:-1]]
    paged = store.pages.of(opened.session.id, 5)
    while len(paged) < len(whole):
        paged = [*store.pages.of(opened.session.id, 5, paged[0].message.id), *paged]
    assert paged == whole
