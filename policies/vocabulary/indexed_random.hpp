// Random numbers by index: any one can be drawn without those before it, so that the threads of a GPU draw
// the same numbers as a loop.
#pragma once

#include <cstdint>

namespace tandem {

/// Number `index` of the sequence of `seed`, uniform in [0, 1). Source: Steele, Lea, Flood: Fast Splittable
/// Pseudorandom Number Generators (SplitMix64). OOPSLA 2014. Its twin is in runtime/gpu/random_kernels.cu.
constexpr double indexed_uniform(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t mixed = seed + (index + 1) * 0x9e3779b97f4a7c15ULL;
  mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebULL;
  mixed ^= mixed >> 31U;
  return static_cast<double>(mixed >> 11U) * 0x1.0p-53;
}

}  // namespace tandem
