#include "validation/report/opening.hpp"

namespace tandem::validation {

void add_opening(const nlohmann::json& document, Page& page) {
  if (const std::string question = document.at("question"); !question.empty())
    page.add(Note{"Question: " + question});
  if (const std::string headline = document.at("headline"); !headline.empty()) page.add(Note{headline});
  if (document.at("warnings").empty()) return;
  Bullets warnings;
  for (const auto& warning : document.at("warnings"))
    warnings.texts.push_back("Warning: " + warning.get<std::string>());
  page.add(std::move(warnings));
}

}  // namespace tandem::validation
