#include "validation/report/opening.hpp"

namespace tandem::validation {

void add_opening(const Report& report, Page& page) {
  if (!report.question.empty()) page.add(Note{"Question: " + report.question});
  if (!report.headline.empty()) page.add(Note{report.headline});
  if (report.bills) page.add(Note{text_of(*report.bills)});
  if (report.warnings.empty()) return;
  Bullets warnings;
  for (const std::string& warning : report.warnings) warnings.texts.push_back("Warning: " + warning);
  page.add(std::move(warnings));
}

}  // namespace tandem::validation
