// Files that a reader finds complete or not at all. Until a file is complete, it has a name that ends with
// ".partial".
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

namespace tandem {

/// Replaces the file; several processes may do so at once. `check`: of the new file, under another name; what
/// it throws leaves the old file as it was. Errors: WorldError; then the old file is as it was, too.
void write_whole_file(const std::string& path, std::string_view text,
                      const std::function<void(const std::string& written)>& check = {});

/// The same of a file that one process at a time writes: what is left if it dies has the name under which the
/// next one writes.
void write_own_file(const std::string& path, std::string_view text);
void write_own_file(const std::string& path, const std::function<void(std::ostream& file)>& content);

}  // namespace tandem
