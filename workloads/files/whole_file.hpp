// Files that a reader finds complete or not at all. Until a file is complete, it has a name that ends with
// ".partial".
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

namespace tandem {

/// Replaces the file; several processes may do so at the same time. `check`: is called with the new file,
/// under another name. If it throws, the old file stays as it was. Errors: WorldError; the old file then
/// also stays.
void write_whole_file(const std::string& path, std::string_view text,
                      const std::function<void(const std::string& written)>& check = {});

/// The same for a file that one process at a time writes. If the process dies, the next one overwrites the
/// incomplete file.
void write_own_file(const std::string& path, std::string_view text);
void write_own_file(const std::string& path, const std::function<void(std::ostream& file)>& content);

}  // namespace tandem
