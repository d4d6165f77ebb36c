#include "cli/shared/shipped.hpp"

#include "runtime/process/running_program.hpp"

namespace tandem::cli {

std::filesystem::path shipped_folder() {
  std::error_code none;
  const auto folder = running_program().parent_path().parent_path() / "share" / "tandem";
  return std::filesystem::is_directory(folder, none) ? folder : std::filesystem::path();
}

CLI::Validator or_shipped() {
  return CLI::Validator(
      [](std::string& path) {
        std::error_code none;
        const std::filesystem::path given(path);
        if (path.empty() || given.is_absolute() || std::filesystem::exists(given, none)) return std::string();
        const auto folder = shipped_folder();
        if (!folder.empty() && std::filesystem::exists(folder / given, none))
          path = (folder / given).string();
        return std::string();
      },
      "");
}

}  // namespace tandem::cli
