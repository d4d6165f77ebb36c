// Benchmarks of training steps on a GPU, for the program that times the learner's steps.
#pragma once

namespace tandem {

/// Registers the benchmarks. The remaining command-line arguments may give the GPU's peak rates, in 10^12
/// operations per second: --peak_fp32=67 --peak_tf32=494.5 --peak_bf16=989. The defaults are an H200's
/// (NVIDIA's data sheet, without sparsity). Errors: ConfigError for any other argument.
void add_gpu_steps(int argc, char** argv);

}  // namespace tandem
