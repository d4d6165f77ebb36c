#include "validation/report/report.hpp"

#include <filesystem>
#include <fstream>

#include "policies/vocabulary/check.hpp"

namespace tandem::validation {

void write_report_files(const std::string& directory, const nlohmann::json& document,
                        const std::string& markdown, const std::string& page) {
  const auto write = [&](const char* name, const std::string& text) {
    const auto path = std::filesystem::path(directory) / name;
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.close();
    if (!file) throw WorldError("cannot write " + path.string());
  };
  write("report.json", document.dump(1) + '\n');
  write("report.md", markdown);
  write("report.html", page);
}

void write_report(const std::string& directory, const nlohmann::json& document) {
  write_report_files(directory, document, report_markdown(document), report_html(document));
}

}  // namespace tandem::validation
