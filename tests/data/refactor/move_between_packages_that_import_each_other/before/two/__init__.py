from one import X
