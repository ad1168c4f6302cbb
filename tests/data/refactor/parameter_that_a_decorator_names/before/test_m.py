import pytest


@pytest.fixture
def one():
    return 1


@pytest.mark.parametrize("n, k", [(1, 2)])
def test_it(n, k, one):
    assert n
