def test_one(db):
    assert db
