// Nothing: a precompiled header needs a file that is compiled with it.
