#include "validation/report.hpp"

#include <filesystem>
#include <fstream>

#include "policies/vocabulary/check.hpp"

namespace tandem::validation {

void write_report(const std::string& directory, const nlohmann::json& document) {
  const auto write = [&](const char* name, const std::string& text) {
    const auto path = std::filesystem::path(directory) / name;
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.close();
    if (!file) throw WorldError("cannot write " + path.string());
  };
  write("report.json", document.dump(1) + '\n');
  write("report.md", report_markdown(document));
  write("report.html", report_html(document));
}

}  // namespace tandem::validation
