// Files that a reader finds complete or not at all, also while several processes write them.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace tandem {

/// Replaces the file. `check`: of the new file, under another name; what it throws leaves the old file as it
/// was. Errors: WorldError; then the old file is as it was, too.
void write_whole_file(const std::string& path, std::string_view text,
                      const std::function<void(const std::string& written)>& check = {});

}  // namespace tandem
