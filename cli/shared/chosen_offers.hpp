// The machines that a command line names.
#pragma once

#include <string>
#include <vector>

#include "platforms/offers.hpp"

namespace tandem::cli {

/// Offers of the shipped table, or of "FILE.csv" or "FILE.csv: WORDS".
struct ChosenOffers {
  platforms::Offers own;  ///< of a file; empty: the shipped ones
  std::vector<const platforms::Offer*> chosen;
  std::vector<std::string> warnings;
};

/// Those that have all words of the text, and the warnings of their table and of old prices. Errors:
/// ConfigError, also if none has them.
ChosenOffers offers_of(const std::string& text);

}  // namespace tandem::cli
