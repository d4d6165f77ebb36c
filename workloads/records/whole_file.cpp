#include "workloads/records/whole_file.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "policies/vocabulary/check.hpp"

namespace tandem {

void write_whole_file(const std::string& path, std::string_view text) {
  const std::string unfinished = path + ".unfinished." + std::to_string(getpid());
  std::ofstream file(unfinished, std::ios::binary);
  file << text;
  file.close();
  std::error_code error;
  if (file) std::filesystem::rename(unfinished, path, error);
  if (file && !error) return;
  std::filesystem::remove(unfinished, error);
  throw WorldError("cannot write " + path);
}

}  // namespace tandem
