// The kinds of input that Tandem reads from files, each with the function that reads it. Bad input must raise
// a ConfigError (or a WorldError) with one message; any other outcome is a finding.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tandem::fuzz {

struct Kind {
  const char* name;
  /// Reads the input. `folder`: for files; it contains only files of earlier inputs of this kind. Errors:
  /// what the reader throws.
  void (*read)(const std::string& input, const std::string& folder);
  bool is_text;  ///< also mutated by lines and words
};

const std::vector<Kind>& kinds();
/// Null if no kind has this name.
const Kind* find_kind(std::string_view name);

/// Reads the input. Returns an empty text if the reader accepts it, else the error message for the user. Any
/// other outcome prints a line to standard error and aborts.
std::string read_or_abort(const Kind& kind, const std::string& input, const std::string& folder);

}  // namespace tandem::fuzz
