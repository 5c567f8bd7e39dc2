"""One file an idea: the promises of docs/promises.md, each tried from outside."""
