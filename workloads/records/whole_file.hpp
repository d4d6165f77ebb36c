// Files that a reader finds complete or not at all, also while several processes write them.
#pragma once

#include <string>
#include <string_view>

namespace tandem {

/// Replaces the file. Errors: WorldError; then the old file is as it was.
void write_whole_file(const std::string& path, std::string_view text);

}  // namespace tandem
