#include "cli/shared/chosen_offers.hpp"

#include <chrono>

namespace tandem::cli {

ChosenOffers offers_of(const std::string& text) {
  ChosenOffers offers;
  const std::size_t ending = text.find(".csv");
  const bool is_file = ending != std::string::npos;
  const std::size_t end = is_file ? ending + std::string(".csv").size() : 0;
  if (is_file) offers.own = platforms::read_offers_file(text.substr(0, end));
  const platforms::Offers& all = is_file ? offers.own : platforms::shipped_offers();
  std::string words = text.substr(end);
  if (words.starts_with(':')) words.erase(0, 1);
  offers.chosen = platforms::matching_offers(all, words);
  if (offers.chosen.empty()) platforms::find_offer(all, words);
  offers.warnings = all.warnings;
  const auto today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
  if (const auto age = platforms::age_warning(
          offers.chosen, static_cast<int>(today.time_since_epoch().count()), platforms::usual_price_age_days);
      !age.empty())
    offers.warnings.push_back(all.file + ": " + age);
  if (const auto listed = platforms::one_price_warning(offers.chosen); !listed.empty())
    offers.warnings.push_back(all.file + ": " + listed);
  return offers;
}

}  // namespace tandem::cli
