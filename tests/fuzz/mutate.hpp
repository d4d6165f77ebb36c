// Makes inputs for the fuzzer from a corpus: flips, cuts and splices bytes, lines and words. The same
// generator state gives the same input.
#pragma once

#include <string>
#include <vector>

#include "policies/vocabulary/rng.hpp"

namespace tandem::fuzz {

/// Longest input, in bytes.
inline constexpr std::size_t longest_input = 64U << 10;

/// One entry of the corpus after one to eight changes. `is_text`: changes lines and words too.
/// Pre: the corpus is not empty.
std::string mutated(const std::vector<std::string>& corpus, bool is_text, Rng& random);

}  // namespace tandem::fuzz
