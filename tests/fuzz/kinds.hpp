// The kinds of input that Tandem reads from files, each with the function that reads it. Bad input must end
// as a ConfigError (or a WorldError) with one message; every other end is a finding.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tandem::fuzz {

struct Kind {
  const char* name;
  /// Reads the input. `folder`: for files, and empty but for those of earlier inputs of this kind.
  /// Errors: what the reader throws.
  void (*read)(const std::string& input, const std::string& folder);
  bool is_text;  ///< mutated by lines and words too
};

const std::vector<Kind>& kinds();
/// Null for a name that no kind has.
const Kind* find_kind(std::string_view name);

/// Reads the input: empty when the reader accepts it, else its error, which can be shown to a user. Any other
/// end aborts, after a line on standard error.
std::string read_or_abort(const Kind& kind, const std::string& input, const std::string& folder);

}  // namespace tandem::fuzz
