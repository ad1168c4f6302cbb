# coding: shift_jis
x = '表示'
# コメント表


def f():
    return 'ソ'
