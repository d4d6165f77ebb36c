// Training steps on a GPU, as benchmarks of the program that times steps of the learner.
#pragma once

namespace tandem {

/// Registers them. The words that are left of the command line may give the rates that the GPU reaches at
/// most, in 10^12 operations a second: --peak_fp32=67 --peak_tf32=494.5 --peak_bf16=989, which are an
/// H200's (NVIDIA's data sheet, without sparsity) and hold where nothing is said. Errors: ConfigError for
/// other words.
void add_gpu_steps(int argc, char** argv);

}  // namespace tandem
