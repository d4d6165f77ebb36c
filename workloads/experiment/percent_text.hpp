// Any text as one word of a text that separates words by blanks and punctuation.
#pragma once

#include <string>

namespace tandem {

/// Blanks, control characters and any of ; : = % become % and two hexadecimal digits, as in URLs:
/// "US%20East".
std::string percent_encoded(const std::string& text);

/// The inverse. Errors: ConfigError for a % without two hexadecimal digits.
std::string percent_decoded(const std::string& text);

}  // namespace tandem
