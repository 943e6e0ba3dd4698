import pytest
from boltons.cacheutils import LRI, LRU

both = pytest.mark.parametrize("kind", [LRI, LRU])


@both
def test_a_key_that_is_set_again_has_one_value(kind):
    cache = kind(max_size=2)
    cache["a"] = 1
    cache["a"] = 2
    assert (cache["a"], dict(cache.items()), list(cache.values())) == (2, {"a": 2}, [2])


@both
def test_a_full_cache_is_updated_too(kind):
    cache = kind(max_size=2, values=[("a", 1), ("b", 1)])
    cache["a"] = 2
    assert dict(cache.items()) == {"a": 2, "b": 1}


@both
def test_update_sets_every_value(kind):
    cache = kind(max_size=2, values=[("a", 1)])
    cache.update({"a": 2, "b": 3})
    assert dict(cache.items()) == {"a": 2, "b": 3}


def test_the_least_recently_used_key_is_evicted():
    cache = LRU(max_size=2, values=[("a", 1), ("b", 1)])
    assert cache["a"] == 1
    cache["c"] = 1
    assert sorted(cache) == ["a", "c"]


@both
def test_a_cache_never_grows_over_its_size(kind):
    cache = kind(max_size=3)
    for key in [1, 2, 1, 3, 4, 2, 1, 5]:
        cache[key] = key
    assert len(cache) == 3
    assert all(key == value for key, value in cache.items())
