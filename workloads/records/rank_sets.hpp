// Sets of ranks as texts, as operations.csv has them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem {

/// "0-3 7": ranks that follow each other are one range. Pre: in ascending order.
std::string text_of_ranks(std::span<const Rank> ranks);
/// Inverse of text_of_ranks. Pre: it made the text.
std::vector<Rank> ranks_of_text(const std::string& text);

}  // namespace tandem
