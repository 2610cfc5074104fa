"""Judge chains: one generic question to a judge in each file. What is medical is in the prompts and the benchmarks."""
