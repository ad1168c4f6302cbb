def go(account, seen):
    seen.add(1)
    account.add(2)
