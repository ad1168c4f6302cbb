import pytest


@pytest.fixture
def db():
    return 1
